"""Committed batches become the image, whether they come from memory or from the log."""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.jobs import SLICE_US
from kafkapy.core.time import Instant
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.replay import RECORD_COST_US, Appended, Replay
from kafkapy.kraft.records.metadata import BeginTransactionRecord, NoOpRecord, TopicRecord
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.world.rng import SimRng
from tests.kraft.support import HOME, World

SLICE_OF_RECORDS = SLICE_US // RECORD_COST_US


class Kit:
    def __init__(self) -> None:
        self.world = World()
        self.log = MetadataLog.open(self.world.disk, self.world.clock, self.world.rng, HOME)
        self.applied: list[int] = []
        self.told: list[list[str]] = []
        self.failures: list[DiskFailed] = []
        self.replay = Replay(
            self.log,
            self.world.clock,
            lambda end, size: self.applied.append(end),
            self.failures.append,
        )
        self.replay.subscribe(self._changed)

    def _changed(self, image: MetadataImage, delta: Delta) -> None:
        self.told.append([topic.name for topic in delta.topics_created.values()])

    def append(self, name: str, *, in_memory: bool = False) -> None:
        record = TopicRecord(name=name, topic_id=new_uuid(SimRng(name)))
        base = self.log.end_offset
        size = self.log.append([record], epoch=1, metadata_version=30, now=Instant(7))
        if in_memory:
            self.replay.appended(Appended(base, base + 1, 1, 7, size, (record,)))

    def append_many(self, count: int) -> None:
        """One batch."""
        self.log.append([NoOpRecord()] * count, epoch=1, metadata_version=30, now=Instant(7))


def test_nothing_is_applied_before_it_is_committed() -> None:
    kit = Kit()
    for name in ("a", "b", "c"):
        kit.append(name)
    kit.replay.advance(2)
    assert list(kit.replay.image.topics_by_name) == ["a", "b"]
    assert (kit.replay.image.offset, kit.replay.image.epoch, kit.replay.image.timestamp) == (
        1,
        1,
        7,
    )
    kit.replay.advance(1)
    assert kit.replay.next_offset == 2


def test_what_is_there_at_first_is_told_at_once_the_rest_batch_by_batch() -> None:
    kit = Kit()
    for name in ("a", "b", "c", "d"):
        kit.append(name)
    kit.replay.advance(2)
    kit.replay.advance(4)
    assert kit.told == [["a", "b"], ["c"], ["d"]]
    assert kit.applied == [1, 2, 2, 3, 4]


def test_memory_and_log_take_turns() -> None:
    kit = Kit()
    for number in range(9):
        kit.append(f"t{number}", in_memory=number % 3 != 1)
    for end in (2, 3, 7, 9):
        kit.replay.advance(end)
    assert list(kit.replay.image.topics_by_name) == [f"t{number}" for number in range(9)]


def test_what_is_forgotten_is_read_from_the_log() -> None:
    kit = Kit()
    kit.append("mine", in_memory=True)
    kit.replay.forget_appended()
    kit.log.truncate_to(0)
    kit.append("theirs")
    kit.replay.advance(1)
    assert list(kit.replay.image.topics_by_name) == ["theirs"]


def test_a_snapshot_in_between_is_told_as_a_difference() -> None:
    kit = Kit()
    kit.append("a")
    kit.replay.advance(1)
    other, delta = MetadataImage(), Delta()
    other.apply(TopicRecord(name="b", topic_id=new_uuid(SimRng("b"))), delta)
    image = kit.replay.image
    kit.replay.start_at(other, 1, delta)
    assert image is kit.replay.image
    assert list(image.topics_by_name) == ["b"]
    assert kit.told[-1] == ["b"]
    kit.append("c")
    kit.replay.advance(2)
    assert kit.told[-1] == ["c"]


def test_what_a_transaction_had_done_is_told_when_a_snapshot_ends_it() -> None:
    kit = Kit()
    kit.append("a")
    kit.replay.advance(1)
    kit.log.append([BeginTransactionRecord(name="x")], epoch=1, metadata_version=30, now=Instant(7))
    kit.append("b")
    kit.replay.advance(3)
    assert kit.told == [["a"]]
    other, everything = MetadataImage(), Delta()
    for name in ("a", "b", "c"):
        other.apply(TopicRecord(name=name, topic_id=new_uuid(SimRng(name))), everything)
    kit.replay.start_at(other, 9, everything)
    assert [sorted(one) for one in kit.told] == [["a"], ["b", "c"]]


def test_a_snapshot_before_anything_was_told_is_told_whole() -> None:
    """What the node had before it, it has told nobody."""
    kit = Kit()
    image, first = MetadataImage(), Delta()
    image.apply(TopicRecord(name="a", topic_id=new_uuid(SimRng("a"))), first)
    kit.replay.start_at(image, 1, first)
    other, everything = MetadataImage(), Delta()
    for name in ("a", "b"):
        other.apply(TopicRecord(name=name, topic_id=new_uuid(SimRng(name))), everything)
    kit.replay.start_at(other, 2, everything)
    assert kit.told == []
    kit.replay.advance(2)
    assert kit.told == [["a", "b"]]


def test_a_stopped_replay_applies_nothing_more() -> None:
    kit = Kit()
    for _ in range(3):
        kit.append_many(SLICE_OF_RECORDS)
    kit.replay.advance(3 * SLICE_OF_RECORDS)
    assert kit.replay.next_offset == SLICE_OF_RECORDS
    kit.replay.stop()
    kit.world.clock.settle()
    assert kit.replay.next_offset == SLICE_OF_RECORDS


def test_a_log_that_cannot_be_read_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit()
    kit.append("a")
    kit.replay.advance(1)
    kit.append("b")

    def fails(*_: object) -> bytes:
        raise DiskFailed("log", "I/O error")

    monkeypatch.setattr(kit.log, "read", fails)
    kit.replay.advance(2)
    assert len(kit.failures) == 1
    assert kit.replay.next_offset == 1


def test_a_large_batch_is_read_in_slices_and_applied_at_once() -> None:
    kit = Kit()
    kit.append_many(600)
    kit.replay.advance(600)
    before = kit.world.clock.calls
    while kit.replay.next_offset == 0:
        assert kit.replay.image.offset == -1
        assert kit.world.clock.step(kit.world.clock.now())
    assert kit.world.clock.calls - before >= 600 // SLICE_OF_RECORDS // 2
    assert (kit.replay.next_offset, kit.replay.image.offset) == (600, 599)


def test_a_snapshot_overtakes_a_batch_that_is_being_read() -> None:
    kit = Kit()
    kit.append_many(600)
    kit.append("late")
    kit.replay.advance(600)
    other = MetadataImage()
    other.apply(TopicRecord(name="b", topic_id=new_uuid(SimRng("b"))))
    other.offset = 599
    kit.replay.start_at(other, 600, Delta())
    kit.replay.advance(601)
    kit.world.clock.settle()
    assert list(kit.replay.image.topics_by_name) == ["b", "late"]
    assert kit.replay.next_offset == 601
