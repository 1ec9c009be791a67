"""AlterClientQuotas: what users, client ids and addresses may use, in the metadata.

Entities are judged one by one: user, client-id, both, or ip; a name of None is the default of
its type. KIP-546, KIP-612.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.records.metadata import ClientQuotaRecord, QuotaEntity

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
# The largest value of each key; whole numbers but for those that have none.
_OF_CLIENTS: Final[Mapping[str, int | None]] = {
    "producer_byte_rate": _LONG_MAX,
    "consumer_byte_rate": _LONG_MAX,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_OF_ADDRESSES: Final[Mapping[str, int | None]] = {"connection_creation_rate": _INT_MAX}
# As doubles hold whole numbers.
_WHOLE: Final = 1e-6

Entity = tuple[QuotaEntity, ...]


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """`values`: a key twice is a mistake; None removes it."""

    entity: Entity
    values: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True)
class AlterClientQuotas:
    changes: tuple[QuotaChange, ...]
    validate_only: bool = False


QuotaReply = Mapping[Entity, Refused | None]


class ClientQuotaMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AlterClientQuotas, now: Instant) -> Step[Fact, QuotaReply]:
        reply: dict[Entity, Refused | None] = {}
        records: list[Fact] = []
        for change in event.changes:
            try:
                if change.entity in reply:
                    raise _wrong("The entity is there twice.")
                records += self._judged(change)
                reply[change.entity] = None
            except Refused as refused:
                reply[change.entity] = refused
        return Step(records=() if event.validate_only else tuple(records), reply=reply)

    def _judged(self, change: QuotaChange) -> list[Fact]:
        keys = _keys_of(change.entity)
        # As the image has it: an entity is one whatever the order of its parts.
        entity = tuple(sorted(change.entity, key=lambda part: part.entity_type))
        standing = self._state.image.quotas.get(entity, {})
        records: list[Fact] = []
        seen = set()
        for key, value in change.values:
            if key in seen:
                raise _wrong(f"The key {key} is there twice.")
            seen.add(key)
            if value is None:
                if key in standing:
                    records.append(ClientQuotaRecord(entity=entity, key=key, value=0, remove=True))
                continue
            _check_value(keys, key, value)
            if standing.get(key) != value:
                records.append(ClientQuotaRecord(entity=entity, key=key, value=value))
        return records


def _keys_of(entity: Sequence[QuotaEntity]) -> Mapping[str, int | None]:
    """What may be set for an entity; Refused if there is none like that."""
    types = [part.entity_type for part in entity]
    if not entity:
        raise _wrong("An entity without a type is none.")
    for part in entity:
        if part.entity_type not in (USER, CLIENT_ID, IP):
            raise _wrong(f"There are no quotas of {part.entity_type!r}.")
        if part.entity_name == "":
            raise _wrong(f"An empty {part.entity_type} is none.")
    if len(set(types)) < len(types):
        raise _wrong("A type is there twice.")
    if IP not in types:
        return _OF_CLIENTS
    if len(types) > 1:
        raise _wrong("An address goes with neither user nor client id.")
    name = entity[0].entity_name
    if name is not None and not _is_address(name):
        raise _wrong(f"{name!r} is no address.")
    return _OF_ADDRESSES


def _is_address(name: str) -> bool:
    """A controller resolves no names: where it runs one may mean another address."""
    try:
        ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def _check_value(keys: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in keys:
        raise _wrong(f"There is no quota {key!r} for this.")
    if not value > 0 or value == float("inf"):
        raise _wrong(f"{key} must be greater than 0.")
    most = keys[key]
    if most is None:
        return
    if value > most:
        raise _wrong(f"{key} cannot be more than {most}.")
    if abs(value % 1.0) > _WHOLE:
        raise _wrong(f"{key} must be a whole number.")


def _wrong(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)
