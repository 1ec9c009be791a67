"""Groups: listed, described, deleted; their offsets set elsewhere, shown first.

    GET    /api/v1/consumer-groups
    GET    /api/v1/consumer-groups/{group}
    DELETE /api/v1/consumer-groups/{group}
    POST   /api/v1/consumer-groups/{group}/offsets/reset?dryRun=true
           {"to": "earliest"}            "latest", "offset", "shift" or "time" with "value"
           {"to": "time", "value": 1700000000000, "topics": ["orders"]}

A dry run tells each partition's offset before and after, and a tag: sent again with it as
`If-Match`, what is done is what was shown, or nothing (412).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.embedded import read_assignment
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import IF_MATCH, Flag, bounded
from kafkapy.http.etags import require_match, tag_of
from kafkapy.http.kafka import groups, records, streams_groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object, only
from kafkapy.http.rest.shapes import AFTER, OFFSET, PARTITION, limit
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

WAYS: Final = ("earliest", "latest", "offset", "shift", "time")
_MOST_PARTITIONS: Final = 10_000
_HIGHEST: Final = 2**62
_LIMIT: Final = limit(10_000, 1000)
_DRY_RUN: Final = Flag("dryRun", "Say what would become of it, with a tag, and do nothing")
_FIELDS: Final = ("to", "value", "topics")
_LISTED: Final = shapes.fields(
    {
        "name": shapes.TEXT,
        "protocol": shapes.TEXT,
        "state": shapes.TEXT,
        "type": shapes.TEXT,
        "coordinator": shapes.WHOLE,
    },
    title="ListedGroup",
)
_WHERE: Final = shapes.fields({"topic": shapes.TEXT, "partition": PARTITION})
_MEMBER: Final = shapes.fields(
    {
        "memberId": shapes.TEXT,
        "clientId": shapes.TEXT,
        "host": shapes.TEXT,
        "partitions": shapes.several(_WHERE),
    },
    title="Member",
)
_GROUP: Final = shapes.fields(
    {
        "name": shapes.TEXT,
        "type": shapes.word("classic", "consumer", "streams"),
        "state": shapes.TEXT,
        "assignor": shapes.TEXT,
        "members": shapes.several(_MEMBER),
    },
    title="Group",
)
_WISH: Final = shapes.fields(
    {"to": shapes.word(*WAYS)},
    {
        "value": shapes.number(-_HIGHEST, _HIGHEST),
        "topics": shapes.nullable(shapes.several(shapes.TEXT)),
    },
    told="`value` is the offset, by how much to shift, or the time in ms",
)
_MOVED: Final = shapes.fields(
    {
        "group": shapes.TEXT,
        "offsets": shapes.several(
            shapes.fields(
                {
                    "topic": shapes.TEXT,
                    "partition": PARTITION,
                    "before": shapes.nullable(OFFSET),
                    "after": OFFSET,
                },
                title="MovedOffset",
            )
        ),
    }
)


class Groups:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @declared(
        "Groups that may be seen, by name",
        subject="Groups",
        parameters=(AFTER, _LIMIT),
        answers={
            200: Told(
                "Some of them; `next`, if there are more",
                shapes.fields({"groups": shapes.several(_LISTED)}, {"next": shapes.TEXT}),
            )
        },
    )
    async def list(self, request: Request) -> Response:
        limit, after = _LIMIT.of(request), AFTER.said(request) or ""
        found = await groups.list_groups(self._site.kafka(request))
        rows = [one._asdict() for one in found if one.name > after]
        told: dict[str, Any] = {"groups": rows[:limit]}
        if len(rows) > limit:
            told["next"] = rows[limit - 1]["name"]
        return JSONResponse(told)

    @declared(
        "A group and its members",
        subject="Groups",
        answers={200: Told("It", _GROUP)},
        problems=(404,),
    )
    async def one(self, request: Request) -> Response:
        return JSONResponse(
            await described(self._site.kafka(request), request.path_params["group"])
        )

    @declared(
        "Delete a group that has no members",
        subject="Groups",
        answers={204: Told("It is gone")},
        problems=(404, 409),
    )
    async def delete(self, request: Request) -> Response:
        await groups.delete(self._site.kafka(request), request.path_params["group"])
        return Response(None, 204)

    @declared(
        "Set a group's offsets elsewhere",
        subject="Groups",
        told="What is sent with the tag of a dry run does what that has told, or nothing.",
        parameters=(_DRY_RUN, IF_MATCH),
        body=Told("Where to", _WISH),
        answers={
            200: Told("Each partition's before and after", _MOVED, headers={"etag": "of a dry run"})
        },
        problems=(404, 409, 412, 413),
    )
    async def reset(self, request: Request) -> Response:
        kafka, group = self._site.kafka(request), request.path_params["group"]
        is_trial = _DRY_RUN.of(request)
        body = only(await json_object(request), _FIELDS)
        committed = await groups.committed(kafka, group)
        rows = await _preview(kafka, committed, body)
        told = {"group": group, "offsets": rows}
        if is_trial:
            return JSONResponse(told, headers={"etag": tag_of(told)})
        require_match(request, told)
        chosen = {TopicPartition(row["topic"], row["partition"]): row["after"] for row in rows}
        await groups.commit(kafka, group, chosen)
        return JSONResponse(told)


async def described(kafka: Kafka, group: str) -> dict[str, Any]:
    """As the new protocol's groups are, or else the old one's."""
    body = {"group_ids": [group], "include_authorized_operations": False}
    answer = await kafka.ask_coordinator(
        group, ApiKey.CONSUMER_GROUP_DESCRIBE, body, lambda one: int(one.groups[0].error_code)
    )
    row = answer.groups[0]
    if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return await _classic(kafka, group)
    check(row.error_code, group, row.error_message)
    members = [
        _member(
            one,
            (
                {"topic": topic.topic_name, "partition": partition}
                for topic in one.assignment.topic_partitions
                for partition in topic.partitions
            ),
        )
        for one in row.members
    ]
    return _told(group, "consumer", row.group_state, row.assignor_name, members)


async def _classic(kafka: Kafka, group: str) -> dict[str, Any]:
    body = {"groups": [group], "include_authorized_operations": False}
    answer = await kafka.ask_coordinator(
        group, ApiKey.DESCRIBE_GROUPS, body, lambda one: int(one.groups[0].error_code)
    )
    row = answer.groups[0]
    if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        streams = await streams_groups.describe(kafka, group)
        if streams is not None:
            return _told(group, "streams", streams.state, "", list(map(_reader, streams.members)))
    check(row.error_code, group, row.error_message)
    is_consumers = row.protocol_type == "consumer"
    members = [
        _member(one, _owned(one.member_assignment) if is_consumers else ()) for one in row.members
    ]
    return _told(group, "classic", row.group_state, row.protocol_data, members)


def _told(group: str, kind: str, state: str, assignor: str, members: Any) -> dict[str, Any]:
    return {"name": group, "type": kind, "state": state, "assignor": assignor, "members": members}


def _member(member: Any, owned: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "clientId": member.client_id,
        "host": member.client_host,
        "partitions": list(owned),
    }


def _reader(member: streams_groups.Reader) -> dict[str, Any]:
    where = ({"topic": one.topic, "partition": one.partition} for one in member.partitions)
    return _member(member, where)


def _owned(assignment: bytes) -> list[dict[str, Any]]:
    """A member writes that itself: what cannot be read is told as nothing."""
    try:
        found = read_assignment(assignment)
    except Corrupt:
        return []
    return [
        {"topic": topic.topic, "partition": partition}
        for topic in (found.assigned_partitions if found else ())
        for partition in topic.partitions
    ]


async def _preview(
    kafka: Kafka, committed: Mapping[TopicPartition, int], body: Mapping[str, Any]
) -> list[dict[str, Any]]:
    way: Any = body.get("to")
    value: Any = body.get("value")
    if way not in WAYS:
        raise Problem(400, f"to is one of {', '.join(WAYS)}")
    if way in ("offset", "shift", "time"):
        value = bounded(value, "value", -_HIGHEST if way == "shift" else 0, _HIGHEST)
    rows = []
    for topic, partitions in sorted((await _wanted(kafka, committed, body.get("topics"))).items()):
        starts = await _ends(kafka, topic, partitions, records.START)
        ends = await _ends(kafka, topic, partitions, records.END)
        at_time = await _ends(kafka, topic, partitions, value) if way == "time" else {}
        for partition in sorted(partitions):
            start, end = starts[partition], ends[partition]
            before = committed.get(TopicPartition(topic, partition))
            match way:
                case "earliest":
                    after = start
                case "latest":
                    after = end
                case "offset":
                    after = value
                case "shift":
                    after = (start if before is None else before) + value
                case _:
                    # Nothing is as young: what comes next.
                    after = at_time[partition] if at_time[partition] >= 0 else end
            after = max(start, min(after, end))
            rows.append({"topic": topic, "partition": partition, "before": before, "after": after})
    return rows


async def _wanted(
    kafka: Kafka, committed: Mapping[TopicPartition, int], topics: Any
) -> dict[str, set[int]]:
    """All partitions of the topics that are named, or else what the group has committed."""
    wanted: dict[str, set[int]] = {}
    if topics is None:
        for where in committed:
            if where.topic in kafka.image.topics_by_name:
                wanted.setdefault(where.topic, set()).add(where.partition)
    elif isinstance(topics, list) and all(isinstance(one, str) for one in topics):
        # Looked at by name before it is said whether it is there.
        seen = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, topics)
        for topic in topics:
            if topic not in seen:
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic)
            wanted[topic] = set(kafka.topic(topic).partitions)
    else:
        raise Problem(400, "topics is a list of names")
    if not wanted:
        raise Problem(409, "the group has committed nothing: name topics")
    if sum(map(len, wanted.values())) > _MOST_PARTITIONS:
        raise Problem(413, f"more than {_MOST_PARTITIONS} partitions: name topics")
    return wanted


async def _ends(kafka: Kafka, topic: str, partitions: Iterable[int], when: int) -> dict[int, int]:
    return await records.list_offsets(kafka, topic, dict.fromkeys(partitions, when))
