"""IncrementalAlterConfigs, v0-1 (KIP-339): set, delete, append, subtract.

A broker's settings are judged by that broker first, which knows its server.properties
(broker/controller/judging.py); all the rest by the controller. kafkapy has no named loggers,
so none of them can be altered.
"""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.altering.alter import check_incremental
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.controller.altering import alter
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.broker.views.permission import require_to_alter_view
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.configs import Alteration, AlterConfigs
from kafkapy.kraft.controller.configs import Operation as ConfigOperation
from kafkapy.kraft.image.delta import ConfigResource

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.incremental_alter_configs.v1.request import (
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasController

    class Needs(HasAuthorizer, HasConfig, HasController, Protocol): ...


def handle(node: "Needs", call: "Call[IncrementalAlterConfigsRequest]") -> Answer:
    def checked(resource: ConfigResource, one: "AlterConfigsResource") -> tuple[Alteration, ...]:
        alterations = _alterations(one)
        permit = partial(require_for_configs, node, call, Operation.ALTER_CONFIGS, *resource)
        brokers = node.controller.image.brokers
        check_incremental(node.config, resource, alterations, brokers, permit=permit)
        if resource[0] == int(Resource.TOPIC):
            standing = node.controller.image.configs(*resource)
            require_for_relay(node, call, resource[1], _told(alterations), standing)
            require_to_alter_view(node, call, standing)
        return alterations

    validate_only = call.body.validate_only
    return alter(
        node, call.body.resources, checked, lambda wanted: AlterConfigs(wanted, validate_only)
    )


def _alterations(resource: "AlterConfigsResource") -> tuple[Alteration, ...]:
    return tuple(Alteration(one.name, one.config_operation, one.value) for one in resource.configs)


def _told(alterations: tuple[Alteration, ...]) -> list[tuple[str, str | None]]:
    """What they say; None: it is unset."""
    return [
        (one.key, None if one.operation == ConfigOperation.DELETE else one.value)
        for one in alterations
    ]
