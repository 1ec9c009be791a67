"""ConsumerGroupDescribe, v0-1 (KIP-848). v1 says which protocol a member speaks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.metadata.authorized_operations import NOT_ASKED, ON_GROUP
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.admin import DescribeConsumerGroup, DescribedConsumer, NamedAssignment
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest

    from kafkapy.broker.requests.needs import HasGroups

SPEAKS_CLASSIC, SPEAKS_CONSUMER = 0, 1


def handle(node: "HasGroups", call: "Call[ConsumerGroupDescribeRequest]") -> Answer:
    ids = call.body.group_ids
    named = [group_id for group_id in ids if group_id]
    nameless = [_refused("", ErrorCode.INVALID_GROUP_ID) for group_id in ids if not group_id]

    def translate(replies: Sequence[Any]) -> Fields:
        found = zip(named, replies, strict=True)
        rows = [_group(call, group_id, reply) for group_id, reply in found]
        return {"throttle_time": 0, "groups": nameless + rows}

    asked = [(group_id, DescribeConsumerGroup(group_id)) for group_id in named]
    return ask_each(node.groups, asked, translate)


def _refused(group_id: str, error: ErrorCode, message: str | None = None) -> dict[str, Any]:
    return {
        "error_code": error,
        "error_message": message,
        "group_id": group_id,
        "group_state": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": "",
        "members": (),
        "authorized_operations": NOT_ASKED,
    }


def _group(call: "Call[ConsumerGroupDescribeRequest]", group_id: str, reply: Any) -> dict[str, Any]:
    if isinstance(reply, Refused):
        return _refused(group_id, reply.code, message_of(reply))
    with_operations = call.body.include_authorized_operations
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "group_id": group_id,
        "group_state": reply.state,
        "group_epoch": reply.epoch,
        "assignment_epoch": reply.assignment_epoch,
        "assignor_name": reply.assignor,
        "members": [_member(member) for member in reply.members],
        "authorized_operations": ON_GROUP if with_operations else NOT_ASKED,
    }


def _member(member: DescribedConsumer) -> dict[str, Any]:
    profile = member.profile
    return {
        "member_id": profile.member_id,
        "instance_id": profile.instance_id,
        "rack_id": profile.rack_id,
        "member_epoch": member.epoch,
        "client_id": profile.client_id,
        "client_host": profile.client_host,
        "subscribed_topic_names": sorted(profile.subscribed_topics),
        "subscribed_topic_regex": profile.subscribed_regex or "",
        "assignment": _assignment(member.assignment),
        "target_assignment": _assignment(member.target),
        "member_type": SPEAKS_CLASSIC if profile.is_classic else SPEAKS_CONSUMER,
    }


def _assignment(assigned: Sequence[NamedAssignment]) -> dict[str, Any]:
    return {
        "topic_partitions": [
            {"topic_id": one.topic_id, "topic_name": one.topic, "partitions": one.partitions}
            for one in assigned
        ]
    }
