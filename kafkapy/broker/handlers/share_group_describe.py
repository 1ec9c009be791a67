"""ShareGroupDescribe, v1 (KIP-932)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.metadata.authorized_operations import NOT_ASKED
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import (
    allows,
    authorized_operations,
    unless_refused,
)
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import (
    DescribedShareMember,
    DescribeShareGroup,
    ShareGroupDescribed,
)
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasShares

    class Needs(HasAuthorizer, HasGroups, HasShares, Protocol): ...


def handle(node: "Needs", call: "Call[ShareGroupDescribeRequest]") -> Answer:
    ids = call.body.group_ids
    if not node.shares.settings.is_enabled:
        rows = [_refused(one, ErrorCode.UNSUPPORTED_VERSION) for one in ids]
        return {"throttle_time": 0, "groups": rows}
    named = [group_id for group_id in ids if group_id]
    nameless = [_refused("", ErrorCode.INVALID_GROUP_ID) for group_id in ids if not group_id]

    def translate(replies: Sequence[Any]) -> Fields:
        rows = [_group(node, call, one, reply) for one, reply in zip(named, replies, strict=True)]
        return {"throttle_time": 0, "groups": nameless + rows}

    kind = ResourceType.GROUP
    asked = [
        (one, unless_refused(node, call, Operation.DESCRIBE, kind, one, DescribeShareGroup(one)))
        for one in named
    ]
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


def _group(
    node: "Needs",
    call: "Call[ShareGroupDescribeRequest]",
    group_id: str,
    reply: ShareGroupDescribed | Refused,
) -> dict[str, Any]:
    if isinstance(reply, Refused):
        is_denied = reply.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
        return _refused(group_id, reply.code, None if is_denied else message_of(reply))
    if not _sees_topics(node, call, reply.members):
        return _refused(
            group_id,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group has a member with topics that the client may not describe.",
        )
    operations = NOT_ASKED
    if call.body.include_authorized_operations:
        operations = authorized_operations(node, call, ResourceType.GROUP, group_id)
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "group_id": group_id,
        "group_state": reply.state,
        "group_epoch": reply.epoch,
        "assignment_epoch": reply.assignment_epoch,
        "assignor_name": reply.assignor,
        "members": [_member(member) for member in reply.members],
        "authorized_operations": operations,
    }


def _sees_topics(
    node: "Needs",
    call: "Call[ShareGroupDescribeRequest]",
    members: Sequence[DescribedShareMember],
) -> bool:
    """What a group reads is not told to those who may not know of it."""
    if node.authorizer is None:
        return True
    topics: dict[str, None] = {}
    for member in members:
        topics.update(dict.fromkeys(member.profile.subscribed_topics))
        topics.update(dict.fromkeys(one.topic for one in member.assignment))
    return all(allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, one) for one in topics)


def _member(member: DescribedShareMember) -> dict[str, Any]:
    profile = member.profile
    return {
        "member_id": profile.member_id,
        "rack_id": profile.rack_id,
        "member_epoch": member.epoch,
        "client_id": profile.client_id,
        "client_host": profile.client_host,
        "subscribed_topic_names": sorted(profile.subscribed_topics),
        "assignment": {
            "topic_partitions": [
                {"topic_id": one.topic_id, "topic_name": one.topic, "partitions": one.partitions}
                for one in member.assignment
            ]
        },
    }
