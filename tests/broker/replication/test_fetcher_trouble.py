"""A partition with a trouble of its own holds up no other, and is asked for again soon."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.replication.fetcher import ReplicaFetcher
from kafkapy.broker.replication.messages import Limits
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.protocol.handwritten.fetch_request import decode_fetch_request
from kafkapy.protocol.handwritten.replica_fetch import FetchedRow, ReplicaAnswer
from tests.broker.partitions.in_memory import TOPIC_ID, open_partition
from tests.coordinator.fakes import FakeClock

VERSION = 17
BACKOFF_MS = 1000


class Kit:
    """Partitions of leader 2; what is asked of it waits for the test."""

    def __init__(self, count: int = 2) -> None:
        self.clock = FakeClock()
        self.warnings: list[str] = []
        self.node: Any = SimpleNamespace(
            node_id=1,
            clock=self.clock,
            journal=SimpleNamespace(warning=lambda event, **facts: self.warnings.append(event)),
            broker_epoch=5,
            fetch_limits=Limits(500, 1, 10_000, 10_000),
            fetch_timeout_ms=30_000,
            fetch_backoff_ms=BACKOFF_MS,
            throttle=SimpleNamespace(holds=lambda _: False),
            leader_answers=lambda leader_id: None,
        )
        self.asked: list[tuple[Any, Any]] = []
        self.fetcher = ReplicaFetcher(self.node, 2, lambda: self)
        for index in range(count):
            self.fetcher.follow(self._following(index))
        self.clock.run_soon()

    def _following(self, index: int) -> Partition:
        partition = open_partition(TopicPartition("t", index), clock=self.clock)
        partition.follow_metadata(PartitionState((1, 2), (1, 2), 2, 3, 3, (UUID(int=1),) * 2))
        return partition

    def call(self, api: Any, body: Any, then: Any, **named: Any) -> None:
        view = decode_fetch_request(VERSION, memoryview(body(VERSION)))
        self.asked.append((view, then))

    def named(self) -> list[int]:
        view, _ = self.asked[-1]
        return sorted(row[0] for _, _, rows in view.topics for row in rows)

    def forgotten(self) -> list[int]:
        view, _ = self.asked[-1]
        return sorted(index for _, _, indexes in view.forgotten for index in indexes)

    def answer(self, *rows: FetchedRow, session_id: int = 77) -> None:
        _, then = self.asked[-1]
        then(ReplicaAnswer(0, session_id, [(TOPIC_ID, list(rows))]))


def trouble(index: int, code: ErrorCode) -> FetchedRow:
    return FetchedRow(index, code, -1, -1, None, memoryview(b""))


def test_it_is_left_out_and_asked_for_again_while_the_other_goes_on() -> None:
    kit = Kit()
    assert kit.named() == [0, 1]
    kit.answer(trouble(0, ErrorCode.UNKNOWN_LEADER_EPOCH))
    assert (kit.named(), kit.forgotten()) == ([], [0])
    kit.answer()
    kit.clock.advance(30)
    assert kit.named() == []  # one fetch is under way at a time
    kit.answer()
    assert kit.named() == [0]


def test_it_rests_longer_each_time_and_is_told_of_once() -> None:
    kit = Kit()
    waits = []
    for _ in range(9):
        kit.answer(trouble(0, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        began = kit.clock.now()
        while 0 not in kit.named():
            kit.clock.advance(10)
            kit.answer()
        waits.append(kit.clock.now() - began)
    assert waits == sorted(waits)
    assert waits[0] <= 40
    assert BACKOFF_MS <= waits[-1] <= BACKOFF_MS + 20
    assert kit.warnings == ["partition not fetched"]
