"""OffsetFetch, v1-10. v2 all topics and a group's error, v5 leader epochs, v7 require stable,
v8 many groups, v9 member and epoch (KIP-848), v10 topic ids.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import allows, would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.events import FetchedOffset, FetchOffsets
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.offset_fetch.v7.request import OffsetFetchRequest as OffsetFetchRequestV7
    from kio.schema.offset_fetch.v7.request import OffsetFetchRequestTopic
    from kio.schema.offset_fetch.v10.request import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasImage

    class Needs(HasAuthorizer, HasGroups, HasImage, Protocol): ...


HAS_GROUP_ERROR = 2
HAS_GROUPS = 8
HAS_TOPIC_IDS = 10


class _Asked(NamedTuple):
    """One group's part of the request. `unknown` are topic ids nobody has, with their
    partitions; `names` says which topic each known id is."""

    event: FetchOffsets
    unknown: "tuple[OffsetFetchRequestTopics, ...]"
    denied: "tuple[OffsetFetchRequestTopics | OffsetFetchRequestTopic, ...]" = ()
    is_allowed: bool = True


def handle(node: "Needs", call: "Call[OffsetFetchRequest]") -> Answer:
    body = call.body
    groups: Sequence[OffsetFetchRequestGroup | OffsetFetchRequestV7] = (
        body.groups if call.version >= HAS_GROUPS else (cast("OffsetFetchRequestV7", body),)
    )
    require_stable = optional(body, "require_stable", False)
    asked = [_asked(node, call, one, require_stable) for one in groups]

    def translate(replies: Sequence[Any]) -> Fields:
        rows = [_group(node, call, *one) for one in zip(asked, replies, strict=True)]
        if call.version >= HAS_GROUPS:
            return {"throttle_time": 0, "groups": rows}
        (only,) = rows
        del only["group_id"]  # no version below 8 tells it
        return {"throttle_time": 0, **only}

    refused = Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    events = [(one.event.group_id, one.event if one.is_allowed else refused) for one in asked]
    return ask_each(node.groups, events, translate)


def _asked(
    node: "Needs",
    call: "Call[OffsetFetchRequest]",
    group: "OffsetFetchRequestGroup | OffsetFetchRequestV7",
    require_stable: bool,
) -> _Asked:
    is_allowed = allows(node, call, Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
    partitions: list[TopicPartition] = []
    unknown: list[OffsetFetchRequestTopics] = []
    denied: list[OffsetFetchRequestTopics | OffsetFetchRequestTopic] = []
    for topic in group.topics or ():
        name = _name(node, call, topic)
        if name is None:
            unknown.append(cast("OffsetFetchRequestTopics", topic))
        elif is_allowed and not allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, name):
            denied.append(topic)
        else:
            partitions += [TopicPartition(name, index) for index in topic.partition_indexes]
    event = FetchOffsets(
        group.group_id,
        None if group.topics is None else tuple(partitions),
        optional(group, "member_id", None),
        optional(group, "member_epoch", -1),
        require_stable,
    )
    return _Asked(event, tuple(unknown), tuple(denied), is_allowed)


def _name(
    node: "Needs",
    call: "Call[OffsetFetchRequest]",
    topic: "OffsetFetchRequestTopics | OffsetFetchRequestTopic",
) -> str | None:
    if call.version < HAS_TOPIC_IDS:
        return cast("OffsetFetchRequestTopic", topic).name
    known = node.image.topics_by_id.get(
        cast("OffsetFetchRequestTopics", topic).topic_id or ZERO_UUID
    )
    return None if known is None else known.name


def _group(
    node: "Needs", call: "Call[OffsetFetchRequest]", asked: _Asked, reply: Any
) -> dict[str, Any]:
    error = ErrorCode.NONE
    offsets: Sequence[FetchedOffset] = ()
    if not isinstance(reply, Refused):
        offsets = reply.offsets
    elif call.version >= HAS_GROUP_ERROR:
        error = reply.code
    else:
        wanted = asked.event.partitions or ()
        offsets = [FetchedOffset(partition, None, reply.code) for partition in wanted]
    topics: dict[str, list[dict[str, Any]]] = {}
    wants_all = asked.event.partitions is None
    for offset in offsets:
        if wants_all and not would_allow(
            node, call, Operation.DESCRIBE, ResourceType.TOPIC, offset.partition.topic
        ):
            continue  # of all it is told what it may know of
        topics.setdefault(offset.partition.topic, []).append(_partition(offset))
    rows = [
        {**named, "partitions": partitions}
        for name, partitions in topics.items()
        if (named := _named(node, call, name)) is not None
    ]
    if error is ErrorCode.NONE:
        rows += [_refused(call, one, ErrorCode.UNKNOWN_TOPIC_ID) for one in asked.unknown]
        rows += [_refused(call, one, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for one in asked.denied]
    return {"group_id": asked.event.group_id, "topics": rows, "error_code": error}


def _named(node: "Needs", call: "Call[OffsetFetchRequest]", name: str) -> dict[str, Any] | None:
    """By name or by id; a topic that is gone has no id and is left out."""
    if call.version < HAS_TOPIC_IDS:
        return {"name": name}
    topic = node.image.topics_by_name.get(name)
    return None if topic is None else {"topic_id": topic.id}


def _partition(offset: FetchedOffset) -> dict[str, Any]:
    committed = offset.committed
    return {
        "partition_index": offset.partition.partition,
        "committed_offset": -1 if committed is None else committed.offset,
        "committed_leader_epoch": -1 if committed is None else committed.leader_epoch,
        "metadata": "" if committed is None else committed.metadata,
        "error_code": offset.error,
    }


def _refused(
    call: "Call[OffsetFetchRequest]",
    topic: "OffsetFetchRequestTopics | OffsetFetchRequestTopic",
    code: ErrorCode,
) -> dict[str, Any]:
    named = "topic_id" if call.version >= HAS_TOPIC_IDS else "name"
    return {
        named: getattr(topic, named),
        "partitions": [
            {
                "partition_index": index,
                "committed_offset": -1,
                "committed_leader_epoch": -1,
                "metadata": "",
                "error_code": code,
            }
            for index in topic.partition_indexes
        ],
    }
