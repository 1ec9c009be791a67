"""ListGroups, v0-5. v4 filter by state (KIP-518), v5 type and filter by it (KIP-848)."""

from typing import TYPE_CHECKING

from kafkapy.broker.groups.listing import list_groups
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.admin import GroupsListed, ListedGroup, ListGroups
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.list_groups.v5.request import ListGroupsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasClock, HasGroups

    class Needs(HasAuthorizer, HasClock, HasGroups, Protocol): ...


def handle(node: "Needs", call: "Call[ListGroupsRequest]") -> Answer:
    event = ListGroups(
        frozenset(state.lower() for state in optional(call.body, "states_filter", ())),
        frozenset(kind.lower() for kind in optional(call.body, "types_filter", ())),
    )
    listing = _Listing(node, call)
    list_groups(node.clock, node.groups, event, listing.page, listing.done)
    return listing.later.answer if listing.later.is_resolved else listing.later


class _Listing:
    """One answer, as it comes together."""

    def __init__(self, node: "Needs", call: "Call[ListGroupsRequest]") -> None:
        self.later = Later()
        self._node = node
        self._call = call
        self._error = ErrorCode.NONE
        self._rows: list[Fields] = []
        self._sees_all = would_allow(
            node, call, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME
        )

    def page(self, listed: GroupsListed | Refused) -> None:
        """A shard that was given up in the meantime is another node's to list."""
        if not isinstance(listed, Refused):
            self._rows += [_row(one) for one in listed.groups if self._may_see(one)]
        elif listed.code is not ErrorCode.NOT_COORDINATOR:
            self._error = listed.code

    def _may_see(self, group: ListedGroup) -> bool:
        return self._sees_all or would_allow(
            self._node, self._call, Operation.DESCRIBE, ResourceType.GROUP, group.group_id
        )

    def done(self) -> None:
        rows = self._rows if self._error is ErrorCode.NONE else []
        self.later.resolve({"throttle_time": 0, "error_code": self._error, "groups": rows})


def _row(group: ListedGroup) -> Fields:
    return {
        "group_id": group.group_id,
        "protocol_type": group.protocol_type,
        "group_state": group.state,
        "group_type": group.group_type,
    }
