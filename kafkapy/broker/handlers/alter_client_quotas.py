"""AlterClientQuotas, v0-1 (KIP-546). Entities are answered one by one."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, explained
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.access.client_quotas import (
    AlterClientQuotas,
    Entity,
    QuotaChange,
    QuotaReply,
)
from kafkapy.kraft.records.metadata import QuotaEntity

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.alter_client_quotas.v1.request import AlterClientQuotasRequest, EntryData

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController

    class Needs(HasAuthorizer, HasController, Protocol): ...


def handle(node: "Needs", call: "Call[AlterClientQuotasRequest]") -> Answer:
    changes = tuple(_change(one) for one in call.body.entries)
    entities = [one.entity for one in changes]
    if not allows_on_cluster(node, call, Operation.ALTER_CONFIGS):
        return _response(dict.fromkeys(entities, Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    return ask(
        node,
        AlterClientQuotas(changes, call.body.validate_only),
        _response,
        lambda refused: _response(dict.fromkeys(entities, refused)),
    )


def _change(asked: "EntryData") -> QuotaChange:
    entity = tuple(
        QuotaEntity(entity_type=part.entity_type, entity_name=part.entity_name)
        for part in asked.entity
    )
    return QuotaChange(
        entity, tuple((one.key, None if one.remove else one.value) for one in asked.ops)
    )


def _response(verdicts: QuotaReply) -> Fields:
    return {
        "throttle_time": 0,
        "entries": [
            {**explained(refused), "entity": _parts(entity)} for entity, refused in verdicts.items()
        ],
    }


def _parts(entity: Entity) -> list[Fields]:
    return [{"entity_type": part.entity_type, "entity_name": part.entity_name} for part in entity]
