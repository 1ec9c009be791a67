"""The power goes at any change of the disk; the log that comes back is checked.

A little machine appends, rolls, flushes, truncates, deletes and closes at random on a
SimDisk, notes what was promised, and cuts the power. Then, whatever the disk forgot:

- nothing that was flushed is lost (unless it was truncated or deleted since),
- nothing is invented: what is there is a prefix of what the log was at some moment,
- there is no hole, epochs and producers and indexes say what the batches say,
- recovering once more changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.seams import Callback
from kafkapy.log.append import Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.protocol.batches.batch import BatchHeader
from kafkapy.protocol.batches.control_records import build_marker
from kafkapy.sim.world.file import Interrupted
from kafkapy.sim.world.rng import SimRng
from tests.log.support import ORDERS, TOPIC_ID, Answers, Home, all_batches, batch, files

CONFIG = LogConfig(
    segment_bytes=2000, index_interval_bytes=150, retention_ms=-1, file_delete_delay_ms=1000
)
# Batches with their base offsets.
History = tuple[tuple[int, bytes], ...]


@dataclass
class Promises:
    """What outlives the process: the checkpoint files, and what was told to others."""

    recovery_point: int = 0
    log_start_offset: int = 0
    flushed_offset: int = 0
    deleted_below: int = 0
    # Every state the log was in: batches from its beginning on, deleted ones included.
    current: list[tuple[int, bytes]] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    # Where the log ends if it is empty.
    start_offset: int = 0

    def remember(self) -> None:
        self.histories.append(tuple(self.current))

    def end_offset(self) -> int:
        return _end(self.current[-1]) if self.current else self.start_offset

    def cut(self, end_offset: int) -> None:
        while self.current and _end(self.current[-1]) > end_offset:
            self.current.pop()


def _end(one: tuple[int, bytes]) -> int:
    return one[0] + int.from_bytes(one[1][23:27]) + 1


class Machine:
    def __init__(self, seed: int) -> None:
        self.home = Home(seed, holds_flushes=True)
        self.rng = SimRng(f"{seed}/machine")
        self.promises = Promises()
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.in_transaction: set[int] = set()
        self.changes_left = -1
        self.home.disk.on_write = self._count_change
        self.log = self._open(is_clean=False)

    def run(self, steps: int, changes: int) -> None:
        """Until the power goes after `changes` changes of the disk, or all is done."""
        self.changes_left = changes
        actions: list[tuple[int, Callback]] = [
            (30, self.append),
            (8, self.append_transactional),
            (5, self.end_transaction),
            (15, self.finish_some_flushes),
            (6, self.flush),
            (4, self.roll),
            (4, self.new_epoch),
            (4, self.truncate),
            (3, self.delete_records),
            (4, self.checkpoint),
            (2, self.restart),
            (3, self.pass_time),
        ]
        try:
            for _ in range(steps):
                self.rng.weighted(actions)()
        except Interrupted:
            pass
        self.changes_left = -1
        self.promises.remember()

    # -- what may happen

    def append(self) -> None:
        data = batch(1 + self.rng.below(3), size=self.rng.below(300), timestamp=self._now())
        self._append(data, Origin.CLIENT)

    def append_transactional(self) -> None:
        producer_id = 100 + self.rng.below(3)
        sequence = self.sequences.get(producer_id, 0)
        data = batch(
            2,
            timestamp=self._now(),
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        self._append(data, Origin.REPLICATION)
        self.sequences[producer_id] = sequence + 2
        self.in_transaction.add(producer_id)

    def end_transaction(self) -> None:
        if self.in_transaction:
            producer_id = self.rng.choice(sorted(self.in_transaction))
            marker = build_marker(
                is_commit=self.rng.chance(50),
                coordinator_epoch=0,
                producer_id=producer_id,
                producer_epoch=0,
                timestamp=self._now(),
            )
            self._append(memoryview(marker), Origin.COORDINATOR)
            self.in_transaction.discard(producer_id)

    def _append(self, data: memoryview, origin: Origin) -> None:
        stamped = bytearray(data)
        stamped[0:8] = self.log.log_end_offset.to_bytes(8)
        stamped[12:16] = self.epoch.to_bytes(4)
        self.promises.current.append((self.log.log_end_offset, bytes(stamped)))
        self.log.append_as_leader(data, leader_epoch=self.epoch, origin=origin)
        self._note_flushed()

    def finish_some_flushes(self) -> None:
        for _ in range(self.rng.below(4)):
            if self.home.waiting:
                self.home.waiting.pop(0)()
                self._note_flushed()

    def flush(self) -> None:
        self.log.flush(Answers())

    def roll(self) -> None:
        self.log.roll()

    def new_epoch(self) -> None:
        self.epoch += 1
        if self.rng.chance(50):
            self.log.assign_epoch(self.epoch, self.log.log_end_offset)

    def truncate(self) -> None:
        log = self.log
        first, end = log.segments.first.base_offset, log.log_end_offset
        target = max(first, end - self.rng.below(12))
        self.promises.remember()
        # From here on nothing above is promised any more, done or not.
        self.promises.flushed_offset = min(self.promises.flushed_offset, target)
        self.promises.flushed_offset = min(
            self.promises.flushed_offset, self._start_of_batch_with(target)
        )
        log.truncate_to(target)
        self.promises.cut(log.log_end_offset)
        self.epoch += 1
        self._forget_producers()

    def delete_records(self) -> None:
        log = self.log
        log.advance_high_watermark(log.log_end_offset)
        offset = log.log_start_offset + self.rng.below(
            max((log.high_watermark - log.log_start_offset) // 2, 1)
        )
        self.promises.deleted_below = max(self.promises.deleted_below, offset)
        log.advance_log_start_offset(offset)
        log.apply_retention(self.home.clock.now())

    def checkpoint(self) -> None:
        self.promises.recovery_point = self.log.recovery_point
        self.promises.log_start_offset = self.log.log_start_offset

    def restart(self) -> None:
        answers = Answers()
        self.log.close(answers)
        while self.home.waiting:
            self.home.waiting.pop(0)()
            self._note_flushed()
        assert answers.errors == [None]
        self.checkpoint()
        self.log = self._open(is_clean=True)
        self.checkpoint()  # before the directory stops being marked as clean
        assert self.log.log_end_offset == self.promises.end_offset()
        self.promises.flushed_offset = self.log.log_end_offset

    def pass_time(self) -> None:
        self.home.clock.advance(self.rng.below(2000))

    # -- around it

    def recover(self) -> PartitionLog:
        """The power comes back; all but the promises and the disk is gone."""
        self.home.disk.crash(self.rng)
        self.home.waiting.clear()
        self.home.clock.forget_all()
        self.log = self._open(is_clean=False)
        return self.log

    def go_on(self) -> None:
        """With the recovered log as the truth."""
        promises, log = self.promises, self.log
        survived = next(one for one in reversed(promises.histories) if _is_prefix(_datas(log), one))
        promises.current = list(survived)
        promises.cut(log.log_end_offset)
        if promises.end_offset() < log.log_end_offset:
            promises.current = []  # all was lost but where it had been deleted up to
        first = promises.current[0][0] if promises.current else log.log_end_offset
        promises.start_offset = first
        promises.histories = []
        self.checkpoint()
        promises.flushed_offset = promises.recovery_point
        self.epoch = max(self.epoch, log.latest_epoch) + 1
        self._forget_producers()

    def _open(self, *, is_clean: bool) -> PartitionLog:
        log = self.home.open(
            CONFIG,
            is_clean=is_clean,
            recovery_point=self.promises.recovery_point,
            log_start_offset=self.promises.log_start_offset,
            topic_id=TOPIC_ID,
        )
        log.events.on_recovery_point_lowered = self._lower_recovery_point
        return log

    def _lower_recovery_point(self) -> None:
        self.promises.recovery_point = self.log.recovery_point

    def _note_flushed(self) -> None:
        flushed = self.log.flushed_offset
        self.promises.flushed_offset = max(self.promises.flushed_offset, flushed)

    def _start_of_batch_with(self, offset: int) -> int:
        for one in self.promises.current:
            if _end(one) > offset:
                return one[0]
        return self.promises.end_offset()

    def _forget_producers(self) -> None:
        """Go on with what the log knows of them."""
        self.sequences = {}
        self.in_transaction = set()
        for entry in self.log.producers.active():
            self.sequences[entry.producer_id] = entry.last_sequence + 1
            if entry.transaction_first_offset is not None:
                self.in_transaction.add(entry.producer_id)

    def _now(self) -> int:
        return self.home.clock.now()

    def _count_change(self, kind: str, path: str, *_: object) -> None:
        self.changes_left -= 1
        if self.changes_left == 0:
            raise Interrupted(path)


def _datas(log: PartitionLog) -> list[tuple[int, bytes]]:
    return [(header.base_offset, data) for header, data in all_batches(log)]


def _is_prefix(found: list[tuple[int, bytes]], history: History) -> bool:
    """Whether `found` is what a log with `history` holds from some batch on, up to some."""
    held = dict(history)
    return all(held.get(offset) == data for offset, data in found)


def _check(machine: Machine) -> None:
    log, promises = machine.log, machine.promises
    found = _datas(log)
    assert log.log_start_offset <= max(promises.deleted_below, promises.log_start_offset)
    if promises.flushed_offset > promises.deleted_below:
        assert log.log_end_offset >= promises.flushed_offset
    assert any(_is_prefix(found, history) for history in promises.histories), "invented"
    for one in promises.histories[-1]:
        is_deleted = _end(one) <= max(log.log_start_offset, promises.deleted_below)
        if not is_deleted and _end(one) <= promises.flushed_offset:
            assert one in found, f"flushed and lost: {one[0]}"
    _check_gapless(log, found)
    _check_epochs(log, promises.deleted_below)
    _check_producers(log, promises.deleted_below)
    _check_indexes(log)


def _check_gapless(log: PartitionLog, found: list[tuple[int, bytes]]) -> None:
    if not found:
        assert log.log_start_offset == log.log_end_offset
        return
    assert found[0][0] <= log.log_start_offset
    for one, (following, _) in pairwise(found):
        assert _end(one) == following
    assert _end(found[-1]) == log.log_end_offset


def _check_epochs(log: PartitionLog, deleted_below: int) -> None:
    """What was deleted may be back; its epochs are not."""
    for header, _ in all_batches(log):
        if header.base_offset >= max(log.log_start_offset, deleted_below):
            assert log.epochs.epoch_at(header.base_offset) == header.leader_epoch
    assert all(start <= log.log_end_offset for _, start in log.epochs)


def _check_producers(log: PartitionLog, deleted_below: int) -> None:
    """Folding all batches that are left gives no other answer for whom they are of."""
    fold = ProducerStates(ORDERS)
    aborted = []
    for header, data in all_batches(log):
        completed = fold.update(header, data)
        if completed is not None and completed.is_aborted:
            aborted.append((completed.producer_id, completed.first_offset))
    for entry in fold.active():
        known = log.producers.get(entry.producer_id)
        assert known is not None
        if entry.batches:
            assert known.last_sequence == entry.last_sequence
            assert known.last_offset == entry.last_offset
    known_aborted = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    for producer_id, first_offset in aborted:
        # It may have begun before the log does now.
        is_known = any(one == producer_id and at <= first_offset for one, at in known_aborted)
        assert is_known or first_offset < deleted_below


def _check_indexes(log: PartitionLog) -> None:
    for segment in log.segments:
        headers: dict[int, BatchHeader] = dict(segment.headers())
        newest = max((one.max_timestamp for one in headers.values()), default=-1)
        assert segment.newest[0] == newest
        for index in range(len(segment.offsets)):
            offset, position = segment.offsets[index]
            assert headers[position].last_offset == offset


@settings(max_examples=150)
@given(st.integers(0, 2**40), st.integers(1, 400))
def test_after_a_cut_at_any_change_the_log_keeps_its_promises(seed: int, changes: int) -> None:
    machine = Machine(seed)
    for _ in range(3):
        machine.run(120, changes)
        machine.recover()
        _check(machine)
        _check_recovering_again_changes_nothing(machine)
        machine.go_on()


def _check_recovering_again_changes_nothing(machine: Machine) -> None:
    log, disk, path = machine.log, machine.home.disk, machine.home.path
    machine.home.finish_flushes()
    before, found = files(disk, path), _datas(log)
    log.abandon()
    again = machine._open(is_clean=False)
    machine.home.finish_flushes()
    assert _datas(again) == found
    assert again.log_end_offset == log.log_end_offset
    assert _changed(files(disk, path), before) == []
    machine.log = again


def _changed(now: dict[str, bytes], before: dict[str, bytes]) -> list[str]:
    """But for producer snapshots: bad ones go when they are tried."""
    names = {name for name in now | before if not name.endswith(".snapshot")}
    return sorted(name for name in names if now.get(name) != before.get(name))


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_gets_around(seed: int) -> None:
    """Else the test above proves nothing: many segments, truncations and deletions."""
    machine = Machine(seed)
    seen: dict[str, int] = {}
    counted: Callable[[str, str], None] = lambda kind, _: seen.update(  # noqa: E731
        {kind: seen.get(kind, 0) + 1}
    )
    machine.home.disk.on_write = lambda kind, path, *_: counted(kind, path)
    machine.run(600, -1)
    assert machine.log.log_end_offset > 100
    assert seen["truncate"] > 5
    assert seen["rename"] > 5
    assert seen["append"] > 200
