"""ListGroups, v0-5. v4 filter by state (KIP-518), v5 type and filter by it (KIP-848)."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_all_shards
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.admin import ListGroups
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.list_groups.v5.request import ListGroupsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups

    class Needs(HasAuthorizer, HasGroups, Protocol): ...


def handle(node: "Needs", call: "Call[ListGroupsRequest]") -> Answer:
    event = ListGroups(
        frozenset(state.lower() for state in optional(call.body, "states_filter", ())),
        frozenset(kind.lower() for kind in optional(call.body, "types_filter", ())),
    )
    return ask_all_shards(node.groups, event, partial(_answer, node, call))


def _answer(node: "Needs", call: "Call[ListGroupsRequest]", replies: Sequence[Any]) -> Fields:
    """A shard that was given up in the meantime is another node's to list."""
    error = ErrorCode.NONE
    listed = []
    sees_all = would_allow(node, call, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    for reply in replies:
        if not isinstance(reply, Refused):
            listed += reply.groups
        elif reply.code is not ErrorCode.NOT_COORDINATOR:
            error = reply.code
    return {
        "throttle_time": 0,
        "error_code": error,
        "groups": [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.group_type,
            }
            for group in listed
            if error is ErrorCode.NONE
            and (
                sees_all
                or would_allow(node, call, Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
            )
        ],
    }
