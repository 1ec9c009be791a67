"""A round of cleaning: Kafka's own bytes, a dumb twin, small maps, small segments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.append import Origin
from kafkapy.log.names import DELETED, LOG
from kafkapy.log.producers.snapshot_file import encode_snapshot
from kafkapy.protocol.batches.batch import Codec, NewRecord, batches, build_batch, records
from tests.log.cleaning.kit import (
    DIRECTORY,
    START,
    Partition,
    config,
    data_records,
    horizons,
    kafkas_partition,
    read_committed,
    stage,
    table,
)

# -- Kafka's bytes


@pytest.mark.parametrize(
    ("before", "after", "first_dirty", "end"),
    [("before", "after1", 0, 167), ("before2", "after2", 167, 227)],
)
def test_a_round_writes_the_files_that_kafkas_round_wrote(
    before: str, after: str, first_dirty: int, end: int
) -> None:
    """Logs, indexes, transaction indexes and the choice of segments; the round's clock is
    read off the delete horizons that Kafka set."""
    expected = stage(after)
    (horizon,) = horizons(expected) - horizons(stage(before))
    partition = kafkas_partition(before, horizon - partition_retention())
    assert partition.clean(first_dirty) == end
    active = f"{partition.log.segments.active.base_offset:020d}"
    ours = {
        name: partition.disk.read_file(f"{DIRECTORY}/{name}")
        for name in partition.names()
        if not name.endswith(DELETED)
        and not name.startswith(f"{active}.") | name.endswith("-checkpoint")
    }
    theirs = {name: data for name, data in expected.items() if not name.startswith(f"{active}.")}
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


def partition_retention() -> int:
    return config().delete_retention_ms


def test_kafkas_partition_reads_the_same_before_and_after() -> None:
    partition = kafkas_partition("before", START)
    before = partition.table()
    partition.clean()
    assert partition.table() == before
    assert b"ABORTED" not in partition.contents()


# -- what stays, by example


def test_only_the_latest_value_of_a_key_stays() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("b", "1"), ("a", "2"))
    partition.write(("b", "2"), ("c", "1"))
    partition.roll()
    assert partition.clean() == 5
    assert partition.offsets() == [2, 3, 4]
    assert partition.log.log_end_offset == 5


def test_the_active_segment_is_left_alone() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("a", "2"))
    partition.roll()
    partition.write(("a", "3"), ("a", "4"))
    partition.clean()
    assert partition.offsets() == [1, 2, 3]


def test_an_untouched_batch_keeps_its_bytes() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("b", "1"), codec=Codec.ZSTD)
    partition.write(("c", "1"))
    partition.roll()
    before = partition.contents()
    partition.clean()
    assert partition.contents() == before


def test_a_rewritten_batch_keeps_its_place_and_its_producer() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("b", "1"), ("c", "1"), pid=7, epoch=2, codec=Codec.LZ4)
    partition.write(("a", "2"), ("c", "2"))
    partition.roll()
    (_, before), *_ = batches(partition.contents())
    partition.clean()
    (_, after), *_ = batches(partition.contents())
    assert after.record_count == 1
    same = after._replace(length=before.length, crc=before.crc, record_count=before.record_count)
    assert same == before


def test_the_last_batch_of_a_producer_stays_if_only_as_a_header() -> None:
    partition = Partition()
    partition.write(("a", "1"), pid=7)
    partition.write(("b", "1"), pid=7)
    partition.write(("a", "2"), ("b", "2"))
    partition.roll()
    partition.clean()
    headers = [header for _, header in batches(partition.contents())]
    assert [(header.base_offset, header.record_count) for header in headers] == [(1, 0), (2, 2)]
    assert (headers[0].producer_id, headers[0].base_sequence) == (7, 1)


def test_the_last_batch_of_a_round_stays_if_only_as_a_header() -> None:
    """Or nobody would know how far the log went."""
    partition = Partition()
    partition.write(("a", "1"))
    partition.write(("a", None), timestamp=START)
    partition.roll()
    partition.clean()
    partition.clock.time += 10_000
    partition.write(("z", "1"))
    partition.roll()
    partition.write(("z", "2"))
    partition.roll()
    partition.write(("y", "1"))
    end = partition.clean(2)
    assert end == 4
    assert partition.offsets() == [3, 4]


def test_tombstones_stay_for_their_retention_and_then_go() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("b", "1"))
    partition.write(("a", None))
    partition.roll()
    partition.write(("z", "1"))
    partition.roll()
    end = partition.clean()
    assert partition.offsets() == [1, 2, 3]
    tombstone = next(r for r in data_records(partition.contents()) if r.offset == 2)
    assert tombstone.timestamp == START  # readable as before, though stored as a delta
    assert horizons({"x.log": partition.contents()}) == {START + 5000}
    for later, expected in ((4999, [1, 2, 3, 4]), (5000, [1, 3, 4, 5])):
        partition.clock.time = START + later
        partition.write((f"y{later}", "1"))
        partition.roll()
        end = partition.clean(end)
        assert partition.offsets() == expected


def test_a_horizon_is_set_once() -> None:
    partition = Partition()
    partition.write(("a", None), ("b", "1"))
    partition.roll()
    end = partition.clean()
    partition.clock.time += 1000
    partition.write(("b", "2"))
    partition.roll()
    partition.clean(end)
    assert horizons({"x.log": partition.contents()}) == {START + 5000}


def test_log_append_times_survive_a_rewriting() -> None:
    partition = Partition(config(message_timestamp_type="LogAppendTime"))
    partition.write(("a", "1"), ("b", None), ("a", "2"), timestamp=5)
    partition.roll()
    partition.clean()
    assert [(r.offset, r.timestamp) for r in data_records(partition.contents())] == [
        (1, START),
        (2, START),
    ]


def test_records_without_keys_go() -> None:
    """They came in before the topic was compacted."""
    partition = Partition()
    keyless = build_batch([NewRecord(None, b"v", START), NewRecord(b"a", b"v", START)])
    partition.log.append_as_leader(memoryview(keyless), leader_epoch=0, origin=Origin.RAFT)
    partition.log.advance_high_watermark(2)
    partition.roll()
    partition.clean()
    assert partition.offsets() == [1]


# -- transactions


def test_aborted_data_goes_and_its_marker_follows_a_round_and_a_horizon_later() -> None:
    partition = Partition()
    partition.write(("a", "1"))
    partition.write(("a", "2"), pid=7, transactional=True)
    partition.end(7, commit=False)
    partition.write(("x", "1"), pid=7, epoch=1)
    partition.roll()
    end = partition.clean()
    assert partition.table() == {b"a": b"1", b"x": b"1"}
    assert partition.log.aborted_transactions(0, 4) == [(7, 1)]

    for round_number, markers in ((2, 1), (3, 0)):
        partition.clock.time += 5000
        partition.write((f"y{round_number}", "1"))
        partition.roll()
        end = partition.clean(end)
        kinds = [header.is_control for _, header in batches(partition.contents())]
        assert sum(kinds) == markers
        assert partition.log.aborted_transactions(0, 4) == []
    assert partition.table()[b"a"] == b"1"


def test_a_commit_marker_stays_as_long_as_its_data() -> None:
    partition = Partition()
    partition.write(("a", "1"), pid=7, transactional=True)
    partition.end(7, commit=True)
    partition.write(("x", "1"), pid=7, epoch=1)
    partition.roll()
    end = 0
    for number in range(3):
        end = partition.clean(end)
        assert sum(header.is_control for _, header in batches(partition.contents())) == 1
        partition.clock.time += 6000
        partition.write((f"y{number}", "1"))
        partition.roll()
    assert partition.table()[b"a"] == b"1"


def test_nothing_is_cleaned_beyond_an_open_transaction() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("a", "2"))
    partition.roll()
    partition.write(("b", "1"), pid=7, transactional=True)
    partition.write(("b", "2"), ("b", "3"))
    partition.roll()
    assert partition.clean() == 2
    assert partition.offsets() == [1, 2, 3, 4]


def test_an_aborted_write_does_not_hide_the_value_before_it() -> None:
    partition = Partition()
    partition.write(("a", "kept"))
    partition.write(("a", "dropped"), pid=7, transactional=True)
    partition.end(7, commit=False)
    partition.roll()
    partition.clean()
    assert partition.table() == {b"a": b"kept"}


# -- the dumb twin

KEYS = st.sampled_from([f"key-{n}" for n in range(6)])
PAIRS = st.lists(
    st.tuples(KEYS, st.none() | st.sampled_from(["x", "yy" * 20])), min_size=1, max_size=6
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), PAIRS, st.sampled_from([Codec.NONE, Codec.GZIP])),
        st.tuples(st.just("idempotent"), PAIRS, st.integers(0, 1)),
        st.tuples(st.just("transactional"), PAIRS, st.integers(2, 4)),
        st.tuples(st.just("commit"), st.just([]), st.integers(2, 4)),
        st.tuples(st.just("abort"), st.just([]), st.integers(2, 4)),
        st.tuples(st.just("roll"), st.just([]), st.just(0)),
        st.tuples(st.just("clean"), st.just([]), st.sampled_from([300, 1000, 10**6])),
        st.tuples(st.just("wait"), st.just([]), st.sampled_from([1000, 6000])),
    ),
    min_size=5,
    max_size=40,
)


class Twin:
    """Remembers every record that was ever written, and what became of it."""

    def __init__(self) -> None:
        self.written: list[tuple[int, str, str | None, int]] = []  # offset, key, value, pid or -1
        self.open: dict[int, list[tuple[int, str, str | None]]] = {}
        self.decided: dict[int, tuple[str, str | None]] = {}  # offset -> committed record

    def write(self, offset: int, pairs: list[tuple[str, str | None]], pid: int) -> None:
        for at, (key, value) in enumerate(pairs, offset):
            if pid >= 2:
                self.open.setdefault(pid, []).append((at, key, value))
            else:
                self.decided[at] = (key, value)

    def end(self, pid: int, *, commit: bool) -> None:
        for at, key, value in self.open.pop(pid, []):
            if commit:
                self.decided[at] = (key, value)

    def table(self, upper: int) -> dict[bytes, bytes]:
        state: dict[bytes, bytes] = {}
        for offset in sorted(self.decided):
            if offset < upper:
                key, value = self.decided[offset]
                if value is None:
                    state.pop(key.encode(), None)
                else:
                    state[key.encode()] = value.encode()
        return state


@given(STEPS)
@settings(max_examples=60)
def test_a_cleaned_log_reads_as_the_log_that_was_written(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    """Write, roll, clean in any order; a reader of committed records sees the same table
    as a twin that cleans nothing, records keep their offsets, and producers their state."""
    partition, twin, dirty = Partition(), Twin(), 0
    for kind, pairs, how in steps:
        match kind:
            case "plain":
                twin.write(partition.write(*pairs, codec=how), pairs, -1)
            case "idempotent":
                twin.write(partition.write(*pairs, pid=how), pairs, how)
            case "transactional":
                twin.write(partition.write(*pairs, pid=how, transactional=True), pairs, how)
            case "commit" | "abort":
                partition.end(how, commit=kind == "commit")
                twin.end(how, commit=kind == "commit")
            case "roll":
                partition.roll()
            case "wait":
                partition.clock.time += how
            case "clean":
                if partition.assess(dirty).cleanable_bytes:
                    dirty = partition.clean(dirty, map_bytes=how)
        upper = partition.log.last_stable_offset
        assert partition.table() == twin.table(upper)
    for record in partition.committed():
        assert record.key is not None
        value = None if record.value is None else record.value.decode()
        assert twin.decided[record.offset] == (record.key.decode(), value)
    end = partition.log.log_end_offset
    states = encode_snapshot(list(partition.log.producers.active()))
    partition.open()
    assert partition.log.log_end_offset == end
    assert encode_snapshot(list(partition.log.producers.active())) == states


@given(STEPS)
@settings(max_examples=30)
def test_after_a_whole_round_a_key_is_there_once(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    partition = Partition()
    for kind, pairs, how in steps:
        if kind in ("plain", "idempotent"):
            partition.write(*pairs)
        elif kind == "roll":
            partition.roll()
        elif kind == "wait":
            partition.clock.time += how
    partition.write(("last", "1"))
    partition.roll()
    end = partition.clean()
    keys = [record.key for record in data_records(partition.contents())]
    assert end == partition.log.log_end_offset
    assert len(keys) == len(set(keys))
    before = partition.contents()
    partition.clean()  # all of it again: there is nothing left to do
    assert partition.contents() == before


# -- a small map


def test_a_map_that_is_full_makes_two_rounds_of_one() -> None:
    partition = Partition()
    for number in range(8):
        partition.write((f"k{number}", "1"))
    for number in range(8):
        partition.write((f"k{number}", "2"))
    partition.roll()
    end = partition.clean(map_bytes=5 * 192 * 10 // 9 + 1)
    assert end == 5
    assert partition.offsets() == list(range(16))
    ends = [end]
    while ends[-1] < 16:
        ends.append(partition.clean(ends[-1], map_bytes=5 * 192 * 10 // 9 + 1))
    assert ends == [5, 10, 15, 16]
    assert partition.offsets() == list(range(8, 16))


def test_a_map_too_small_for_one_batch_does_not_advance() -> None:
    partition = Partition()
    partition.write(("a", "1"), ("b", "1"), ("c", "1"))
    partition.roll()
    work = partition.round(map_bytes=1)
    for _ in work.run():
        pass
    assert not work.has_advanced


# -- segments


def test_small_segments_are_joined_up_to_the_size_of_one() -> None:
    partition = Partition()
    for number in range(12):
        partition.write((f"k{number}", "v" * 400))
        partition.roll()
    partition.clean()
    sizes = [segment.size for segment in partition.log.segments.sealed]
    assert len(sizes) == 2
    assert all(size <= 3000 for size in sizes)
    assert partition.offsets() == list(range(12))


def test_a_cleaned_segment_is_as_old_as_its_youngest_source() -> None:
    partition = Partition()
    partition.write(("a", "1"))
    partition.roll()
    partition.clock.time += 1000
    partition.write(("a", "2"))
    partition.roll()
    partition.clock.time += 50_000
    partition.clean()
    first = partition.log.segments.first
    assert partition.disk.modified_ms(first.path(LOG)) == START + 1000


def test_a_large_batch_is_worked_on_in_small_steps() -> None:
    partition = Partition(config(segment_bytes=10**6))
    partition.write(*((f"key-{number}", "v" * 20) for number in range(5000)))
    partition.write(*((f"key-{number}", "w" * 20) for number in range(0, 5000, 2)))
    partition.roll()
    steps = [step for step in partition.round(map_bytes=1 << 22).run() if step is not None]
    assert max(steps) < 300_000
    assert sum(step < 20_000 for step in steps) > 60
    assert len(partition.offsets()) == 5000


def test_the_kit_reads_what_a_consumer_reads() -> None:
    """The reader of the twin test, against an obvious case."""
    partition = Partition()
    partition.write(("a", "1"), pid=7, transactional=True)
    partition.write(("b", "1"))
    partition.end(7, commit=False)
    assert table(read_committed(partition.contents(), [(7, 0)], 3)) == {b"b": b"1"}
    assert [r.offset for r in records(partition.contents()[: batch_size(partition)])] == [0]


def batch_size(partition: Partition) -> int:
    (_, header), *_ = batches(partition.contents())
    return header.size
