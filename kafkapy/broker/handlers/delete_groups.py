"""DeleteGroups, v0-2."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each, error_of
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.group.admin import DeleteGroup

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole


def handle(node: "BrokerRole", call: Call) -> Answer:
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
