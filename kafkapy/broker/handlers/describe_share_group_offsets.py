"""DescribeShareGroupOffsets, v0-1. v1 tells how far the group is behind.

    lag = where the partition ends - where the group's window starts - what is over in between

A replica that is here says where its partition ends; of others their leaders are asked.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import allows, unless_refused
from kafkapy.broker.share.offsets import Summary, TopicAsked, summaries
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import ShareOffsetsKept, ShareOffsetsWanted
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kio.schema.describe_share_group_offsets.v1.request import DescribeShareGroupOffsetsRequest

    from kafkapy.broker.requests.needs import Shares


def handle(node: "Shares", call: "Call[DescribeShareGroupOffsetsRequest]") -> Answer:
    groups = call.body.groups
    kind = ResourceType.GROUP
    asked = [
        (
            one.group_id,
            unless_refused(
                node, call, Operation.DESCRIBE, kind, one.group_id, ShareOffsetsWanted(one.group_id)
            ),
        )
        for one in groups
    ]
    promise = Later()

    def heard(replies: Sequence[Any]) -> Fields:
        rows: list[Fields | None] = [None] * len(groups)
        left = len(groups)

        def described(at: int, row: Fields) -> None:
            nonlocal left
            rows[at] = row
            left -= 1
            if not left:
                promise.resolve({"throttle_time": 0, "groups": rows})

        for at, (group, reply) in enumerate(zip(groups, replies, strict=True)):
            _describe(node, call, group, reply, partial(described, at))
        if not groups:
            promise.resolve({"throttle_time": 0, "groups": ()})
        return {}

    ask_each(node.groups, asked, heard)
    return promise.answer if promise.is_resolved else promise


def _describe(node: "Shares", call: "Call[Any]", group: Any, reply: Any, then: Any) -> None:
    if isinstance(reply, Refused) and reply.code is ErrorCode.GROUP_ID_NOT_FOUND:
        reply = ShareOffsetsKept(())  # it has read nothing
    if isinstance(reply, Refused):
        then(
            {
                "group_id": group.group_id,
                "topics": (),
                "error_code": reply.code,
                "error_message": message_of(reply),
            }
        )
        return
    assert isinstance(reply, ShareOffsetsKept), reply
    topics, denied = _asked(node, call, group.topics, reply)

    def read(found: list[list[Summary | Refused]]) -> None:
        rows = [_topic(topic, results) for topic, results in zip(topics, found, strict=True)]
        then(
            {
                "group_id": group.group_id,
                "topics": denied + rows,
                "error_code": ErrorCode.NONE,
                "error_message": None,
            }
        )

    summaries(node, group.group_id, topics, read)


def _asked(
    node: "Shares", call: "Call[Any]", wanted: Any, kept: ShareOffsetsKept
) -> tuple[list[TopicAsked], list[Fields]]:
    """What the request names, or all that there is and the client may know of."""
    if wanted is None:
        listed = [
            TopicAsked(one.topic_id, one.topic, one.partitions)
            for one in kept.topics
            if allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, one.topic)
        ]
        return listed, []
    topics, denied = [], []
    for one in wanted:
        topic = node.image.topics_by_name.get(one.topic_name)
        asked = TopicAsked(topic.id if topic else None, one.topic_name, tuple(one.partitions))
        if allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, one.topic_name):
            topics.append(asked)
        else:
            refused = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            denied.append(_topic(asked._replace(topic_id=None), [refused] * len(asked.partitions)))
    return topics, denied


def _topic(topic: TopicAsked, results: Sequence[Summary | Refused]) -> Fields:
    return {
        "topic_name": topic.name,
        "topic_id": topic.topic_id or ZERO_UUID,
        "partitions": [
            _partition(partition, result)
            for partition, result in zip(topic.partitions, results, strict=True)
        ],
    }


def _partition(partition: int, result: Summary | Refused) -> Fields:
    if isinstance(result, Refused):
        return {
            "partition_index": partition,
            "start_offset": -1,
            "leader_epoch": 0,
            "lag": -1,
            "error_code": result.code,
            "error_message": message_of(result),
        }
    return {
        "partition_index": partition,
        **result._asdict(),
        "error_code": ErrorCode.NONE,
        "error_message": None,
    }
