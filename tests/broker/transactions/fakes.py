"""A marker sender that waits to be told, producer ids, a network with a list of calls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafkapy.broker.transactions.coordinator import TransactionCoordinator
from kafkapy.core.errors import Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Answered
from kafkapy.txn.events import Reply
from kafkapy.txn.markers import MarkersDue
from tests.coordinator.fakes import FakeClock, MemoryLog


class Ordered(NamedTuple):
    due: MarkersDue
    coordinator_epoch: int
    is_wanted: Callable[[], bool]
    then: Callable[[frozenset[TopicPartition]], None]


class FakeMarkers:
    """Keeps orders until `write`; or writes at once."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.orders: list[Ordered] = []
        self.sent: list[MarkersDue] = []

    def send(
        self,
        due: MarkersDue,
        coordinator_epoch: int,
        is_wanted: Callable[[], bool],
        then: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        self.sent.append(due)
        if self.at_once:
            then(due.partitions)
        else:
            self.orders.append(Ordered(due, coordinator_epoch, is_wanted, then))

    def write(self, at: int = 0) -> None:
        order = self.orders.pop(at)
        if order.is_wanted():
            order.then(order.due.partitions)

    def write_all(self) -> None:
        while self.orders:
            self.write()


class CountingIds:
    def __init__(self, first: int = 4000) -> None:
        self.next_id = first
        self.refusal: Refused | None = None

    def next(self, then: Callable[[int | Refused], None]) -> None:
        if self.refusal is not None:
            then(self.refusal)
            return
        self.next_id += 1
        then(self.next_id - 1)


@dataclass
class Coordinating:
    """A coordinator of one partition over a log in memory."""

    clock: FakeClock = field(default_factory=FakeClock)
    log: MemoryLog = field(default_factory=MemoryLog)
    markers: FakeMarkers = field(default_factory=FakeMarkers)
    ids: CountingIds = field(default_factory=CountingIds)
    server_version: int = 2

    def __post_init__(self) -> None:
        self.coordinator = TransactionCoordinator(
            clock=self.clock,
            producer_ids=self.ids,
            markers=self.markers,
            server_version=lambda: self.server_version,
        )
        self.coordinator.shards.partition_count = 1
        self.epoch = 0
        self.lead()

    def lead(self) -> None:
        self.epoch += 1
        self.coordinator.shards.lead(0, self.epoch, self.log)
        self.clock.run_soon()

    def ask(self, event: Any) -> Reply | Refused | None:
        """The answer, or None while there is none."""
        answers: list[Reply | Refused] = []
        self.coordinator.submit(event, answers.append)
        return answers[0] if answers else None


@dataclass
class Called:
    node: int
    api_key: int
    version: int
    body: Any
    then: Answered


class FakeNetwork:
    def __init__(self) -> None:
        self.calls: list[Called] = []

    def call(
        self, node: int, api_key: int, version: int, body: Any, timeout_ms: int, then: Answered
    ) -> None:
        self.calls.append(Called(node, api_key, version, body, then))
