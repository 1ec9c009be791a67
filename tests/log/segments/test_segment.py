"""One segment: a file of batches and its indexes."""

from itertools import islice

import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.time import Instant
from kafkapy.log.names import LOG, OFFSET_INDEX, TIME_INDEX
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.transaction_index import AbortedTransaction
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from kafkapy.sim.world.disk import SimDisk
from tests.log.support import Answers

INTERVAL = 200
BASE = 100


@pytest.fixture
def disk() -> SimDisk:
    disk = SimDisk()
    disk.make_directory("/d")
    return disk


def _create(disk: SimDisk) -> Segment:
    return Segment.create(disk, "/d", BASE, Instant(1))


def _open(disk: SimDisk, segment: Segment) -> Segment:
    return Segment(
        disk,
        "/d",
        BASE,
        size=disk.size(segment.path(LOG)),
        created=Instant(2),
        has_transaction_index=disk.exists("/d/00000000000000000100.txnindex"),
    )


def _append(segment: Segment, offset: int, count: int = 1, *, timestamp: int = 1000) -> bytes:
    new = [NewRecord(value=bytes(50), timestamp=timestamp + i) for i in range(count)]
    data = build_batch(new, base_offset=offset)
    segment.append([data], [read_header(data)], INTERVAL)
    return data


def _fill(segment: Segment, batches: int = 20) -> list[bytes]:
    return [_append(segment, BASE + 2 * i, 2, timestamp=1000 + 10 * i) for i in range(batches)]


def test_a_new_segment_has_its_three_files(disk: SimDisk) -> None:
    _create(disk)
    assert disk.list("/d") == [f"{BASE:020d}{suffix}" for suffix in (OFFSET_INDEX, LOG, TIME_INDEX)]


def test_leftovers_of_its_name_are_overwritten(disk: SimDisk) -> None:
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        disk.write_file(f"/d/{BASE:020d}{suffix}", b"leftover")
    segment = _create(disk)
    assert segment.file.size == disk.size(segment.path(OFFSET_INDEX)) == 0
    assert segment.aborted == []
    assert not disk.exists(segment.path(".txnindex"))


def test_every_offset_is_found_in_its_batch(disk: SimDisk) -> None:
    segment = _create(disk)
    written = _fill(segment)
    position = 0
    for i, data in enumerate(written):
        for offset in (BASE + 2 * i, BASE + 2 * i + 1):
            assert segment.locate(offset) == (position, BASE + 2 * i)
        assert segment.batch_size(position) == len(data)
        position += len(data)
    assert segment.size == position
    assert segment.locate(BASE + 40) is None
    assert segment.locate(0) == (0, BASE)


def test_an_entry_is_made_once_the_interval_is_exceeded(disk: SimDisk) -> None:
    segment = _create(disk)
    size = len(_append(segment, BASE))
    for i in range(1, 9):
        _append(segment, BASE + i)
    each = INTERVAL // size + 1
    assert [segment.offsets[i] for i in range(len(segment.offsets))] == [
        (BASE + at, at * size) for at in range(each, 9, each)
    ]


def test_the_newest_timestamp_is_that_of_the_first_batch_that_has_it(disk: SimDisk) -> None:
    segment = _create(disk)
    for offset, timestamp in ((100, 50), (101, 70), (102, 60), (103, 70)):
        _append(segment, offset, timestamp=timestamp)
    assert segment.newest == (70, 101)
    assert segment.first_timestamp == 50
    assert segment.largest_timestamp == 70


def test_a_sealed_segment_says_the_same_when_opened_again(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    entries = [segment.offsets[i] for i in range(len(segment.offsets))]
    segment.seal()
    segment.close()
    again = _open(disk, segment)
    assert again.newest == segment.newest
    assert [again.offsets[i] for i in range(len(again.offsets))] == entries
    assert again.times.last == segment.newest
    assert again.locate(BASE + 17) == segment.locate(BASE + 17)
    assert again.read_next_offset() == BASE + 40


def test_the_last_time_entry_alone_is_read_for_the_age(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    segment.seal()
    segment.close()
    again = _open(disk, segment)
    disk.fail("read", in_path=OFFSET_INDEX + "x")
    assert again.largest_timestamp == 1000 + 10 * 19 + 1


def test_an_empty_segment_is_as_old_as_its_file(disk: SimDisk) -> None:
    segment = _create(disk)
    segment.seal()
    disk.set_modified_ms(segment.path(LOG), Instant(777))
    assert segment.newest == (-1, BASE)
    assert segment.largest_timestamp == 777
    assert segment.read_next_offset() == BASE


@pytest.mark.parametrize("damage", [b"", bytes(7), bytes(8 * 1000)])
def test_index_files_that_cannot_be_right_are_made_anew(disk: SimDisk, damage: bytes) -> None:
    """Missing, odd, or not trimmed as Kafka leaves them when it is killed."""
    segment = _create(disk)
    _fill(segment)
    segment.seal()
    segment.close()
    path = segment.path(OFFSET_INDEX)
    disk.remove(path)
    if damage:
        disk.write_file(path, damage)
    again = _open(disk, segment)
    assert again.locate(BASE + 33) == segment.locate(BASE + 33)
    assert again.newest == segment.newest


def test_idle_indexes_are_saved_and_dropped_and_come_back(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    segment.drop_idle_indexes()
    assert disk.size(segment.path(OFFSET_INDEX)) == 0  # used since it was created
    segment.drop_idle_indexes()
    assert disk.size(segment.path(OFFSET_INDEX)) > 0
    assert segment.locate(BASE + 33) is not None
    _append(segment, BASE + 40, timestamp=5000)
    assert segment.newest == (5000, BASE + 40)
    segment.seal()
    segment.close()
    assert _open(disk, segment).newest == (5000, BASE + 40)


def test_a_cut_takes_indexes_and_aborted_transactions_along(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    for marker in (105, 121, 130):
        segment.add_aborted(AbortedTransaction(1, marker - 3, marker, marker + 1))
    position, offset = segment.locate(BASE + 20) or (-1, -1)
    segment.cut(position, offset)
    assert segment.size == position
    assert segment.locate(BASE + 20) is None
    assert [one.last_offset for one in segment.aborted] == [105]
    assert segment.newest == (1000 + 10 * 9 + 1, BASE + 19)
    _append(segment, BASE + 20)
    segment.seal()
    segment.close()
    again = _open(disk, segment)
    assert again.read_next_offset() == BASE + 21
    assert [one.last_offset for one in again.aborted] == [105]


def test_an_index_is_full_before_it_would_overflow(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    entries = len(segment.offsets)
    assert segment.entries_left(12 * (entries + 3)) == 2
    assert segment.entries_left(12 * (entries + 1)) == 0
    assert segment.entries_left(8 * entries) == 0


def test_walking_reads_batches_larger_than_a_chunk(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkapy.log.segments.segment._WALK_BYTES", 300)
    segment = _create(disk)
    sizes = [1, 1, 40, 1, 30]
    written, offset = [], BASE
    for count in sizes:
        written.append(_append(segment, offset, count))
        offset += count
    assert [bytes(data) for _, _, data in segment.walk()] == written
    assert [header.size for _, header in segment.headers()] == [len(data) for data in written]


def test_walking_ends_before_a_batch_that_is_cut_off(disk: SimDisk) -> None:
    segment = _create(disk)
    whole = _append(segment, BASE)
    torn = _append(segment, BASE + 1, 5)
    for left in (1, 20, 61, 100, len(torn) - 1):
        segment.size = len(whole) + left
        assert [bytes(data) for _, _, data in segment.walk()] == [whole]


def test_bytes_that_are_no_batch_are_corrupt(disk: SimDisk) -> None:
    segment = _create(disk)
    _append(segment, BASE)
    segment.file.append([bytes(100)])
    segment.size += 100
    with pytest.raises(Corrupt):
        segment.locate(BASE + 5)


def test_renamed_and_removed_it_takes_all_files_along(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    segment.add_aborted(AbortedTransaction(1, 100, 101, 102))
    segment.rename(".deleted")
    assert all(name.endswith(".deleted") for name in disk.list("/d"))
    assert len(disk.list("/d")) == 4
    kept = segment.slice(0, 100)
    segment.remove()
    assert disk.list("/d") == []
    assert len(kept.read()) == 100


def test_files_that_somebody_removed_are_a_disk_that_fails(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    segment.seal()
    index = segment.path(TIME_INDEX)
    disk.remove(index)
    answers = Answers()
    segment.flush_sealed(answers)
    assert [error and error.path for error in answers.errors] == [index]
    disk.remove(segment.path(LOG))
    with pytest.raises(DiskFailed, match="removed"):
        segment.rename(".deleted")


def test_a_file_that_was_cut_behind_its_back_is_corrupt_and_read_no_further(
    disk: SimDisk,
) -> None:
    """Not read for ever, at the end of it."""
    segment = _create(disk)
    written = _fill(segment)
    segment.size += 100
    headers = segment.headers()
    assert [header.size for _, header in islice(headers, len(written))] == list(map(len, written))
    with pytest.raises(Corrupt, match="ends at"):
        next(headers)


def test_an_append_that_fails_leaves_it_as_it_was(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    size, entries, newest = segment.size, len(segment.offsets), segment.newest
    disk.fail("append", in_path=LOG)
    with pytest.raises(DiskFailed):
        _append(segment, BASE + 40, timestamp=9999)
    assert (segment.size, len(segment.offsets), segment.newest) == (size, entries, newest)


def test_flushed_when_sealed_all_its_files_survive(disk: SimDisk) -> None:
    segment = _create(disk)
    _fill(segment)
    segment.add_aborted(AbortedTransaction(1, 100, 101, 102))
    segment.seal()
    answers = Answers()
    segment.flush_sealed(answers)
    assert answers.errors == [None]
    assert disk.flushes == 4


def test_an_index_that_is_not_what_was_written_is_a_failed_disk(disk: SimDisk) -> None:
    """In a turn an append may be lost without a word until its end; what is done with the segment
    in the rest of it is no bug."""
    segment = _create(disk)
    _fill(segment)
    disk.turn.failed = lambda failure: None
    disk.turn.begin()
    disk.fail("append", in_path=TIME_INDEX)
    segment.save_indexes()
    _append(segment, BASE + 40, timestamp=5000)
    with pytest.raises(DiskFailed, match=TIME_INDEX):
        segment.seal()
    disk.turn.end()
