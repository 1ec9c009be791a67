"""A controller on a log in memory, and words to make a cluster with."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat, HeartbeatReply
from kafkapy.kraft.controller.brokers.registration import RegisterBroker
from kafkapy.kraft.controller.controller import Controller
from kafkapy.kraft.controller.machine import KRAFT_VERSION_RECORDS, Event
from kafkapy.kraft.controller.rules import ConfigRules, TopicSetting, Values
from kafkapy.kraft.controller.state import ControllerSettings
from kafkapy.kraft.controller.topics.changes import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    TopicCreated,
)
from kafkapy.kraft.features import SUPPORTED_FEATURES
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import FeatureRange, MetadataRecord, NoOpRecord
from kafkapy.kraft.storage.bootstrap import default_bootstrap
from kafkapy.runtime.record_log import Committed
from tests.coordinator.fakes import FakeClock

CLUSTER_ID = "cluster"
FEATURES = tuple(
    FeatureRange(name=name, min_supported_version=low, max_supported_version=high)
    for name, (low, high) in SUPPORTED_FEATURES.items()
)
ALL_FEATURES = {name: level for name, (_, level) in SUPPORTED_FEATURES.items()}


class SeededRng:
    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128))


class MemoryLog:
    """Commits at once, or when `commit` is called if `holds_back`."""

    def __init__(self) -> None:
        self.records: list[MetadataRecord] = []
        self.holds_back = False
        self.leads = True
        self._batches: list[int] = []
        self.ends: list[int] = []  # of every batch
        self._waiting: list[tuple[int, Committed]] = []
        self.committed = 0
        self.why_not_raise: str | None = None
        self.leader_id: int | None = None

    @property
    def next_offset(self) -> int:
        return len(self.records)

    def append(self, records: Sequence[MetadataRecord]) -> int:
        if not self.leads:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        self.records += records
        self._batches.append(len(self.records))
        self.ends.append(len(self.records))
        if not self.holds_back:
            self.commit()
        return len(self.records)

    def when_committed(self, end_offset: int, then: Committed) -> None:
        if end_offset <= self.committed:
            then(None)
        else:
            self._waiting.append((end_offset, then))

    def cannot_raise_kraft_version(self) -> str | None:
        return self.why_not_raise

    def raise_kraft_version(self) -> None:
        self.records += [NoOpRecord()] * KRAFT_VERSION_RECORDS

    def commit(self, batches: int | None = None) -> None:
        ready = self._batches[:batches]
        del self._batches[: len(ready)]
        for end in ready:
            self.committed = end
            while self._waiting and self._waiting[0][0] <= end:
                self._waiting.pop(0)[1](None)

    def fail(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, then in waiting:
            then(ErrorCode.NOT_CONTROLLER)

    def image(self) -> MetadataImage:
        """The fold of what is committed."""
        image = MetadataImage()
        for offset, record in enumerate(self.records[: self.committed]):
            image.apply(record)
            image.offset = offset
        return image


class PlainRules:
    """Anything goes, except the key `bad`."""

    default_partitions = 1
    default_replication_factor = 1
    static_min_insync_replicas = 1

    def check(self, resource_type: int, name: str, values: Values, before: Values) -> None:
        if "bad" in values:
            raise Refused(ErrorCode.INVALID_CONFIG, "bad is bad")

    def is_list(self, resource_type: int, key: str) -> bool:
        return key.endswith("list")

    def default_of(self, resource_type: int, key: str) -> str | None:
        return "default" if key == "defaulted.list" else None

    def min_insync_replicas(self, topic: Values, node: Values, cluster: Values) -> int:
        for layer in (topic, node, cluster):
            if "min.insync.replicas" in layer:
                return int(layer["min.insync.replicas"])
        return 1

    def allows_unclean_election(self, topic: Values, node: Values, cluster: Values) -> bool:
        return topic.get("unclean.leader.election.enable") == "true"

    def topic_settings(
        self, topic: Values, node: Values, cluster: Values
    ) -> tuple[TopicSetting, ...]:
        return tuple(TopicSetting(name, value, 1, False) for name, value in sorted(topic.items()))


def directory_of(broker: int, number: int = 0) -> UUID:
    return UUID(int=(1 << 100) + broker * 100 + number)


class Cluster:
    """A controller and brokers that say what they are told to say."""

    def __init__(
        self,
        brokers: int = 0,
        *,
        bootstrap: Sequence[MetadataRecord] | None = None,
        racks: Sequence[str | None] = (),
        rules: ConfigRules | None = None,
        node_id: int = 0,
        kraft_version: int = 1,
        **settings: Any,
    ) -> None:
        self.log = MemoryLog()
        self.clock = FakeClock()
        self.rng = SeededRng()
        self.controller = Controller(
            settings=ControllerSettings(
                node_id, CLUSTER_ID, **{"max_idle_interval_ms": 0} | settings
            ),
            rules=PlainRules() if rules is None else rules,
            clock=self.clock,
            rng=self.rng,
            log=self.log,
        )
        self.bootstrap = default_bootstrap() if bootstrap is None else bootstrap
        self.controller.lead(MetadataImage(), self.bootstrap, kraft_version=kraft_version)
        for number in range(1, brokers + 1):
            self.join(number, rack=racks[number - 1] if racks else None)

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    # -- asking ------------------------------------------------------------------------

    def ask(self, event: Event) -> Any:
        """The outcome, which must be there at once."""
        outcomes: list[Any] = []
        self.controller.submit(event, outcomes.append)
        assert len(outcomes) == 1, outcomes
        return outcomes[0]

    def ask_in_time(self, event: Event) -> Any:
        """The outcome of what goes in slices."""
        outcomes: list[Any] = []
        self.controller.submit(event, outcomes.append)
        self.clock.advance(0)
        assert len(outcomes) == 1, outcomes
        return outcomes[0]

    def refusal(self, event: Event) -> ErrorCode:
        outcome = self.ask(event)
        assert isinstance(outcome, Refused), outcome
        return outcome.code

    def records_of(self, event: Event) -> list[MetadataRecord]:
        before = len(self.log.records)
        outcome = self.ask(event)
        assert not isinstance(outcome, Refused), outcome
        return self.log.records[before:]

    # -- brokers -----------------------------------------------------------------------

    def registration(self, broker: int, **fields: Any) -> RegisterBroker:
        usual = RegisterBroker(
            broker_id=broker,
            cluster_id=CLUSTER_ID,
            incarnation_id=self.rng.uuid(),
            endpoints=(),
            features=FEATURES,
            log_dirs=(directory_of(broker),),
        )
        return replace(usual, **fields)

    def register(self, broker: int, **fields: Any) -> int:
        outcome = self.ask(self.registration(broker, **fields))
        assert not isinstance(outcome, Refused), outcome
        epoch: int = outcome.epoch
        return epoch

    def join(self, broker: int, **fields: Any) -> None:
        """Register and be unfenced."""
        self.register(broker, **fields)
        reply = self.beat(broker)
        assert not reply.is_fenced

    def heartbeat(self, broker: int, **fields: Any) -> BrokerHeartbeat:
        usual = BrokerHeartbeat(
            broker_id=broker,
            epoch=self.image.brokers[broker].epoch,
            metadata_offset=self.log.next_offset - 1,
            wants_fence=False,
        )
        return replace(usual, **fields)

    def beat(self, broker: int, **fields: Any) -> HeartbeatReply:
        outcome = self.ask(self.heartbeat(broker, **fields))
        assert isinstance(outcome, HeartbeatReply), outcome
        return outcome

    def fence(self, broker: int) -> None:
        self.beat(broker, wants_fence=True)

    def unfence(self, broker: int) -> None:
        assert not self.beat(broker).is_fenced

    def wait(self, by_ms: int, *, silent: tuple[int, ...] = ()) -> None:
        """Let time pass; unfenced brokers send heartbeats, but for the silent ones."""
        for _ in range(0, by_ms, 1000):
            self.clock.advance(1000)
            for broker in list(self.image.brokers.values()):
                if not broker.fenced and broker.id not in silent:
                    self.beat(broker.id)

    # -- topics ------------------------------------------------------------------------

    def create(self, name: str, *assignments: tuple[int, ...], **configs: str) -> UUID:
        """A topic with these replicas, partition by partition."""
        topic = NewTopic(
            name,
            assignments=tuple(enumerate(assignments)),
            configs=tuple((key.replace("_", "."), value) for key, value in configs.items()),
        )
        made = self.ask(CreateTopics((topic,)))[name]
        assert isinstance(made, TopicCreated), made
        return made.topic_id

    def delete(self, topic_id: UUID) -> None:
        assert not isinstance(self.ask(DeleteTopics((topic_id,))), Refused)

    def partition(self, name: str, index: int = 0) -> PartitionState:
        state = self.image.partition_by_name(name, index)
        assert state is not None
        return state
