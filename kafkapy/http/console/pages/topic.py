"""One topic: its partitions, and how it hangs together with others."""

from typing import Any

from kafkapy.http.console.asked import Asked, Lacking, Pages, number
from kafkapy.http.console.charts import Chart, byte_rate, chart, rate
from kafkapy.http.console.flows import flows
from kafkapy.http.console.paging import part_of
from kafkapy.http.console.seeing import offsets, sizes, until_seen
from kafkapy.http.kafka.errors import check
from kafkapy.http.kafka.records import END, START
from kafkapy.http.problems import Problem
from kafkapy.http.watching.history import BYTES_IN, BYTES_OUT, RECORDS
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey


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
    relays, views = await flows(asked, [name])
    is_view = any(one.name == name for one in views)
    return asked.page(
        "topic.html",
        name=name,
        id=topic.id,
        part=part,
        rows=rows,
        count=count,
        total=total,
        charts=_charts(asked, name),
        relays=relays,
        views=views,
        is_view=is_view,
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


PAGES: Pages = (
    ("GET", "/console/topics/{topic}", show),
    ("POST", "/console/topics/{topic}/partitions", grow),
)
