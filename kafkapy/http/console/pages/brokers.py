"""One broker: where it listens, its log directories, its settings."""

from typing import Any

from kafkapy.http.console.asked import Asked, Lacking, Pages
from kafkapy.http.console.settings import settings_of_broker
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.http.problems import Problem
from kafkapy.protocol.api_keys import ApiKey

# Of no topic: directories are told all the same, and thousands of partitions are not.
_NO_TOPICS: dict[str, Any] = {"topics": []}


async def show(asked: Asked) -> Any:
    said = asked.path("broker")
    if not await asked.site.may_describe_cluster(asked.request):
        raise Lacking("DESCRIBE", "CLUSTER", "kafka-cluster")
    known = asked.kafka.image.brokers.get(int(said)) if said.isdecimal() else None
    if known is None:
        raise Problem(404, f"there is no broker {said}")
    if known.id not in asked.kafka.brokers():
        raise Problem(409, f"broker {known.id} is not up: only it knows its directories")
    shows_all = asked.query("all") == "1"
    settings, lacking = await _settings(asked, known.id)
    return asked.page(
        "broker.html",
        broker=known,
        is_here=known.id == asked.site.link.node.node_id,
        endpoints=[(one.name, f"{one.host}:{one.port}") for one in known.endpoints],
        directories=await _directories(asked, known.id),
        rows=[one for one in settings if shows_all or one["is_set"]],
        count=len(settings),
        shows_all=shows_all,
        lacking=lacking,
    )


async def _settings(asked: Asked, broker: int) -> tuple[list[dict[str, Any]], Lacking | None]:
    """Who may see brokers need not be let see their settings: then the page says so."""
    try:
        return await settings_of_broker(asked, broker), None
    except Lacking as lacking:
        return [], lacking


async def _directories(asked: Asked, broker: int) -> list[dict[str, Any]]:
    answer = await asked.kafka.ask_broker(broker, ApiKey.DESCRIBE_LOG_DIRS, _NO_TOPICS)
    check(answer.error_code, f"directories of broker {broker}")
    rows = []
    for one in answer.results:
        failed = KafkaError(one.error_code) if one.error_code else None
        used = None if failed else one.total_bytes - one.usable_bytes
        rows.append(
            {
                "path": one.log_dir,
                "failed": failed,
                "total": None if failed else one.total_bytes,
                "usable": None if failed else one.usable_bytes,
                "used": used,
            }
        )
    return rows


PAGES: Pages = (("GET", "/console/brokers/{broker}", show),)
