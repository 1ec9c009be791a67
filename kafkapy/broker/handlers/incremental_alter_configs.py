"""IncrementalAlterConfigs, v0-1 (KIP-339): set, delete, append, subtract.

A broker's settings are judged by that broker first, which knows its server.properties
(broker/controller/judging.py); all the rest by the controller. kafkapy has no named loggers,
so none of them can be altered.
"""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.altering.alter import check_incremental, duplicates
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.controller.ask import verdict
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import require_for_configs
from kafkapy.broker.views.permission import require_to_alter_view
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.configs import Alteration, AlterConfigs, ConfigReply
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
    resources = call.body.resources
    if not node.controller.is_active:
        # It knows no brokers, and nothing of what is set.
        refused = Refused(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
        return _response({(one.resource_type, one.resource_name): refused for one in resources})
    brokers = node.controller.image.brokers
    verdicts: dict[ConfigResource, Refused | None] = duplicates(
        (one.resource_type, one.resource_name) for one in resources
    )
    changes: list[tuple[ConfigResource, tuple[Alteration, ...]]] = []
    for one in resources:
        resource = (one.resource_type, one.resource_name)
        if resource in verdicts:
            continue
        alterations = _alterations(one)
        try:
            check_incremental(
                node.config,
                resource,
                alterations,
                brokers,
                permit=partial(require_for_configs, node, call, Operation.ALTER_CONFIGS, *resource),
            )
            if resource[0] == int(Resource.TOPIC):
                standing = node.controller.image.configs(*resource)
                require_for_relay(node, call, resource[1], _told(alterations), standing)
                require_to_alter_view(node, call, standing)
        except Refused as refused:
            verdicts[resource] = refused
        else:
            changes.append((resource, alterations))
    promise = Later()

    def decided(reply: ConfigReply | Refused) -> None:
        for resource, _ in changes:
            verdicts[resource] = reply if isinstance(reply, Refused) else reply[resource]
        promise.resolve(_response(verdicts))

    if not changes:
        return _response(verdicts)
    node.controller.submit(AlterConfigs(tuple(changes), call.body.validate_only), decided)
    return promise


def _alterations(resource: "AlterConfigsResource") -> tuple[Alteration, ...]:
    return tuple(Alteration(one.name, one.config_operation, one.value) for one in resource.configs)


def _told(alterations: tuple[Alteration, ...]) -> list[tuple[str, str | None]]:
    """What they say; None: it is unset."""
    return [
        (one.key, None if one.operation == ConfigOperation.DELETE else one.value)
        for one in alterations
    ]


def _response(verdicts: dict[ConfigResource, Refused | None]) -> Fields:
    return {
        "throttle_time": 0,
        "responses": [
            {
                **verdict(refused),
                "resource_type": kind,
                "resource_name": name,
            }
            for (kind, name), refused in verdicts.items()
        ],
    }
