"""DeleteGroups, v0-2."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each, error_of
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import unless_refused
from kafkapy.group.admin import DeleteGroup
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups

    class Needs(HasAuthorizer, HasGroups, Protocol): ...


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
    return ask_each(node.groups, asked, translate)
