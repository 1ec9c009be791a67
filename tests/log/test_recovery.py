"""Opening a partition directory: what was half done, what can be believed, what is checked."""

from zlib import crc32

import pytest

from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.segments.segment import Segment
from kafkapy.protocol.batches.batch import NewRecord, build_batch, pack_batch, read_header
from kafkapy.protocol.batches.control_records import build_marker
from kafkapy.protocol.batches.records import encode
from tests.log.support import TOPIC_ID, Home, append, batch, files, offsets

CONFIG = LogConfig(
    segment_bytes=len(batch(1, size=200)) * 3, index_interval_bytes=100, retention_ms=-1
)


@pytest.fixture
def home() -> Home:
    return Home()


def _killed(home: Home, records: int = 10) -> PartitionLog:
    """Three records to a segment; then the process dies, with all of it in the files."""
    log = home.open(CONFIG)
    for i in range(records):
        append(log, size=200, timestamp=1000 + i)
    log.abandon()
    return log


def _file(home: Home, base_offset: int, suffix: str = ".log") -> str:
    return f"{home.path}/{base_offset:020d}{suffix}"


def _damage(home: Home, base_offset: int, position: int) -> None:
    path = _file(home, base_offset)
    data = bytearray(home.disk.read_file(path))
    data[position] ^= 0xFF
    home.disk.write_file(path, bytes(data))


def test_a_new_directory_begins_at_the_log_start(home: Home) -> None:
    log = home.open(log_start_offset=42)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (42, 42, 42)
    assert home.disk.exists(_file(home, 42))


def test_after_a_kill_everything_is_there(home: Home) -> None:
    _killed(home)
    log = home.open(CONFIG)
    assert offsets(log) == list(range(10))
    assert log.recovered.checked_segments == 4
    assert not log.recovered.is_notable


def test_what_is_below_the_recovery_point_is_believed(home: Home) -> None:
    _killed(home)
    _damage(home, 0, 100)
    log = home.open(CONFIG, recovery_point=4)
    assert log.log_end_offset == 10
    assert log.recovered.checked_segments == 3


def test_a_bad_batch_ends_the_log(home: Home) -> None:
    killed = _killed(home)
    size = killed.segments.first.batch_size(0)
    killed.abandon()
    _damage(home, 3, size + 100)
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1, 2, 3]
    assert log.recovered.truncated_bytes == 2 * size
    assert log.recovered.removed_segments == 2
    assert log.recovered.is_notable
    assert sorted(name for name in home.disk.list(home.path) if name.endswith(".log")) == [
        f"{base:020d}.log" for base in (0, 3)
    ]
    assert append(log) == 4


@pytest.mark.parametrize("tail", [b"\0", bytes(100), bytes(5000), b"\xff" * 80, b"x" * 13])
def test_what_a_crash_left_behind_the_last_batch_is_cut_off(home: Home, tail: bytes) -> None:
    _killed(home, 2)
    file = home.disk.open(_file(home, 0))
    size = file.size
    file.append([tail])
    file.close()
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1]
    assert home.disk.size(_file(home, 0)) == size
    assert log.recovered.truncated_bytes == len(tail)


def test_messages_of_long_ago_are_not_cut_off_but_refused(home: Home) -> None:
    """Magic 1: not ours to read, and not ours to destroy."""
    body = b"\x01\x00" + bytes(8) + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x05hello"
    message = crc32(body).to_bytes(4) + body
    old = (0).to_bytes(8) + len(message).to_bytes(4) + message
    home.disk.make_directory(home.path)
    home.disk.write_file(_file(home, 0), old + bytes(61))
    with pytest.raises(DiskFailed, match="message format 1 is not supported"):
        home.open(CONFIG)
    assert home.disk.read_file(_file(home, 0)) == old + bytes(61)


def test_offsets_that_go_back_end_the_log(home: Home) -> None:
    log = home.open(CONFIG)
    append(log)
    append(log)
    log.abandon()
    file = home.disk.open(_file(home, 0))
    file.append([batch(1, base_offset=1)])
    file.close()
    assert offsets(home.open(CONFIG)) == [0, 1]


def test_a_segment_behind_a_hole_is_the_end_of_another_story(home: Home) -> None:
    """The tail of the segment before was lost, exactly between two batches."""
    killed = _killed(home, 5)
    size = killed.segments.first.batch_size(0)
    killed.abandon()
    file = home.disk.open(_file(home, 0))
    file.truncate(2 * size)
    file.close()
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1]
    assert log.recovered.removed_segments == 1


def test_holes_below_the_recovery_point_are_believed(home: Home) -> None:
    """The topic was compacted once, and is not any more."""
    _killed(home)
    for suffix in (".log", ".index", ".timeindex", ".snapshot"):
        home.disk.remove(_file(home, 3, suffix))
    log = home.open(CONFIG, recovery_point=6)
    assert log.log_end_offset == 10
    assert offsets(log) == [0, 1, 2, 6, 7, 8, 9]


def test_in_a_compacted_log_holes_are_normal(home: Home) -> None:
    config = LogConfig(segment_bytes=1000, cleanup_policy=frozenset({"compact"}))
    log = home.open(config)
    log.append_as_follower(batch(2, base_offset=0))
    log.roll()
    log.append_as_follower(batch(2, base_offset=10))
    log.roll()
    log.append_as_follower(batch(2, base_offset=30))
    log.abandon()
    again = home.open(config)
    assert offsets(again) == [0, 1, 10, 11, 30, 31]


def _segments_of_a_copy(home: Home, base_offsets: list[list[int]]) -> None:
    """As Kafka's followers name them: by the first batch."""
    for bases in base_offsets:
        log = home.open(CONFIG, log_start_offset=bases[0])
        for base_offset in bases:
            log.append_as_follower(batch(2, base_offset=base_offset))
        log.abandon()
        path = home.path
        home.disk.rename(path, f"{path}-{bases[0]}")
    home.disk.make_directory(home.path)
    for bases in base_offsets:
        for suffix in (".log", ".index", ".timeindex"):
            name = f"{bases[0]:020d}{suffix}"
            home.disk.rename(f"{home.path}-{bases[0]}/{name}", f"{home.path}/{name}")


def test_gaps_inside_of_segments_say_that_those_between_them_are_a_cleaners(home: Home) -> None:
    """A follower copied a compacted log, whose topic is not compacted any more."""
    _segments_of_a_copy(home, [[0, 2], [8, 14], [20, 22]])
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1, 2, 3, 8, 9, 14, 15, 20, 21, 22, 23]
    assert (log.recovered.removed_segments, log.recovered.hole_at) == (0, 4)


def test_batches_that_lack_records_say_so_too(home: Home) -> None:
    _segments_of_a_copy(home, [[0, 2], [8, 10]])
    compacted = pack_batch(
        encode([NewRecord(b"k", b"v", 1000)], 1000),
        base_offset=12,
        leader_epoch=0,
        attributes=0,
        last_offset_delta=3,
        base_timestamp=1000,
        max_timestamp=1000,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=1,
    )
    file = home.disk.open(_file(home, 8))
    file.append([compacted])
    file.close()
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1, 2, 3, 8, 9, 10, 11, 12]
    assert log.log_end_offset == 16


def test_without_such_a_sign_a_gap_is_a_lost_end(home: Home) -> None:
    _segments_of_a_copy(home, [[0, 2], [8, 10]])
    log = home.open(CONFIG)
    assert offsets(log) == [0, 1, 2, 3]
    assert log.recovered.removed_segments == 1


def test_what_a_follower_copied_with_gaps_survives_a_kill(home: Home) -> None:
    """One batch to a segment: no gap is inside of one but before its first batch."""
    config = LogConfig(segment_bytes=len(batch(2)) * 3 // 2, retention_ms=-1)
    log = home.open(config)
    for base_offset in (0, 10, 30, 3 << 31):
        log.append_as_follower(batch(2, base_offset=base_offset))
    bases = [segment.base_offset for segment in log.segments]
    assert bases == [0, 2, 12, 3 << 31]  # what does not fit behind 32 is named by itself
    log.abandon()
    again = home.open(config)
    assert offsets(again) == [0, 1, 10, 11, 30, 31, 3 << 31, (3 << 31) + 1]


def test_batches_too_far_apart_for_one_segment_may_come_in_one_fetch(home: Home) -> None:
    far = [0, 3 << 30, 6 << 30]
    log = home.open(CONFIG)
    fetched = b"".join(batch(1, base_offset=base_offset) for base_offset in far)
    info = log.append_as_follower(memoryview(fetched))
    assert (info.first_offset, info.last_offset) == (0, far[-1])
    assert offsets(home.restart(log)) == far


def test_missing_indexes_are_made_anew(home: Home) -> None:
    log = home.open(CONFIG)
    for i in range(10):
        append(log, size=200, timestamp=1000 + i)
    log.abandon()
    expected = files(home.disk, home.path)
    for suffix in (".index", ".timeindex"):
        home.disk.remove(_file(home, 0, suffix))
    log = home.open(CONFIG, recovery_point=9)
    assert log.recovered.rebuilt_indexes == 1
    for suffix in (".index", ".timeindex"):
        name = f"{0:020d}{suffix}"
        assert files(home.disk, home.path)[name] == expected[name]


def test_indexes_without_a_log_are_removed(home: Home) -> None:
    _killed(home, 2)
    home.disk.write_file(_file(home, 77, ".index"), b"")
    home.open(CONFIG)
    assert not home.disk.exists(_file(home, 77, ".index"))


def test_what_was_to_be_deleted_is_deleted(home: Home) -> None:
    _killed(home, 2)
    for name in ("00000000000000000000.log.deleted", "00000000000000000003.snapshot.tmp"):
        home.disk.write_file(f"{home.path}/{name}", b"x")
    kept = "00000000000000000003-0000000001.checkpoint.deleted"
    home.disk.write_file(f"{home.path}/{kept}", b"x")
    home.open(CONFIG)
    names = home.disk.list(home.path)
    assert not [name for name in names if name.endswith((".deleted", ".tmp")) and name != kept]
    assert kept in names


# -- cleanings that were under way


def _cleaned(home: Home, state: str) -> None:
    """Segments 0 and 3 cleaned into one with the offsets 1 and 4."""
    segment = Segment.create(home.disk, home.path, 0, home.clock.now(), state=state)
    for offset in (1, 4, 5):
        data = build_batch([NewRecord(value=b"kept", timestamp=1000)], base_offset=offset)
        segment.append([data], [read_header(data)], 100)
    segment.seal()
    segment.close()


def test_a_cleaning_that_was_not_done_leaves_no_trace(home: Home) -> None:
    _killed(home)
    _cleaned(home, ".cleaned")
    assert offsets(home.open(CONFIG)) == list(range(10))
    assert not [name for name in home.disk.list(home.path) if "cleaned" in name]


def test_a_cleaning_that_was_done_takes_its_place(home: Home) -> None:
    _killed(home)
    _cleaned(home, ".swap")
    log = home.open(CONFIG, recovery_point=9)
    assert offsets(log) == [1, 4, 5, 6, 7, 8, 9]
    assert not [name for name in home.disk.list(home.path) if "swap" in name]


def test_a_swap_at_or_behind_an_unfinished_cleaning_is_void(home: Home) -> None:
    _killed(home)
    _cleaned(home, ".swap")
    home.disk.write_file(_file(home, 0, ".log.cleaned"), b"")
    assert offsets(home.open(CONFIG)) == list(range(10))


def test_a_swap_whose_log_is_in_place_already_is_finished(home: Home) -> None:
    _killed(home)
    _cleaned(home, ".swap")
    home.disk.rename(_file(home, 0, ".log.swap"), _file(home, 0))
    for suffix in (".log", ".index", ".timeindex"):
        home.disk.rename(_file(home, 3, suffix), _file(home, 3, f"{suffix}.deleted"))
    assert offsets(home.open(CONFIG, recovery_point=9)) == [1, 4, 5, 6, 7, 8, 9]


# -- log start, epochs, producers, topic id


def test_a_log_that_ends_before_its_start_starts_over(home: Home) -> None:
    _killed(home)
    log = home.open(CONFIG, log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert [segment.base_offset for segment in log.segments] == [50]
    assert log.latest_epoch == -1


def test_epochs_are_what_the_batches_say(home: Home) -> None:
    log = home.open(CONFIG)
    for epoch in (0, 2, 2, 7):
        append(log, leader_epoch=epoch)
    log.abandon()
    home.disk.write_file(f"{home.path}/leader-epoch-checkpoint", b"0\n2\n0 0\n9 2\n")
    assert list(home.open(CONFIG).epochs) == [(0, 0), (2, 1), (7, 3)]


def test_producers_are_replayed_with_their_transactions(home: Home) -> None:
    log = home.open(CONFIG)
    ids = {"producer_id": 5, "producer_epoch": 1}
    log.append_as_follower(batch(2, base_offset=0, base_sequence=0, is_transactional=True, **ids))
    marker = build_marker(
        is_commit=False, coordinator_epoch=3, timestamp=1000, base_offset=2, **ids
    )
    log.append_as_follower(memoryview(marker))
    log.append_as_follower(batch(1, base_offset=3, base_sequence=2, is_transactional=True, **ids))
    log.abandon()
    home.disk.remove(_file(home, 0, ".txnindex"))
    again = home.open(CONFIG)
    entry = again.producers.get(5)
    assert entry is not None
    assert (entry.last_sequence, entry.transaction_first_offset) == (2, 3)
    assert again.aborted_transactions(0, 10) == [(5, 0)]
    again.advance_high_watermark(4)
    assert again.last_stable_offset == 3


def _aborted_across_segments(home: Home) -> PartitionLog:
    """Two transactions, of which one is aborted in a later segment than the one it began in."""
    log = home.open(CONFIG)
    for pid, first in ((5, 0), (6, 1)):
        ids = {"producer_id": pid, "producer_epoch": 1, "base_sequence": 0}
        records = batch(1, size=200, base_offset=first, is_transactional=True, **ids)
        log.append_as_follower(records)
    for number in range(2, 8):
        log.append_as_follower(batch(1, size=200, base_offset=number))
    for pid, at in ((6, 8), (5, 9)):
        marker = build_marker(
            producer_id=pid,
            producer_epoch=1,
            is_commit=pid == 6,
            coordinator_epoch=3,
            timestamp=1000,
            base_offset=at,
        )
        log.append_as_follower(memoryview(marker))
    for number in range(10, 16):
        log.append_as_follower(batch(1, size=200, base_offset=number))
    assert log.aborted_transactions(0, 16) == [(5, 0)]
    assert len(log.segments) > 3
    return log


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("has_snapshots", [True, False])
@pytest.mark.parametrize("damage", ["version", "offset", "cut"])
def test_a_bad_transaction_index_is_made_anew_wherever_it_is(
    home: Home, damage: str, is_clean: bool, has_snapshots: bool
) -> None:
    """Below the recovery point, and after a clean stop: nobody else reads the segment then."""
    log = _aborted_across_segments(home)
    home.restart(log) if is_clean else log.abandon()
    (name,) = [one for one in files(home.disk, home.path) if one.endswith(".txnindex")]
    good = files(home.disk, home.path)[name]
    bad = {
        "version": b"\x00\x07" + good[2:],
        "offset": good[:18] + bytes(8) + good[26:],
        "cut": good[:-1],
    }[damage]
    home.disk.write_file(f"{home.path}/{name}", bad)
    for one in files(home.disk, home.path):
        if one.endswith(".snapshot") and not has_snapshots:
            home.disk.remove(f"{home.path}/{one}")
    again = home.open(CONFIG, is_clean=is_clean, recovery_point=16)
    assert again.recovered.rebuilt_indexes == 1
    assert again.recovered.is_notable
    assert again.aborted_transactions(0, 16) == [(5, 0)]
    assert files(home.disk, home.path)[name] == good
    again.abandon()
    third = home.open(CONFIG, recovery_point=16)
    assert third.recovered.rebuilt_indexes == 0


def test_the_topic_id_is_remembered_and_guarded(home: Home) -> None:
    log = home.open(CONFIG, topic_id=TOPIC_ID)
    assert log.topic_id == TOPIC_ID
    log.abandon()
    assert home.open(CONFIG).topic_id == TOPIC_ID
    with pytest.raises(Refused) as refused:
        home.open(CONFIG, topic_id=home.rng.uuid())
    assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID


# -- after a clean shutdown


def test_a_clean_start_reads_nothing_of_the_log(home: Home) -> None:
    log = home.open(CONFIG)
    for i in range(10):
        append(log, size=200, timestamp=1000 + i)
    again = home.restart(log)
    assert (again.log_end_offset, again.recovery_point) == (10, 9)
    assert again.recovered.checked_segments == 0
    for suffix in (".log", "index", "epoch"):
        home.disk.fail("read", in_path=suffix, cause="read at a clean start")
    again.abandon()
    home.open(CONFIG, is_clean=True, recovery_point=10)


def test_checkpoint_and_snapshot_that_disagree_are_not_believed(home: Home) -> None:
    log = home.restart(_append_some(home))
    log.abandon()
    assert home.open(CONFIG, is_clean=True, recovery_point=4).log_end_offset == 5
    assert home.open(CONFIG, is_clean=True, recovery_point=99).log_end_offset == 5


def test_what_is_not_as_a_clean_stop_left_it_is_checked(home: Home) -> None:
    log = home.restart(_append_some(home))
    log.abandon()
    file = home.disk.open(_file(home, 0))
    file.append([bytes(100)])
    file.close()
    log = home.open(CONFIG, is_clean=True, recovery_point=3)
    assert offsets(log) == list(range(5))
    assert not log.recovered.is_clean
    assert log.recovered.truncated_bytes == 100


def test_an_empty_active_segment_says_where_it_begins(home: Home) -> None:
    log = _append_some(home)
    log.roll()
    again = home.restart(log)
    assert again.log_end_offset == 5
    assert append(again) == 5


def test_the_high_watermark_is_kept_within_the_log(home: Home) -> None:
    log = home.restart(_append_some(home))
    log.abandon()
    for given, kept in ((3, 3), (99, 5), (0, 0)):
        log = home.open(CONFIG, is_clean=True, recovery_point=5, high_watermark=given)
        assert log.high_watermark == kept
        log.abandon()


def _append_some(home: Home) -> PartitionLog:
    log = home.open(CONFIG)
    for _ in range(5):
        append(log)
    return log
