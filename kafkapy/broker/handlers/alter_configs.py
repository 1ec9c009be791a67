"""AlterConfigs, v0-2: the legacy one, which unsets whatever is not named."""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.altering.alter import check_legacy, duplicates
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.controller.ask import verdict
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.broker.views.permission import require_to_alter_view
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.configs import ConfigReply, ReplaceConfigs
from kafkapy.kraft.image.delta import ConfigResource

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.alter_configs.v2.request import AlterConfigsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasController

    class Needs(HasAuthorizer, HasConfig, HasController, Protocol): ...


Pairs = tuple[tuple[str, str | None], ...]


def handle(node: "Needs", call: "Call[AlterConfigsRequest]") -> Answer:
    resources = call.body.resources
    if not node.controller.is_active:
        # It knows no brokers, and nothing of what is set.
        refused = Refused(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
        return _response({(one.resource_type, one.resource_name): refused for one in resources})
    brokers = node.controller.image.brokers
    verdicts: dict[ConfigResource, Refused | None] = duplicates(
        (one.resource_type, one.resource_name) for one in resources
    )
    wanted: list[tuple[ConfigResource, Pairs]] = []
    for one in resources:
        resource = (one.resource_type, one.resource_name)
        if resource in verdicts:
            continue
        pairs: Pairs = tuple((config.name, config.value) for config in one.configs)
        try:
            permit = partial(require_for_configs, node, call, Operation.ALTER_CONFIGS, *resource)
            check_legacy(node.config, resource, pairs, brokers, permit=permit)
            if resource[0] == int(Resource.TOPIC):
                require_for_relay(node, call, resource[1], pairs)
                standing = node.controller.image.configs(*resource)
                require_to_alter_view(node, call, standing)
        except Refused as refused:
            verdicts[resource] = refused
        else:
            wanted.append((resource, pairs))
    promise = Later()

    def decided(reply: ConfigReply | Refused) -> None:
        for resource, _ in wanted:
            verdicts[resource] = reply if isinstance(reply, Refused) else reply[resource]
        promise.resolve(_response(verdicts))

    if not wanted:
        return _response(verdicts)
    node.controller.submit(ReplaceConfigs(tuple(wanted), call.body.validate_only), decided)
    return promise


def _response(verdicts: dict[ConfigResource, Refused | None]) -> Fields:
    return {
        "throttle_time": 0,
        "responses": [
            {**verdict(refused), "resource_type": kind, "resource_name": name}
            for (kind, name), refused in verdicts.items()
        ],
    }
