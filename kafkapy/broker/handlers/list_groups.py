"""ListGroups, v0-5. v4 filter by state (KIP-518), v5 type and filter by it (KIP-848)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_all_shards
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.admin import ListGroups

if TYPE_CHECKING:
    from kio.schema.list_groups.v5.request import ListGroupsRequest

    from kafkapy.broker.requests.needs import HasGroups


def handle(node: "HasGroups", call: "Call[ListGroupsRequest]") -> Answer:
    event = ListGroups(
        frozenset(state.lower() for state in optional(call.body, "states_filter", ())),
        frozenset(kind.lower() for kind in optional(call.body, "types_filter", ())),
    )
    return ask_all_shards(node.groups, event, _answer)


def _answer(replies: Sequence[Any]) -> Fields:
    """A shard that was given up in the meantime is another node's to list."""
    error = ErrorCode.NONE
    listed = []
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
        ],
    }
