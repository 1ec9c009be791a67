"""Producer states: sequences, epochs, expiry, replay (formats/producers 2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import Instant
from kafkapy.log.append import Origin
from kafkapy.log.producers.producer_state import (
    BatchMetadata,
    ProducerEntry,
    ProducerStates,
)
from kafkapy.log.producers.snapshot_file import decode_snapshot, encode_snapshot
from kafkapy.protocol.batches.batch import (
    MAX_SEQUENCE,
    BatchHeader,
    NewRecord,
    build_batch,
    read_header,
)
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.producer_partition import NOW, PID, E, Partition


@pytest.fixture
def partition() -> Partition:
    return Partition()


# -- sequences


def test_sequences_that_follow_are_accepted(partition: Partition) -> None:
    for sequence in (0, 5, 10):
        assert partition.data(sequence, 5) is None
    entry = partition.states.get(PID)
    assert entry is not None
    assert (entry.last_sequence, entry.last_offset) == (14, 14)


def test_a_gap_and_a_step_back_are_out_of_order(partition: Partition) -> None:
    partition.data(0, 5)
    for sequence in (4, 6, 100):
        partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence)


def test_a_retry_of_any_of_the_last_five_batches_gets_their_offsets(
    partition: Partition,
) -> None:
    for sequence in range(0, 12, 2):
        partition.data(sequence, 2, timestamp=NOW + sequence)
    for sequence in range(2, 12, 2):
        duplicate = partition.data(sequence, 2)
        assert isinstance(duplicate, BatchMetadata)
        assert (duplicate.first_offset, duplicate.last_offset) == (sequence, sequence + 1)
        assert duplicate.timestamp == NOW + sequence
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 0, 2)  # the sixth last


def test_a_batch_that_only_overlaps_a_known_one_is_no_retry(partition: Partition) -> None:
    partition.data(0, 5)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 0, 4)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, 4)


def test_an_unknown_producer_may_begin_anywhere(partition: Partition) -> None:
    assert partition.data(77, 3) is None
    assert partition.data(80) is None


def test_sequences_wrap_around(partition: Partition) -> None:
    partition.data(MAX_SEQUENCE - 1, 2)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 1)
    partition.data(0, 2)
    partition.data(2)
    entry = partition.states.get(PID)
    assert entry is not None
    assert entry.last_sequence == 2


def test_a_batch_across_the_wrap_is_recognised_again(partition: Partition) -> None:
    partition.data(MAX_SEQUENCE, 5)
    duplicate = partition.data(MAX_SEQUENCE, 5)
    assert isinstance(duplicate, BatchMetadata)
    assert (duplicate.first_sequence, duplicate.last_sequence) == (MAX_SEQUENCE, 3)
    partition.data(4)


@given(st.integers(0, MAX_SEQUENCE), st.lists(st.integers(1, 2**20), min_size=1, max_size=8))
@settings(max_examples=50)
def test_any_chain_of_batches_is_in_order_wherever_it_begins(first: int, counts: list[int]) -> None:
    """A dumb twin counts on past the end and takes the remainder."""
    states = ProducerStates(TopicPartition("orders", 0))
    fields = dict.fromkeys(BatchHeader._fields, 0)
    total = 0
    for count in counts:
        header = BatchHeader(
            **{
                **fields,
                "base_offset": total,
                "producer_id": PID,
                "base_sequence": (first + total) % 2**31,
                "last_offset_delta": count - 1,
            }
        )
        assert states.check(header, Origin.CLIENT) is None
        states.update(header, b"")
        total += count
        duplicate = states.check(header, Origin.CLIENT)
        assert duplicate is not None
        assert duplicate.first_sequence == header.base_sequence
        assert duplicate.last_sequence == (first + total - 1) % 2**31


# -- epochs


def test_an_older_epoch_is_fenced(partition: Partition) -> None:
    partition.data(0, epoch=3)
    partition.refuses(E.INVALID_PRODUCER_EPOCH, 1, epoch=2)


def test_a_newer_epoch_begins_at_zero_and_forgets_old_batches(partition: Partition) -> None:
    partition.data(0, 5)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 5, epoch=1)
    partition.data(0, epoch=1)
    partition.refuses(E.INVALID_PRODUCER_EPOCH, 0, 5, epoch=0)


def test_after_a_marker_raised_the_epoch_the_next_sequence_is_zero(
    partition: Partition,
) -> None:
    partition.data(0, 5, transactional=True)
    partition.marker(commit=True, epoch=1, version=2)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 5, epoch=1, transactional=True)
    partition.data(0, epoch=1, transactional=True)


def test_the_coordinator_is_only_asked_for_its_epoch(partition: Partition) -> None:
    """Transactional offset commits carry no sequences."""
    for _ in range(3):
        partition.data(-1, 3, transactional=True, origin=Origin.COORDINATOR, epoch=5)
    partition.refuses(
        E.INVALID_PRODUCER_EPOCH, -1, transactional=True, origin=Origin.COORDINATOR, epoch=4
    )


def test_what_a_leader_accepted_is_never_refused(partition: Partition) -> None:
    partition.data(0, epoch=5)
    partition.data(999, epoch=3, origin=Origin.REPLICATION)
    partition.marker(commit=True, epoch=1, coordinator_epoch=-5, origin=Origin.REPLICATION)


def test_batches_without_a_producer_only_move_the_end(partition: Partition) -> None:
    partition.data(-1, 7, pid=-1, epoch=-1)
    assert len(partition.states) == 0
    assert partition.states.end_offset == 7


# -- forgetting


def test_silent_producers_are_forgotten_and_may_begin_anywhere(partition: Partition) -> None:
    states = partition.states
    partition.data(0, 5)
    partition.data(0, 5, pid=PID + 1, transactional=True)
    assert states.expire(Instant(NOW + states.expiry_ms - 1)) == 0
    assert states.expire(Instant(NOW + states.expiry_ms)) == 1
    assert [entry.producer_id for entry in states.active()] == [PID + 1]
    partition.data(33)


def test_expired_verifications_go_too(partition: Partition) -> None:
    states = partition.states
    states.begin_verification(PID, 0, 0, supports_epoch_bump=True, now=NOW)
    states.expire(Instant(NOW + states.expiry_ms))
    assert len(states.verifications) == 0


def test_states_reloaded_from_a_snapshot_go_on(partition: Partition) -> None:
    partition.data(0, 5)
    partition.data(0, 2, pid=PID + 1, transactional=True)
    entries = decode_snapshot(encode_snapshot(list(partition.states.active())))
    again = Partition()
    again.states.load(entries, partition.states.end_offset, NOW)
    assert list(again.states.active()) == list(partition.states.active())
    assert again.states.end_offset == 7
    assert again.states.first_undecided_offset == 5
    assert isinstance(again.data(0, 5), BatchMetadata)
    assert again.marker(commit=True, pid=PID + 1) is not None


def test_loading_leaves_expired_producers_out(partition: Partition) -> None:
    partition.data(0)
    entries = list(partition.states.active())
    states = partition.states
    states.load(entries, 1, Instant(NOW + states.expiry_ms))
    assert len(states) == 0


def test_the_log_start_does_not_make_producers_unknown(partition: Partition) -> None:
    partition.data(0, 5)
    partition.states.log_start_offset_advanced(9)
    assert partition.states.end_offset == 9
    assert partition.states.get(PID) is not None


def test_reset_forgets_everything(partition: Partition) -> None:
    partition.data(0, transactional=True)
    partition.data(0, transactional=True, pid=PID + 1)
    partition.marker(commit=True)
    partition.states.reset(50)
    assert len(partition.states) == 0
    assert partition.states.last_stable_offset(50) == 50


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["data", "txn", "commit", "abort"]),
            st.integers(0, 2),
            st.integers(1, 3),
        ),
        max_size=30,
    )
)
@settings(max_examples=60)
def test_replay_gives_the_state_that_appends_gave(
    steps: list[tuple[str, int, int]],
) -> None:
    """Whatever is refused is not in the log; the rest, replayed, says the same."""
    live, log = Partition(), list[tuple[BatchHeader, bytes]]()
    sequences = dict.fromkeys(range(3), 0)
    for kind, pid, count in steps:
        offset = live.states.end_offset
        if kind in ("data", "txn"):
            batch = build_batch(
                [NewRecord(b"k", b"v", NOW)] * count,
                base_offset=offset,
                producer_id=pid,
                producer_epoch=0,
                base_sequence=sequences[pid],
                is_transactional=kind == "txn",
            )
        else:
            batch = build_marker(
                is_commit=kind == "commit",
                coordinator_epoch=0,
                producer_id=pid,
                producer_epoch=0,
                timestamp=NOW,
                base_offset=offset,
            )
        header = read_header(batch)
        try:
            live.states.check(header, Origin.CLIENT, marker=None)
        except Refused:
            continue
        if not header.is_control:
            sequences[pid] += count
        live.states.update(header, batch)
        log.append((header, batch))
    replayed = ProducerStates(TopicPartition("orders", 0))
    for header, batch in log:
        replayed.update(header, batch)
    assert list(replayed.active()) == list(live.states.active())
    assert replayed.first_unstable_offset == live.states.first_unstable_offset
    assert replayed.end_offset == live.states.end_offset


def test_entries_compare_by_what_they_hold() -> None:
    assert ProducerEntry(1) == ProducerEntry(1)
    assert ProducerEntry(1) != ProducerEntry(1, producer_epoch=2)
    assert "producer_epoch=-1" in repr(ProducerEntry(1))
