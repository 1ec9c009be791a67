"""OffsetCommit, v2-10. v5 no retention time any more, v6 leader epochs, v7 static members,
v9 epochs of consumer-protocol members (KIP-848), v10 topic ids.

What cannot be resolved to a topic is answered for itself; the rest is committed.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.events import CommitOffsets, Committer, OffsetToCommit
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.kraft.views import partitions_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from kio.schema.offset_commit.v9.request import (
        OffsetCommitRequestTopic as OffsetCommitRequestTopicV9,
    )
    from kio.schema.offset_commit.v10.request import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasImage
    from kafkapy.kraft.image.topics import TopicState

    class Needs(HasAuthorizer, HasGroups, HasImage, Protocol): ...


SPEAKS_OF_GROUPS = 9
HAS_TOPIC_IDS = 10


class _Row(NamedTuple):
    """One topic of the request, with an error for each partition that is not there."""

    asked: "OffsetCommitRequestTopic"
    errors: tuple[ErrorCode, ...]


def handle(node: "Needs", call: "Call[OffsetCommitRequest]") -> Answer:
    body = call.body
    rows: list[_Row] = []
    offsets: list[OffsetToCommit] = []
    for asked in body.topics:
        topic = _topic(node, call, asked)
        denied = _denied(node, call, topic, asked)
        errors = tuple(denied or _error(node, call, topic, one) for one in asked.partitions)
        rows.append(_Row(asked, errors))
        if topic is not None:
            offsets += [
                _offset(topic, one)
                for one, error in zip(asked.partitions, errors, strict=True)
                if error is ErrorCode.NONE
            ]
    if not offsets:
        return _answer(call, rows, ())
    event = CommitOffsets(
        body.group_id,
        Committer(
            body.member_id,
            body.generation_id_or_member_epoch,
            optional(body, "group_instance_id", None),
        ),
        tuple(offsets),
        retention_ms=millis(body.retention_time) if hasattr(body, "retention_time") else -1,
        speaks_of_groups=call.version >= SPEAKS_OF_GROUPS,
    )

    def translate(reply: Any) -> Fields:
        if isinstance(reply, Refused):
            return _answer(call, rows, [reply.code] * len(offsets))
        return _answer(call, rows, reply.errors)

    return ask(node.groups, event.group_id, event, translate)


def _denied(
    node: "Needs",
    call: "Call[OffsetCommitRequest]",
    topic: "TopicState | None",
    asked: "OffsetCommitRequestTopic",
) -> ErrorCode:
    """NONE if the group and the topic may be read; an id that nobody has is no topic."""
    if not allows(node, call, Operation.READ, ResourceType.GROUP, call.body.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if topic is None and call.version >= HAS_TOPIC_IDS:
        return ErrorCode.NONE
    name = cast("OffsetCommitRequestTopicV9", asked).name if topic is None else topic.name
    if not allows(node, call, Operation.READ, ResourceType.TOPIC, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _topic(
    node: "Needs", call: "Call[OffsetCommitRequest]", asked: "OffsetCommitRequestTopic"
) -> "TopicState | None":
    if call.version >= HAS_TOPIC_IDS:
        return node.image.topics_by_id.get(asked.topic_id or ZERO_UUID)
    return node.image.topics_by_name.get(cast("OffsetCommitRequestTopicV9", asked).name)


def _error(
    node: "Needs",
    call: "Call[OffsetCommitRequest]",
    topic: "TopicState | None",
    asked: "OffsetCommitRequestPartition",
) -> ErrorCode:
    if topic is None and call.version >= HAS_TOPIC_IDS:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None or asked.partition_index not in partitions_of(node.image, topic):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _offset(topic: "TopicState", asked: "OffsetCommitRequestPartition") -> OffsetToCommit:
    return OffsetToCommit(
        TopicPartition(topic.name, asked.partition_index),
        asked.committed_offset,
        optional(asked, "committed_leader_epoch", -1),
        asked.committed_metadata or "",
        topic.id,
    )


def _answer(
    call: "Call[OffsetCommitRequest]", rows: list[_Row], errors: "Sequence[ErrorCode]"
) -> Fields:
    """`errors` are those of the partitions that are there, in their order."""
    each = iter(errors)
    named = "topic_id" if call.version >= HAS_TOPIC_IDS else "name"
    return {
        "throttle_time": 0,
        "topics": [
            {
                named: getattr(row.asked, named),
                "partitions": [
                    {
                        "partition_index": one.partition_index,
                        "error_code": error or next(each),
                    }
                    for one, error in zip(row.asked.partitions, row.errors, strict=True)
                ],
            }
            for row in rows
        ],
    }
