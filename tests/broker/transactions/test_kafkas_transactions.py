"""What Apache Kafka 4.3.1 left behind when it was killed is understood and finished."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.broker.transactions.coordinator import TransactionCoordinator
from kafkapy.broker.transactions.marker_sender import MarkerSender
from kafkapy.broker.transactions.marker_writer import GroupShard, MarkerWriter
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.batches.batch import batches
from kafkapy.txn.events import DescribeTransaction, TransactionDescribed
from tests.broker.partitions.in_memory import open_partition
from tests.broker.transactions.fakes import CountingIds, FakeNetwork
from tests.coordinator.fakes import FakeClock

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transactions"
DATA = TopicPartition("t", 0)
STATE = TopicPartition("__transaction_state", 0)
# A moment after the fixtures were written.
THEN = 1_795_014_480_000
OPEN_AT = 5


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def without_last_batch(data: bytes) -> bytes:
    *_, (position, _) = batches(data)
    return data[:position]


class Broker:
    """One partition, its coordinator, and markers between them."""

    def __init__(self, data: bytes, state: bytes) -> None:
        self.clock = FakeClock(THEN)
        segment = "00000000000000000000"
        self.data = open_partition(
            DATA,
            clock=self.clock,
            files={f"{segment}.log": data, f"{segment}.txnindex": fixture("data.txnindex")},
        )
        self.state = open_partition(STATE, clock=self.clock, files={f"{segment}.log": state})
        writer = MarkerWriter(
            clock=self.clock,
            find_partition=lambda topic, _: self.data if topic == "t" else None,
            find_group_shard=_no_groups,
            disk_failed=_raise,
        )
        self.coordinator = TransactionCoordinator(
            clock=self.clock,
            producer_ids=CountingIds(),
            markers=MarkerSender(
                node_id=1,
                clock=self.clock,
                other_nodes=FakeNetwork(),
                writer=writer,
                leader_of=lambda _: 1,
            ),
            server_version=lambda: 2,
        )
        self.coordinator.shards.partition_count = 1
        self.coordinator.shards.lead(0, 1, PartitionShardLog(self.state))
        self.clock.run_soon()

    def state_of(self, transactional_id: str) -> str:
        replies: list[object] = []
        self.coordinator.submit(DescribeTransaction(transactional_id), replies.append)
        (reply,) = replies
        assert isinstance(reply, TransactionDescribed)
        return reply.label

    def aborted(self) -> list[tuple[int, int]]:
        return self.data.log.aborted_transactions(0, self.data.log.log_end_offset)


def _no_groups(partition: int) -> GroupShard:
    raise Refused(ErrorCode.NOT_COORDINATOR)


def _raise(failed: Exception) -> None:
    raise failed


@pytest.fixture
def broker() -> Broker:
    return Broker(fixture("data.log"), fixture("transaction_state.log"))


def test_open_committed_and_aborted_transactions_are_known(broker: Broker) -> None:
    assert broker.data.log.last_stable_offset == OPEN_AT
    assert broker.data.log.high_watermark == broker.data.log.log_end_offset == 15
    assert broker.aborted() == [(0, 3), (0, 6)]
    assert {one: broker.state_of(one) for one in ("v1", "v2", "left-open", "nobody")} == {
        "v1": "CompleteCommit",
        "v2": "CompleteCommit",
        "left-open": "Ongoing",
        "nobody": "",
    }


def test_the_transaction_that_was_left_open_times_out(broker: Broker) -> None:
    broker.coordinator.start()
    broker.clock.advance(920_000)
    assert broker.state_of("left-open") == "CompleteAbort"
    assert broker.aborted() == [(0, 3), (0, 6), (1, OPEN_AT)]
    assert broker.data.log.last_stable_offset == broker.data.log.log_end_offset == 16


@pytest.mark.parametrize("cut", [lambda data: data, without_last_batch], ids=["sent", "not sent"])
def test_a_transaction_killed_between_prepare_and_complete_is_completed(
    cut: Callable[[bytes], bytes],
) -> None:
    """Its marker may have been written or not: it is written again."""
    broker = Broker(cut(fixture("data.log")), without_last_batch(fixture("transaction_state.log")))
    assert broker.state_of("v2") == "CompleteCommit"
    entry = broker.data.log.producers.get(2)
    assert entry is not None
    assert (entry.producer_epoch, entry.coordinator_epoch) == (2, 1)
    assert entry.transaction_first_offset is None
    assert broker.data.log.last_stable_offset == OPEN_AT
