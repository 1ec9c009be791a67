"""One broker: where it listens, its log directories, its settings."""

from typing import Any

from kafkapy.http.console.asked import Asked, Lacking, Pages
from kafkapy.http.console.pages.settings import broker_of, rows_of
from kafkapy.http.console.settings import Place, Setting, settings_of
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.protocol.api_keys import ApiKey

# Of no topic: directories are told all the same, and thousands of partitions are not.
_NO_TOPICS: dict[str, Any] = {"topics": []}


async def show(asked: Asked) -> Any:
    place = await broker_of(asked)
    known = asked.kafka.image.brokers[int(place.name)]
    shows_all = asked.query("all") == "1"
    settings, lacking = await _settings(asked, place)
    return asked.page(
        "broker.html",
        broker=known,
        is_here=known.id == asked.site.link.node.node_id,
        endpoints=[(one.name, f"{one.host}:{one.port}") for one in known.endpoints],
        directories=await _directories(asked, known.id),
        rows=rows_of(place, settings, shows_all=shows_all),
        count=len(settings),
        shows_all=shows_all,
        lacking=lacking,
    )


async def _settings(asked: Asked, place: Place) -> tuple[list[Setting], Lacking | None]:
    """Who may see brokers need not be let see their settings: then the page says so."""
    try:
        return await settings_of(asked, place), None
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
