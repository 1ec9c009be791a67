"""DeleteGroups, v0-2."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each, error_of
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.group.admin import DeleteGroup

if TYPE_CHECKING:
    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest

    from kafkapy.broker.requests.needs import HasGroups


def handle(node: "HasGroups", call: "Call[DeleteGroupsRequest]") -> Answer:
    names = call.body.groups_names

    def translate(replies: Sequence[Any]) -> Fields:
        return {
            "throttle_time": 0,
            "results": [
                {"group_id": name, "error_code": error_of(reply)}
                for name, reply in zip(names, replies, strict=True)
            ],
        }

    return ask_each(node.groups, [(name, DeleteGroup(name)) for name in names], translate)
