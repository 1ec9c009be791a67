"""DeleteGroups, v0-2.

A share group goes once the share coordinator has nothing of it any more: it is asked first, and
then the group again. One with thousands of offsets goes in parts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each, error_of
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import unless_refused
from kafkapy.core.errors import Refused
from kafkapy.group.admin import DeleteGroup, GroupHasMore
from kafkapy.group.share.events import ShareStateToDelete
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasClock, HasGroups, HasShares

    class Needs(HasAuthorizer, HasClock, HasGroups, HasShares, Protocol): ...


def handle(node: "Needs", call: "Call[DeleteGroupsRequest]") -> Answer:
    names = call.body.groups_names

    def translate(replies: Sequence[Any]) -> Fields:
        return {
            "throttle_time": 0,
            "results": [
                {"group_id": name, "error_code": error_of(reply)}
                for name, reply in zip(names, replies, strict=True)
            ],
        }

    kind = ResourceType.GROUP
    asked = [
        (name, unless_refused(node, call, Operation.DELETE, kind, name, DeleteGroup(name)))
        for name in names
    ]
    return ask_each(Deletions(node), asked, translate)


class Deletions:
    """Asks as the shards of groups do; what they want done first is done."""

    def __init__(self, node: "Needs") -> None:
        self._node = node

    def submit(self, group_id: str, event: Any, then: Callable[[Any], None]) -> None:
        node = self._node

        def answered(reply: Any) -> None:
            if isinstance(reply, ShareStateToDelete):
                node.shares.delete(group_id, reply.topics, deleted)
            elif isinstance(reply, GroupHasMore):
                # Not at once: others are served in between, and no stack holds a million.
                node.clock.call_soon(partial(node.groups.submit, group_id, event, answered))
            else:
                then(reply)

        def deleted(results: Mapping[Any, Refused | None]) -> None:
            failed = [one for one in results.values() if one is not None]
            if failed:
                then(failed[0])
            else:
                node.groups.submit(group_id, event, then)

        node.groups.submit(group_id, event, answered)
