"""DescribeClientQuotas, v0-1 (KIP-546).

component   exact name, default, or any, of a type
strict      entities with exactly the types asked for
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.access.client_quotas import CLIENT_ID, IP, USER, Entity

if TYPE_CHECKING:
    from kio.schema.describe_client_quotas.v1.request import (
        ComponentData,
        DescribeClientQuotasRequest,
    )

    from kafkapy.broker.requests.needs import HasImage


class _Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    ANY = 2


_TYPES: Final = (USER, CLIENT_ID, IP)


def handle(node: "HasImage", call: "Call[DescribeClientQuotasRequest]") -> Answer:
    wanted: dict[str, ComponentData] = {}
    for component in call.body.components:
        _check(component, wanted)
        wanted[component.entity_type] = component
    if IP in wanted and len(wanted) > 1:
        raise _wrong("An address goes with neither user nor client id.")
    return {
        "throttle_time": 0,
        "error_code": 0,
        "error_message": None,
        "entries": [
            {
                "entity": [
                    {"entity_type": part.entity_type, "entity_name": part.entity_name}
                    for part in entity
                ],
                "values": [{"key": key, "value": value} for key, value in values.items()],
            }
            for entity, values in node.image.quotas.items()
            if _matches(entity, wanted, is_strict=call.body.strict)
        ],
    }


def _check(component: "ComponentData", wanted: "dict[str, ComponentData]") -> None:
    if not component.entity_type:
        raise _wrong("A component without a type is none.")
    if component.entity_type in wanted:
        raise _wrong(f"The type {component.entity_type} is there twice.")
    if component.entity_type not in _TYPES:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION, f"There are no quotas of {component.entity_type!r}."
        )
    if component.match_type == int(_Match.EXACT):
        if component.match is None:
            raise _wrong("An exact match needs a name.")
    elif int(component.match_type) not in list(_Match):
        raise _wrong(f"Unknown match type {component.match_type}.")
    elif component.match is not None:
        raise _wrong("Only an exact match has a name.")


def _matches(entity: Entity, wanted: "dict[str, ComponentData]", *, is_strict: bool) -> bool:
    names = {part.entity_type: part.entity_name for part in entity}
    if is_strict and len(names) != len(wanted):
        return False
    return all(
        kind in names and _is_named(component, names[kind]) for kind, component in wanted.items()
    )


def _is_named(component: "ComponentData", name: str | None) -> bool:
    if component.match_type == int(_Match.ANY):
        return True
    return name == (component.match if component.match_type == int(_Match.EXACT) else None)


def _wrong(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)
