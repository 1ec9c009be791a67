"""What an operator can set about groups: the broker's keys, and one group's own.

A dynamic group config (ConfigResource GROUP) overrides the broker's default and is held
inside the broker's bounds, which may have moved since it was set.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from kafkapy.core.data import dataclass

MINUTE_MS: Final = 60_000
UNBOUNDED: Final = 2**31 - 1


class MigrationPolicy(Enum):
    """Which way a group may change between the classic and the consumer protocol."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A default with the bounds that a group's own value is held in."""

    default: int
    least: int
    most: int

    def of(self, own: str | None) -> int:
        if own is None:
            return self.default
        return max(self.least, min(int(own), self.most))


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Named as Kafka's keys, without their dots."""

    # group.*: classic groups
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = UNBOUNDED
    initial_rebalance_delay_ms: int = 3_000
    # A new member cannot send heartbeats while it waits in Join; Kafka gives it 5 minutes.
    new_member_join_timeout_ms: int = 5 * MINUTE_MS

    # group.consumer.*
    is_consumer_protocol_enabled: bool = True
    consumer_max_size: int = UNBOUNDED
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    consumer_regex_refresh_interval_ms: int = 10 * MINUTE_MS
    consumer_session_timeout_ms: Bounded = Bounded(45_000, 45_000, 60_000)
    consumer_heartbeat_interval_ms: Bounded = Bounded(5_000, 5_000, 15_000)
    consumer_assignment_interval_ms: Bounded = Bounded(1_000, 0, 15_000)

    # group.share.*
    is_share_protocol_enabled: bool = True
    share_max_size: int = 200
    share_assignor: str = "simple"
    share_session_timeout_ms: Bounded = Bounded(45_000, 45_000, 60_000)
    share_heartbeat_interval_ms: Bounded = Bounded(5_000, 5_000, 15_000)
    share_assignment_interval_ms: Bounded = Bounded(1_000, 0, 15_000)
    share_initialize_retry_ms: int = 30_000

    # group.streams.*
    is_streams_protocol_enabled: bool = True
    streams_max_size: int = UNBOUNDED
    streams_session_timeout_ms: Bounded = Bounded(45_000, 45_000, 60_000)
    streams_heartbeat_interval_ms: Bounded = Bounded(5_000, 5_000, 15_000)
    streams_assignment_interval_ms: Bounded = Bounded(1_000, 0, 15_000)
    streams_initial_rebalance_delay_ms: int = 3_000
    streams_standby_replicas: Bounded = Bounded(0, 0, 2)

    # offsets.* and offset.*
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * MINUTE_MS
    offsets_retention_check_interval_ms: int = 10 * MINUTE_MS
    # Groups whose names begin so keep their offsets as long as the topics are there.
    lasting_groups: tuple[str, ...] = ()

    # The dynamic configs of single groups, by group id.
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def session_timeout_ms(self, group_id: str) -> int:
        return self.consumer_session_timeout_ms.of(self._own(group_id, "session.timeout.ms"))

    def heartbeat_interval_ms(self, group_id: str) -> int:
        return self.consumer_heartbeat_interval_ms.of(self._own(group_id, "heartbeat.interval.ms"))

    def assignment_interval_ms(self, group_id: str) -> int:
        own = self._own(group_id, "assignment.interval.ms")
        return self.consumer_assignment_interval_ms.of(own)

    def share_session_ms(self, group_id: str) -> int:
        own = self._named(group_id, "share.session.timeout.ms")
        return self.share_session_timeout_ms.of(own)

    def share_heartbeat_ms(self, group_id: str) -> int:
        own = self._named(group_id, "share.heartbeat.interval.ms")
        return self.share_heartbeat_interval_ms.of(own)

    def share_assignment_ms(self, group_id: str) -> int:
        own = self._named(group_id, "share.assignment.interval.ms")
        return self.share_assignment_interval_ms.of(own)

    def streams_session_ms(self, group_id: str) -> int:
        own = self._named(group_id, "streams.session.timeout.ms")
        return self.streams_session_timeout_ms.of(own)

    def streams_heartbeat_ms(self, group_id: str) -> int:
        own = self._named(group_id, "streams.heartbeat.interval.ms")
        return self.streams_heartbeat_interval_ms.of(own)

    def streams_assignment_ms(self, group_id: str) -> int:
        own = self._named(group_id, "streams.assignment.interval.ms")
        return self.streams_assignment_interval_ms.of(own)

    def streams_initial_rebalance_delay(self, group_id: str) -> int:
        own = self._named(group_id, "streams.initial.rebalance.delay.ms")
        return self.streams_initial_rebalance_delay_ms if own is None else int(own)

    def streams_standbys(self, group_id: str) -> int:
        return self.streams_standby_replicas.of(
            self._named(group_id, "streams.num.standby.replicas")
        )

    def _own(self, group_id: str, name: str) -> str | None:
        return self._named(group_id, f"consumer.{name}")

    def _named(self, group_id: str, name: str) -> str | None:
        own = self.groups.get(group_id)
        return None if own is None else own.get(name)
