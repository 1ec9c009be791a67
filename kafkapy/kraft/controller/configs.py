"""Settings of topics, brokers, groups and client metrics: alter one key, or replace all.

    incremental   set, delete, append to or subtract from a list; the rest stays
    legacy        what is not named goes

Resources are judged one by one. With ELR on, a new min.insync.replicas empties the ELRs
that the old one made, where somebody leads. KIP-339, KIP-966.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.features import MIN_INSYNC_REPLICAS
from kafkapy.kraft.controller.partitions.eligibility import emptied
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.controller.topics.views import check_altered
from kafkapy.kraft.features import CORDONED_LOG_DIRS
from kafkapy.kraft.image.delta import ConfigResource
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkapy.kraft.records.metadata import ConfigRecord

# What fits a string of a record (its length is a signed 16-bit number in older formats).
MAX_VALUE_BYTES: Final = 32767

CORDONED: Final = "cordoned.log.dirs"


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Alteration:
    key: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """Incremental."""

    changes: tuple[tuple[ConfigResource, tuple[Alteration, ...]], ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceConfigs:
    """Legacy."""

    values: tuple[tuple[ConfigResource, tuple[tuple[str, str | None], ...]], ...]
    validate_only: bool = False


ConfigEvent = AlterConfigs | ReplaceConfigs
Changes = dict[str, str | None]
ConfigReply = Mapping[ConfigResource, Refused | None]


class ConfigMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: ConfigEvent, now: Instant) -> Step[Fact, ConfigReply]:
        wanted: list[tuple[ConfigResource, Callable[[], Changes]]] = []
        match event:
            case AlterConfigs(changes):
                for resource, parts in changes:
                    wanted.append((resource, partial(self._altered, resource, parts)))
            case ReplaceConfigs(values):
                for resource, pairs in values:
                    wanted.append((resource, partial(self._replaced, resource, dict(pairs))))
        reply: dict[ConfigResource, Refused | None] = {}
        records: list[Fact] = []
        for resource, changed in wanted:
            try:
                records += self._judged(resource, changed())
                reply[resource] = None
            except Refused as refused:
                reply[resource] = refused
        return Step(records=() if event.validate_only else tuple(records), reply=reply)

    # -- what is to change: key -> value, None for "unset" ------------------------------

    def _altered(self, resource: ConfigResource, parts: Sequence[Alteration]) -> Changes:
        standing = self._state.image.configs(*resource)
        changes: Changes = {}
        for part in parts:
            match part.operation:
                case Operation.SET:
                    changes[part.key] = part.value
                case Operation.DELETE:
                    changes[part.key] = None
                case Operation.APPEND | Operation.SUBTRACT:
                    changes[part.key] = self._list_altered(resource, part, standing)
                case unknown:
                    raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operation type {unknown}.")
        return changes

    def _list_altered(
        self, resource: ConfigResource, part: Alteration, standing: Mapping[str, str]
    ) -> str:
        rules = self._state.rules
        if not rules.is_list(resource[0], part.key):
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Can't {Operation(part.operation).name} to key {part.key} because its type is "
                "not LIST.",
            )
        before = standing.get(part.key)
        return list_after(
            rules.default_of(resource[0], part.key) if before is None else before, part
        )

    def _replaced(self, resource: ConfigResource, values: Mapping[str, str | None]) -> Changes:
        standing = self._state.image.configs(*resource)
        return dict(values) | {key: None for key in standing if key not in values}

    # -- whether it may ----------------------------------------------------------------

    def _judged(self, resource: ConfigResource, changes: Changes) -> list[Fact]:
        kind, name = resource
        standing = self._state.image.configs(kind, name)
        self._check_elr(resource, changes)
        for value in changes.values():
            if value is not None and len(value.encode()) > MAX_VALUE_BYTES:
                raise Refused(
                    ErrorCode.INVALID_CONFIG,
                    "The configuration value cannot be added because it exceeds the maximum "
                    f"value size of {MAX_VALUE_BYTES} bytes.",
                )
        after = {key: value for key, value in standing.items() if key not in changes}
        after |= {key: value for key, value in changes.items() if value is not None}
        self._state.rules.check(kind, name, after, standing)
        self._check_exists(resource)
        if kind == TOPIC_RESOURCE:
            check_altered(after, standing)
        records: list[Fact] = []
        for key, value in changes.items():
            # For a broker a value that is set again means: read your files again.
            if standing.get(key) != value or kind == BROKER_RESOURCE:
                records.append(
                    ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
                )
                if key == MIN_INSYNC_REPLICAS and self._state.elr_enabled:
                    records.extend(emptied(self._state, name))
        return records

    def _check_elr(self, resource: ConfigResource, changes: Changes) -> None:
        kind, name = resource
        if kind != BROKER_RESOURCE:
            return
        version = self._state.image.metadata_version
        if changes.get(CORDONED) is not None and version < CORDONED_LOG_DIRS:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"{CORDONED} needs metadata.version {CORDONED_LOG_DIRS} or higher.",
            )
        if MIN_INSYNC_REPLICAS not in changes or not self._state.elr_enabled:
            return
        if name:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled.",
            )
        if changes[MIN_INSYNC_REPLICAS] is None:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.",
            )

    def _check_exists(self, resource: ConfigResource) -> None:
        kind, name = resource
        image = self._state.image
        if kind == TOPIC_RESOURCE and name not in image.topics_by_name:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )
        if kind == BROKER_RESOURCE and name:
            nodes = {*image.brokers, *image.controllers, self._state.settings.node_id}
            if int(name) not in nodes:
                raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def list_after(before: str | None, part: Alteration) -> str:
    """What a list is after something was appended to it, or subtracted from it."""
    items = [item for item in (before or "").split(",") if item]
    for item in (part.value or "").split(","):
        if part.operation == Operation.APPEND and item not in items:
            items.append(item)
        elif part.operation == Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)
