"""DescribeGroups, v0-6: classic groups. v3 authorized operations, v4 instance ids, v6 says
GROUP_ID_NOT_FOUND of a group that does not exist; before, such a group is "Dead".
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.metadata.authorized_operations import NOT_ASKED
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import authorized_operations, unless_refused
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.admin import DescribedMember, DescribeGroup
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_groups.v6.request import DescribeGroupsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups

    class Needs(HasAuthorizer, HasGroups, Protocol): ...


SAYS_NOT_FOUND = 6


def handle(node: "Needs", call: "Call[DescribeGroupsRequest]") -> Answer:
    asked = [
        (
            group_id,
            unless_refused(
                node,
                call,
                Operation.DESCRIBE,
                ResourceType.GROUP,
                group_id,
                DescribeGroup(group_id),
            ),
        )
        for group_id in call.body.groups
    ]

    def translate(replies: Sequence[Any]) -> Fields:
        groups = zip(call.body.groups, replies, strict=True)
        return {
            "throttle_time": 0,
            "groups": [_group(node, call, group_id, reply) for group_id, reply in groups],
        }

    return ask_each(node.groups, asked, translate)


def _group(
    node: "Needs", call: "Call[DescribeGroupsRequest]", group_id: str, reply: Any
) -> dict[str, Any]:
    operations = NOT_ASKED
    if optional(call.body, "include_authorized_operations", False):
        operations = authorized_operations(node, call, ResourceType.GROUP, group_id)
    row: dict[str, Any] = {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "group_id": group_id,
        "group_state": "",
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
        "authorized_operations": operations,
    }
    if not isinstance(reply, Refused):
        return row | {
            "group_state": reply.state,
            "protocol_type": reply.protocol_type,
            "protocol_data": reply.protocol,
            "members": [_member(member) for member in reply.members],
        }
    if reply.code is ErrorCode.GROUP_ID_NOT_FOUND:
        row["group_state"] = "Dead"
        if call.version < SAYS_NOT_FOUND:
            return row
    return row | {
        "error_code": reply.code,
        "error_message": message_of(reply),
        "authorized_operations": NOT_ASKED,
    }


def _member(member: DescribedMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }
