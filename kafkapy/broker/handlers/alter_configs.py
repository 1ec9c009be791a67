"""AlterConfigs, v0-2: the legacy one, which unsets whatever is not named."""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.altering.alter import check_legacy
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.controller.altering import alter
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.broker.views.permission import require_to_alter_view
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.configs import ReplaceConfigs
from kafkapy.kraft.image.delta import ConfigResource

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.alter_configs.v2.request import (
        AlterConfigsRequest,
        AlterConfigsResource,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasController

    class Needs(HasAuthorizer, HasConfig, HasController, Protocol): ...


Pairs = tuple[tuple[str, str | None], ...]


def handle(node: "Needs", call: "Call[AlterConfigsRequest]") -> Answer:
    def checked(resource: ConfigResource, one: "AlterConfigsResource") -> Pairs:
        pairs: Pairs = tuple((config.name, config.value) for config in one.configs)
        permit = partial(require_for_configs, node, call, Operation.ALTER_CONFIGS, *resource)
        check_legacy(node.config, resource, pairs, node.controller.image.brokers, permit=permit)
        if resource[0] == int(Resource.TOPIC):
            require_for_relay(node, call, resource[1], pairs)
            standing = node.controller.image.configs(*resource)
            require_to_alter_view(node, call, standing)
        return pairs

    validate_only = call.body.validate_only
    return alter(
        node, call.body.resources, checked, lambda wanted: ReplaceConfigs(wanted, validate_only)
    )
