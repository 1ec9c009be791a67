"""Markers into partitions of this node: data partitions, and the groups' offsets."""

from collections.abc import Callable

import pytest

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.transactions.marker_writer import GroupShard, Marker, MarkerWriter
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import TransactionEnded
from kafkapy.log.append import Origin
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.batches.control_records import read_marker
from kafkapy.sim.world.disk import SimDisk
from tests.broker.partitions.in_memory import open_partition
from tests.coordinator.fakes import FakeClock

A0 = TopicPartition("a", 0)
OFFSETS = TopicPartition("__consumer_offsets", 3)
E = ErrorCode


class Shard:
    """A group coordinator's shard that answers with `refusal`."""

    def __init__(self) -> None:
        self.ended: list[TransactionEnded] = []
        self.refusal: Refused | None = None

    def complete_transaction(
        self, ended: TransactionEnded, then: Callable[[Refused | None], None]
    ) -> None:
        self.ended.append(ended)
        then(self.refusal)


class Writing:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.disk = SimDisk()
        self.partitions = {
            one: open_partition(one, clock=self.clock, disk=self.disk) for one in (A0, OFFSETS)
        }
        self.shard: Shard | None = Shard()
        self.failures: list[DiskFailed] = []
        self.writer = MarkerWriter(
            clock=self.clock,
            find_partition=lambda topic, index: self.partitions.get(TopicPartition(topic, index)),
            find_group_shard=self.find_shard,
            disk_failed=self.failures.append,
        )

    @property
    def a0(self) -> Partition:
        return self.partitions[A0]

    def find_shard(self, partition: int) -> GroupShard:
        if self.shard is None:
            raise Refused(E.COORDINATOR_LOAD_IN_PROGRESS)
        return self.shard

    def open_transaction(self, epoch: int = 5) -> None:
        guard = self.a0.log.producers.begin_verification(
            7, epoch, 0, supports_epoch_bump=True, now=self.clock.now()
        )
        batch = build_batch(
            [NewRecord(None, b"x", self.clock.now())],
            producer_id=7,
            producer_epoch=epoch,
            base_sequence=0,
            is_transactional=True,
        )
        self.a0.append(memoryview(batch), origin=Origin.CLIENT, guard=guard)

    def write(
        self,
        to: TopicPartition = A0,
        *,
        epoch: int = 6,
        coordinator_epoch: int = 2,
        committed: bool = True,
        version: int = 2,
    ) -> ErrorCode:
        errors: list[ErrorCode] = []
        self.writer.write(
            Marker(7, epoch, coordinator_epoch, committed, version), to, errors.append
        )
        (error,) = errors
        return error


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_ends_the_transaction_in_its_partition(committed: bool) -> None:
    one = Writing()
    one.open_transaction()
    assert one.a0.log.last_stable_offset == 0
    assert one.write(committed=committed) is E.NONE
    log = one.a0.log
    assert (log.last_stable_offset, log.log_end_offset) == (2, 2)
    assert log.aborted_transactions(0, 2) == ([] if committed else [(7, 0)])
    batch = b"".join(part.read() for part in log.read(1, 1000, upper=2).slices)
    marker = read_marker(batch)
    assert marker is not None
    assert (marker.is_commit, marker.coordinator_epoch) == (committed, 2)


def test_a_marker_written_twice_hurts_nobody() -> None:
    one = Writing()
    one.open_transaction()
    assert [one.write(), one.write()] == [E.NONE, E.NONE]
    assert one.a0.log.last_stable_offset == one.a0.log.log_end_offset == 3


def test_a_marker_needs_no_transaction() -> None:
    assert Writing().write() is E.NONE


@pytest.mark.parametrize(
    ("epoch", "version", "error"),
    [
        (4, 0, E.INVALID_PRODUCER_EPOCH),
        (5, 0, E.NONE),
        (5, 2, E.INVALID_PRODUCER_EPOCH),
        (6, 2, E.NONE),
    ],
)
def test_the_protocol_says_which_epochs_a_marker_may_have(
    epoch: int, version: int, error: ErrorCode
) -> None:
    one = Writing()
    one.open_transaction(epoch=5)
    assert one.write(epoch=epoch, version=version) is error


def test_an_older_coordinator_is_fenced() -> None:
    one = Writing()
    assert one.write(coordinator_epoch=5) is E.NONE
    assert one.write(coordinator_epoch=4) is E.TRANSACTION_COORDINATOR_FENCED


def test_a_partition_that_is_not_here_or_not_led_here() -> None:
    one = Writing()
    assert one.write(TopicPartition("b", 0)) is E.UNKNOWN_TOPIC_OR_PARTITION
    one.a0.go_offline()
    assert one.write() is E.KAFKA_STORAGE_ERROR


def test_a_failing_disk_is_reported_and_answered() -> None:
    one = Writing()
    one.disk.fail("append", in_path="/data/a-0")
    assert one.write() is E.KAFKA_STORAGE_ERROR
    assert len(one.failures) == 1


def test_offsets_are_completed_by_the_group_coordinator() -> None:
    one = Writing()
    shard = one.shard
    assert shard is not None
    assert one.write(OFFSETS, committed=False) is E.NONE
    assert shard.ended == [
        TransactionEnded(
            producer_id=7,
            producer_epoch=6,
            coordinator_epoch=2,
            is_committed=False,
            transaction_version=2,
        )
    ]
    assert one.partitions[OFFSETS].log.log_end_offset == 0


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (E.NOT_COORDINATOR, E.NOT_LEADER_OR_FOLLOWER),
        (E.COORDINATOR_NOT_AVAILABLE, E.NOT_LEADER_OR_FOLLOWER),
        (E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_coordinator_that_cannot_is_a_leader_that_is_elsewhere(
    refusal: ErrorCode, error: ErrorCode
) -> None:
    one = Writing()
    assert one.shard is not None
    one.shard.refusal = Refused(refusal)
    assert one.write(OFFSETS) is error
    one.shard = None
    assert one.write(OFFSETS) is E.NOT_LEADER_OR_FOLLOWER
