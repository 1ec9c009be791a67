"""UpdateFeatures: raise or lower the levels that the cluster has agreed on.

All or nothing: one update that may not be refuses the request. A level must be known to
this node and lie in the range of every registered broker and controller. KIP-584, KIP-1022.
"""

from collections.abc import Iterator
from enum import IntEnum

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact, KRaftVersionRaised
from kafkapy.kraft.controller.partitions.eligibility import are_left_over, emptied
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.features import (
    CONTROLLER_REGISTRATION,
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
    downgrade_is_lossy,
    missing_dependency,
)
from kafkapy.kraft.image.image import BROKER_RESOURCE
from kafkapy.kraft.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    FeatureRange,
    NoOpRecord,
)

MIN_INSYNC_REPLICAS = "min.insync.replicas"


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True)
class UpdateFeatures:
    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class FeaturesUpdated:
    """All of them, or nothing would have been."""


class FeatureMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: UpdateFeatures, now: Instant) -> Step[Fact, FeaturesUpdated]:
        proposed = self._state.image.features | {one.name: one.level for one in event.updates}
        records: list[Fact] = []
        for update in event.updates:
            self._check(update, proposed)
            if update.name == KRAFT_VERSION:
                if update.level > self._state.kraft_version:
                    # Whoever asked waits for the record behind the quorum's own.
                    records[:0] = [KRaftVersionRaised(update.level), NoOpRecord()]
                continue
            records.append(FeatureLevelRecord(name=update.name, feature_level=update.level))
            if update.name == ELR_VERSION and update.level > 0 and not self._state.elr_enabled:
                records += self._elr_settings()
                if are_left_over(self._state):
                    records += emptied(self._state, "")
        return Step(records=() if event.validate_only else tuple(records), reply=FeaturesUpdated())

    def _check(self, update: FeatureUpdate, proposed: dict[str, int]) -> None:
        if update.upgrade_type not in list(UpgradeType):
            raise _invalid(update, "The controller does not support the given upgrade type.")
        if update.level < 0:
            raise _invalid(update, "A feature version cannot be less than 0.")
        for who, (lowest, highest) in self._supported(update.name):
            if not lowest <= update.level <= highest:
                supports = f"only supports versions {lowest}-{highest}"
                raise _invalid(
                    update, f"{who} {supports if highest else 'does not support this feature.'}"
                )
        if update.name not in SUPPORTED_FEATURES:
            raise _invalid(update, f"Feature {update.name} not found.")
        current = self._current(update.name)
        if update.name == KRAFT_VERSION:
            self._check_kraft_version(update, current, proposed)
            return
        is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
        if update.level < current and is_upgrade:
            raise _invalid(
                update,
                "Can't downgrade the version of this feature without setting the upgrade type "
                "to either safe or unsafe downgrade.",
            )
        if update.level > current and not is_upgrade:
            raise _invalid(update, "Can't downgrade to a newer version.")
        if update.name == METADATA_VERSION:
            self._check_metadata_version(update, current)
        else:
            missing = missing_dependency(update.name, update.level, proposed[METADATA_VERSION])
            if missing is not None:
                raise _invalid(update, missing)

    def _current(self, name: str) -> int:
        if name == KRAFT_VERSION:
            return self._state.kraft_version
        return self._state.image.features.get(name, 0)

    def _check_kraft_version(
        self, update: FeatureUpdate, current: int, proposed: dict[str, int]
    ) -> None:
        """The quorum keeps it in its own control records, together with the voters."""
        if update.level < current:
            raise _invalid(update, "Can't downgrade the version of this feature.")
        if update.level > current:
            missing = missing_dependency(update.name, update.level, proposed[METADATA_VERSION])
            why = missing or self._state.cannot_raise_kraft_version()
            if why is not None:
                raise _invalid(update, why)

    def _check_metadata_version(self, update: FeatureUpdate, current: int) -> None:
        if downgrade_is_lossy(current, update.level):
            why = (
                "Refusing to perform the requested downgrade because it might delete metadata "
                "information."
            )
            if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
                why = "Unsafe metadata downgrade is not supported in this version."
            raise Refused(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Unsupported metadata.version downgrade from {current} to {update.level}. {why}",
            )

    def _supported(self, name: str) -> Iterator[tuple[str, tuple[int, int]]]:
        """Who must support the level, and what they do support."""
        state = self._state
        yield f"Local controller {state.settings.node_id}", SUPPORTED_FEATURES.get(name, (0, 0))
        for broker in state.image.brokers.values():
            yield f"Broker {broker.id}", _range(broker.features, name)
        if state.image.metadata_version < CONTROLLER_REGISTRATION:
            return
        for controller in state.image.controllers.values():
            if controller.id != state.settings.node_id:
                yield f"Controller {controller.id}", _range(controller.features, name)
        for voter in state.settings.quorum_ids():
            if voter != state.settings.node_id and voter not in state.image.controllers:
                raise Refused(
                    ErrorCode.INVALID_UPDATE_VERSION,
                    f"controller {voter} has not registered, and may not support this feature",
                )

    def _elr_settings(self) -> list[Fact]:
        """With ELR, min.insync.replicas must be the same for every broker (KIP-966)."""
        state = self._state
        records: list[Fact] = []
        if MIN_INSYNC_REPLICAS not in state.cluster_values:
            records.append(min_insync_default(state.rules.static_min_insync_replicas))
        for (kind, name), values in state.image.all_configs.items():
            if kind == BROKER_RESOURCE and name and MIN_INSYNC_REPLICAS in values:
                records.append(
                    ConfigRecord(
                        resource_type=kind,
                        resource_name=name,
                        name=MIN_INSYNC_REPLICAS,
                        value=None,
                    )
                )
        return records


def min_insync_default(value: int) -> ConfigRecord:
    """The cluster-wide value that ELR relies on; also written when a cluster begins."""
    return ConfigRecord(
        resource_type=BROKER_RESOURCE,
        resource_name="",
        name=MIN_INSYNC_REPLICAS,
        value=str(value),
    )


def _range(features: tuple[FeatureRange, ...], name: str) -> tuple[int, int]:
    for one in features:
        if one.name == name:
            return one.min_supported_version, one.max_supported_version
    return 0, 0


def _invalid(update: FeatureUpdate, why: str) -> Refused:
    return Refused(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.name}. {why}",
    )
