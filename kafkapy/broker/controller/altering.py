"""What AlterConfigs and IncrementalAlterConfigs have in common: each resource gets a verdict of its
own, from the handler that checks it, or else from the controller."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafkapy.broker.config.altering.alter import duplicates
from kafkapy.broker.controller.ask import verdict
from kafkapy.broker.requests.request import Answer, Fields, Later
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import ConfigReply
from kafkapy.kraft.controller.machine import Event
from kafkapy.kraft.image.delta import ConfigResource

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasController

Change = TypeVar("Change")


def alter(
    node: "HasController",
    asked: Sequence[Any],
    checked: Callable[[ConfigResource, Any], Change],
    event: Callable[[tuple[tuple[ConfigResource, Change], ...]], Event],
) -> Answer:
    """`checked` says what is wanted of a resource, or raises Refused; `event` asks the controller
    for what is left."""
    resources = [((one.resource_type, one.resource_name), one) for one in asked]
    if not node.controller.is_active:
        # It knows no brokers, and nothing of what is set.
        refused = Refused(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
        return _response({resource: refused for resource, _ in resources})
    verdicts = duplicates(resource for resource, _ in resources)
    wanted: list[tuple[ConfigResource, Change]] = []
    for resource, one in resources:
        if resource in verdicts:
            continue
        try:
            wanted.append((resource, checked(resource, one)))
        except Refused as refused:
            verdicts[resource] = refused
    if not wanted:
        return _response(verdicts)
    promise = Later()

    def decided(reply: ConfigReply | Refused) -> None:
        for resource, _ in wanted:
            verdicts[resource] = reply if isinstance(reply, Refused) else reply[resource]
        promise.resolve(_response(verdicts))

    node.controller.submit(event(tuple(wanted)), decided)
    return promise


def _response(verdicts: Mapping[ConfigResource, Refused | None]) -> Fields:
    return {
        "throttle_time": 0,
        "responses": [
            {**verdict(refused), "resource_type": kind, "resource_name": name}
            for (kind, name), refused in verdicts.items()
        ],
    }
