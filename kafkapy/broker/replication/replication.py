"""What a broker does for its partitions with more than one replica, in both roles.

    follows   --> the fetcher of the partition's leader
    leads     --> Followers (in the partition); changes of in-sync replicas --> controller

Every half replica.lag.time.max.ms those who lag leave the in-sync replicas.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.metadata.leaders_in_doubt import LeadersInDoubt
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.peers.broker_connections import BrokerConnections
from kafkapy.broker.replication.fetcher import ReplicaFetcher
from kafkapy.broker.replication.isr_changes import Answered, IsrChanges
from kafkapy.broker.replication.messages import Limits
from kafkapy.broker.replication.newly_led import NewlyLed
from kafkapy.broker.replication.serving import ReplicaSessions
from kafkapy.broker.replication.throttle import FOLLOWER, ReplicationThrottle
from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import NO_NODE
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock, Journal, Timer
from kafkapy.core.time import later
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig

_UNKNOWN_EPOCH: Final = -1
_ADMIT_COST_US: Final = 2
_LOOKING_US: Final = 4


class Facts(Protocol):
    """What this broker says of itself (node/broker_facts.py)."""

    @property
    def epoch(self) -> int: ...

    def isr_changes(self, changes: tuple[NewIsr, ...]) -> AlterPartition: ...


class Replication:
    """`partitions` iterates over all that live here."""

    def __init__(
        self,
        *,
        node_id: int,
        config: "BrokerConfig",
        clock: Clock,
        journal: Journal,
        connections: BrokerConnections,
        link: ControllerLink,
        facts: Facts,
        image: Callable[[], MetadataImage],
        partitions: Callable[[], Iterable[Partition]],
        sessions: ReplicaSessions,
        in_doubt: LeadersInDoubt,
        disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self.node_id = node_id
        self.clock = clock
        self.journal = journal
        self._config = config
        self._connections = connections
        self._facts = facts
        self._image = image
        self._partitions = partitions
        self._disk_failed = disk_failed
        self.leader_hung_up = in_doubt.hung_up
        self.leader_answers = in_doubt.answers
        self.throttle = ReplicationThrottle(
            node_id,
            clock,
            FOLLOWER,
            lambda: config.follower_replication_throttled_rate,
            lambda topic: image().configs(TOPIC_RESOURCE, topic),
        )
        self._sessions = sessions
        self._newly_led = NewlyLed(clock, sessions.hurry)
        self._changes = IsrChanges(link, clock, facts.isr_changes)
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._follows: dict[Partition, ReplicaFetcher] = {}
        self._timer: Timer | None = None
        self._looking: Job | None = None
        self._is_closed = False

    # -- the life of a broker

    def start(self) -> None:
        self._look_for_lagging()

    def close(self) -> None:
        """Nothing is fetched any more, and nobody is waited for."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            self._looking.stop()
        self._changes.close()
        self._newly_led.close()
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._connections.close()
        self._fetchers.clear()
        self._follows.clear()

    # -- partitions as they are now

    def follow(self, partition: Partition) -> None:
        """The partition's role, its leader or its leader's epoch may have changed."""
        leader = partition.leader
        before = self._follows.pop(partition, None)
        if before is not None:
            before.forget(partition)
        if self._is_closed or partition.is_offline or leader in (NO_NODE, self.node_id):
            self._drop_idle()
            return
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = ReplicaFetcher(
                self, leader, lambda: self._connections.to(leader)
            )
        self._follows[partition] = fetcher
        fetcher.follow(partition)
        self._drop_idle()

    def forget(self, partition: Partition) -> None:
        """It does not live here any more."""
        before = self._follows.pop(partition, None)
        if before is not None:
            before.forget(partition)
        self._changes.withdraw(partition.topic_id, partition.topic_partition.partition)
        self._drop_idle()

    def _drop_idle(self) -> None:
        for leader in [one for one, fetcher in self._fetchers.items() if not len(fetcher)]:
            self._fetchers.pop(leader).close()
            self._connections.drop(leader)

    # -- what leaders ask (partitions/partition.py)

    @property
    def max_lag_ms(self) -> int:
        return self._config.replica_lag_time_max_ms

    def is_eligible(self, broker_id: int, broker_epoch: int) -> bool:
        broker = self._image().brokers.get(broker_id)
        return (
            broker is not None
            and broker.is_active
            and broker_epoch in (broker.epoch, _UNKNOWN_EPOCH)
        )

    def propose(self, partition: Partition, isr: tuple[int, ...], then: Answered) -> None:
        brokers = self._image().brokers
        change = NewIsr(
            partition.topic_id,
            partition.topic_partition.partition,
            partition.leader_epoch,
            partition.partition_epoch,
            tuple((one, brokers[one].epoch if one in brokers else _UNKNOWN_EPOCH) for one in isr),
        )
        self._changes.propose(change, then)

    def led_anew(self, partition: Partition) -> None:
        self._newly_led.add(partition)

    def left(self, partition: Partition, replicas: list[int]) -> None:
        self._sessions.left(partition, replicas)

    def withdraw(self, partition: Partition) -> None:
        self._changes.withdraw(partition.topic_id, partition.topic_partition.partition)

    def brokers_changed(self, brokers: Iterable[int]) -> None:
        """They are alive now, perhaps: who is ready to be in sync need not fetch first."""
        alive = [one for one in brokers if self.is_eligible(one, _UNKNOWN_EPOCH)]
        if alive:
            Job(self.clock, self._admit(alive)).start()

    def _admit(self, brokers: list[int]) -> Steps:
        for partition in list(self._partitions()):
            if partition.followers is not None:
                for broker in brokers:
                    partition.admit(broker)
            yield _ADMIT_COST_US

    def _look_for_lagging(self) -> None:
        self._looking = Job(self.clock, self._look())
        self._looking.start()

    def _look(self) -> Steps:
        now = self.clock.now()
        for partition in list(self._partitions()):
            if partition.followers is not None:
                partition.drop_lagging(now)
                yield _LOOKING_US
        self._timer = self.clock.call_at(
            later(now, max(1, self.max_lag_ms // 2)), self._look_for_lagging
        )

    # -- what fetchers ask

    @property
    def broker_epoch(self) -> int:
        return self._facts.epoch

    @property
    def fetch_limits(self) -> Limits:
        config = self._config
        return Limits(
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            config.replica_fetch_max_bytes,
        )

    @property
    def fetch_timeout_ms(self) -> int:
        return self._config.replica_socket_timeout_ms

    @property
    def fetch_backoff_ms(self) -> int:
        return self._config.replica_fetch_backoff_ms

    def disk_failed(self, failed: DiskFailed) -> None:
        self._disk_failed(failed)
