"""One topic: its partitions, and its settings."""

from contextlib import suppress
from typing import Any

from kafkapy.broker.config.resources import Resource
from kafkapy.http.console.asked import Asked, Lacking, Pages, number
from kafkapy.http.console.charts import Chart, byte_rate, chart, rate
from kafkapy.http.console.paging import part_of
from kafkapy.http.console.seeing import offsets, sizes, until_seen
from kafkapy.http.console.settings import settings_of
from kafkapy.http.history import BYTES_IN, BYTES_OUT, RECORDS
from kafkapy.http.kafka.errors import check
from kafkapy.http.kafka.records import END, START
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

_SET, _DELETE = 0, 1


async def require_describe(asked: Asked, name: str) -> None:
    """Before anything is told from the image: whoever may not see a topic is not told of it."""
    if not await asked.kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [name]):
        raise Lacking("DESCRIBE", "TOPIC", name)
    asked.kafka.topic(name)


async def show(asked: Asked) -> Any:
    kafka, name = asked.kafka, asked.path("topic")
    await require_describe(asked, name)
    topic = kafka.topic(name)
    part = part_of(asked, sorted(topic.partitions), 100)
    starts = await offsets(kafka, name, part.rows, START)
    ends = await offsets(kafka, name, part.rows, END)
    of_topics = await sizes(kafka, [name])
    bytes_of = {} if of_topics is None else of_topics.get(name, {})
    rows: list[dict[str, Any]] = []
    for index in part.rows:
        one = topic.partitions[index]
        start, end = starts.get(index), ends.get(index)
        rows.append(
            {
                "index": index,
                "leader": one.leader if one.has_leader else None,
                "epoch": one.leader_epoch,
                "replicas": one.replicas,
                "isr": one.isr,
                "start": start,
                "end": end,
                "count": None if start is None or end is None else end - start,
                "size": bytes_of.get(index),
            }
        )
    count = sum(row["count"] or 0 for row in rows) if len(rows) == part.total else None
    total = None if of_topics is None else sum(bytes_of.values())
    return asked.page(
        "topic.html",
        name=name,
        id=topic.id,
        part=part,
        rows=rows,
        count=count,
        total=total,
        charts=_charts(asked, name),
        replicas_here=sum(asked.kafka.node_id in one.replicas for one in topic.partitions.values()),
    )


def _charts(asked: Asked, name: str) -> list[Chart]:
    past = asked.site.history
    rows = (
        ("Records written", RECORDS, rate),
        ("Bytes written", BYTES_IN, byte_rate),
        ("Bytes read from this node", BYTES_OUT, byte_rate),
    )
    return [chart(title, past.of_topic(name, one), past.wall_ms, how) for title, one, how in rows]


async def grow(asked: Asked) -> Any:
    name = asked.path("topic")
    count = number((await asked.fields()).get("count", ""), "count", -1, 1, 100_000)
    if count < 0:
        raise Problem(400, "say how many partitions there shall be")
    body = {
        "topics": [{"name": name, "count": count, "assignments": None}],
        "timeout": asked.kafka.timeout_ms,
        "validate_only": False,
    }
    row = (await asked.kafka.ask(ApiKey.CREATE_PARTITIONS, body)).results[0]
    with asked.needs("ALTER", "TOPIC", name):
        check(row.error_code, name, row.error_message)

    async def has_grown() -> bool:
        return len(asked.kafka.topic(name).partitions) >= count

    await until_seen(has_grown)
    return asked.go(f"/console/topics/{name}", done="grown")


async def settings(asked: Asked) -> Any:
    name = asked.path("topic")
    await require_describe(asked, name)
    shows_all = asked.query("all") == "1"
    found = await settings_of(asked, name)
    rows = [one for one in found if shows_all or one["is_set"]]
    return asked.page("settings.html", name=name, rows=rows, count=len(found), shows_all=shows_all)


async def ask_setting(asked: Asked) -> Any:
    name, key = asked.path("topic"), asked.path("key")
    found = next((one for one in await settings_of(asked, name) if one["name"] == key), None)
    if found is None:
        raise Problem(404, f"topics have no setting {key}")
    return asked.page("setting.html", name=name, setting=found)


async def set_setting(asked: Asked) -> Any:
    name, key = asked.path("topic"), asked.path("key")
    fields = await asked.fields()
    is_default = "default" in fields
    change = {
        "name": key,
        "config_operation": _DELETE if is_default else _SET,
        "value": None if is_default else fields.get("value", "").strip(),
    }
    resource = {"resource_type": Resource.TOPIC, "resource_name": name, "configs": [change]}
    answer = await asked.kafka.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource], "validate_only": False}
    )
    with asked.needs("ALTER_CONFIGS", "TOPIC", name):
        check(answer.responses[0].error_code, name, answer.responses[0].error_message)

    async def is_there() -> bool:
        found = next((one for one in await settings_of(asked, name) if one["name"] == key), None)
        if found is None or is_default:
            return found is None or not found["is_own"]
        return bool(found["is_own"]) and found["value"] in (change["value"], "(hidden)")

    # Who may change settings need not be let see them: then the next page says so.
    with suppress(Lacking):
        await until_seen(is_there)
    return asked.go(f"/console/topics/{name}/settings", done="set")


PAGES: Pages = (
    ("GET", "/console/topics/{topic}", show),
    ("POST", "/console/topics/{topic}/partitions", grow),
    ("GET", "/console/topics/{topic}/settings", settings),
    ("GET", "/console/topics/{topic}/settings/{key}", ask_setting),
    ("POST", "/console/topics/{topic}/settings/{key}", set_setting),
)
