"""A group's offsets, or a share group's starts, set elsewhere: chosen, shown, and only then done.

What is confirmed is what was shown, offset by offset: what is written meanwhile changes nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.console.asked import Asked, Lacking, Pages, number
from kafkapy.http.console.lag import ends_of
from kafkapy.http.console.pages.groups import described
from kafkapy.http.console.pages.messages import timestamp_of
from kafkapy.http.kafka import groups, shares
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.records import START
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import Operation, ResourceType

WAYS: Final = ("earliest", "latest", "time", "offset", "shift")
_MOST: Final = 1000
_EMPTY: Final = ("Empty", "Dead")
_IN_USE: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.NON_EMPTY_GROUP,
)


async def ask(asked: Asked) -> Any:
    name = asked.query("name")
    is_share = await shares.is_one(asked.kafka, name)
    with asked.needs("DESCRIBE", "GROUP", name):
        if is_share:
            state = (await shares.describe(asked.kafka, name)).group_state
            places = await shares.places(asked.kafka, name)
            committed = {one: at.start for one, at in places.items()}
        else:
            state = (await described(asked, name)).state
            committed = dict(await groups.committed(asked.kafka, name))
    topics = sorted({one.topic for one in committed})
    context: dict[str, Any] = {"rows": None, "failed": None}
    if asked.query("to"):
        try:
            context["rows"] = await _preview(asked, committed)
        except Problem as failed:
            context["failed"] = failed.detail
    return asked.page(
        "reset.html",
        name=name,
        topics=topics,
        ways=WAYS,
        is_empty=state in _EMPTY,
        is_share=is_share,
        state=state,
        **context,
    )


async def _is_seen(kafka: Kafka, topic: str) -> bool:
    if topic not in kafka.image.topics_by_name:
        return False
    return bool(await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, [topic]))


async def _preview(
    asked: Asked, committed: Mapping[TopicPartition, int | None]
) -> list[dict[str, Any]]:
    kafka, topic = asked.kafka, asked.query("topic")
    wanted = {one for one in committed if not topic or one.topic == topic}
    if topic and not wanted and await _is_seen(kafka, topic):
        wanted = {TopicPartition(topic, one) for one in kafka.topic(topic).partitions}
    if not wanted:
        raise Problem(400, "the group has committed nothing there: name a topic that exists")
    if len(wanted) > _MOST:
        raise Problem(400, f"{len(wanted)} partitions; {_MOST} at a time: choose a topic")
    starts, ends = await ends_of(kafka, wanted, START), await ends_of(kafka, wanted)
    way, number_of = asked.query("to"), 0
    at_time: dict[TopicPartition, int] = {}
    if way not in WAYS:
        raise Problem(400, f"to is one of {', '.join(WAYS)}")
    if way == "time":
        at_time = await ends_of(kafka, wanted, timestamp_of(asked.query("time")))
    elif way in ("offset", "shift"):
        number_of = _number(asked, way)
    rows = []
    for one in sorted(wanted & starts.keys() & ends.keys()):
        start, end, now = starts[one], ends[one], committed.get(one)
        if way == "earliest":
            chosen = start
        elif way == "latest":
            chosen = end
        elif way == "offset":
            chosen = number_of
        elif way == "shift":
            chosen = (start if now is None else now) + number_of
        else:
            # Nothing is as young: what comes next.
            chosen = at_time[one] if at_time.get(one, -1) >= 0 else end
        rows.append({"where": one, "now": now, "to": max(start, min(chosen, end)), "end": end})
    return rows


def _number(asked: Asked, name: str) -> int:
    if not asked.query(name):
        raise Problem(400, f"say by {name} how many")
    return asked.number(name, 0, least=-(2**62), most=2**62)


async def confirm(asked: Asked) -> Any:
    form = await asked.form()
    name = next((value for field, value in form if field == "name"), "")
    offsets = {}
    for field, value in form:
        if field == "at":
            partition, _, rest = value.partition(" ")
            offset, _, topic = rest.partition(" ")
            where = TopicPartition(topic, number(partition, "partition", 0))
            offsets[where] = number(offset, "offset", 0)
    if not offsets or not name:
        raise Problem(400, "nothing was chosen")
    with asked.needs("READ", "GROUP", name):
        try:
            if await shares.is_one(asked.kafka, name):
                await shares.move(asked.kafka, name, offsets)
            else:
                await groups.commit(asked.kafka, name, offsets)
        except KafkaError as failed:
            if failed.code in _IN_USE:
                raise Problem(
                    409, f"{name} has members that would go on as before: stop them first"
                ) from None
            if failed.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise await _lacking(asked, {one.topic for one in offsets}) from None
            raise
    return asked.go("/console/group", name=name, done="reset")


async def _lacking(asked: Asked, topics: set[str]) -> Lacking:
    """Which of the topics the principal may not read."""
    readable = await asked.kafka.allowed(Operation.READ, ResourceType.TOPIC, sorted(topics))
    return Lacking("READ", "TOPIC", min(topics - readable, default=min(topics)))


PAGES: Pages = (
    ("GET", "/console/group/reset", ask),
    ("POST", "/console/group/reset", confirm),
)
