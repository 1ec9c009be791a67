"""ListGroups, v0-5. v4 filter by state (KIP-518), v5 type and filter by it (KIP-848).

There may be a hundred thousand: they are found and packed some hundreds at a time.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.groups.listing import list_groups
from kafkapy.broker.requests.request import Answer, Call, Encoded, Fields, Hangup, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import would_allow
from kafkapy.core.errors import CannotEncode, ErrorCode, Refused
from kafkapy.group.admin import GroupsListed, ListedGroup, ListGroups
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.protocol.pages import Pages

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
        self._hangup: Hangup | None = None
        self._pages = Pages(call.api_key, call.version, "groups")
        self._sees_all = would_allow(
            node, call, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME
        )

    def page(self, listed: GroupsListed | Refused) -> None:
        """A shard that was given up in the meantime is another node's to list."""
        if not isinstance(listed, Refused):
            self._add([_row(one) for one in listed.groups if self._may_see(one)])
        elif listed.code is not ErrorCode.NOT_COORDINATOR:
            self._error = listed.code

    def _add(self, rows: list[Fields]) -> None:
        try:
            self._pages.add(rows)
        except CannotEncode as unwritable:
            # A name may be too long for this version, as in any answer (dispatch.encode).
            self._hangup = Hangup(f"no answer can be written: {unwritable}")

    def _may_see(self, group: ListedGroup) -> bool:
        return self._sees_all or would_allow(
            self._node, self._call, Operation.DESCRIBE, ResourceType.GROUP, group.group_id
        )

    def done(self) -> None:
        fields = {"throttle_time": 0, "error_code": self._error}
        if self._error is not ErrorCode.NONE:
            self.later.resolve({**fields, "groups": ()})
        elif self._hangup is not None:
            self.later.resolve(self._hangup)
        else:
            self.later.resolve(Encoded((self._pages.frame(self._call.correlation_id, fields),)))


def _row(group: ListedGroup) -> Fields:
    return {
        "group_id": group.group_id,
        "protocol_type": group.protocol_type,
        "group_state": group.state,
        "group_type": group.group_type,
    }
