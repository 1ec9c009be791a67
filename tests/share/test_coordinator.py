"""The share coordinator: who may write what, and that a replayed log is the state."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.coordinator.registry import Registry
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.share.coordinator.batches import MANY, combined
from kafkapy.share.coordinator.events import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadSummary,
    SetMark,
    ShareEvent,
    Snapshotted,
    SnapshotTheRest,
    StateRead,
    SummaryRead,
    TopicsDeleted,
    WriteState,
)
from kafkapy.share.coordinator.machine import ShareMachine
from kafkapy.share.coordinator.records import (
    KEY_CLASSES,
    ShareSnapshotValue,
    ShareUpdateValue,
)
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.states import RecordState, StateBatch

TOPIC = UUID(int=7)
KEY = ShareKey("group", TOPIC, 0)
S = RecordState
DONE = StateBatch(3, 5, S.ACKNOWLEDGED, 1)


class _Partitions:
    def __init__(self, topic_id: UUID = TOPIC) -> None:
        self._topic_id = topic_id

    def exists(self, topic_id: UUID, partition: int) -> bool:
        return topic_id == self._topic_id and partition < 3


class Coordinator:
    """Every step's records go through bytes, and into a second machine that must be the same."""

    def __init__(self) -> None:
        self.partitions = _Partitions()
        self.machine, self._twin = (
            ShareMachine(lambda: self.partitions, lambda: 3),
            ShareMachine(lambda: self.partitions, lambda: 3),
        )
        self.codec: Registry = Registry(KEY_CLASSES, lambda _: 0)
        self.written: list[Any] = []

    def ask(self, event: ShareEvent) -> Any:
        before = dict(self.machine.states)
        step = self.machine.decide(event, Instant(0), Instant(1_000))
        assert self.machine.states == before, "decide changes nothing"
        self.written = [value for _, value in step.records]
        for record in step.records:
            decoded = self.codec.decode(*self.codec.encode(record))
            self.machine.apply(record)
            self._twin.apply(decoded)
        for note in step.notes:
            self.machine.apply(note)
        assert self._twin.states == self.machine.states, "replay gives the same state"
        return step.reply


@pytest.fixture
def coordinator() -> Coordinator:
    made = Coordinator()
    made.ask(InitializeState(KEY, 4, 0))
    return made


def write(start: int, *batches: StateBatch, leader: int = 7, state: int = 4) -> WriteState:
    return WriteState(KEY, state, leader, start, batches)


def refused(coordinator: Coordinator, event: ShareEvent) -> ErrorCode:
    with pytest.raises(Refused) as raised:
        coordinator.ask(event)
    return raised.value.code


def test_what_was_written_is_read(coordinator: Coordinator) -> None:
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(4, 0, ())
    coordinator.ask(write(3, DONE))
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(4, 3, (DONE,))
    assert coordinator.ask(ReadSummary(KEY, 7)) == SummaryRead(4, 7, 3, -1)


def test_what_nobody_initialized_cannot_be_read_or_written() -> None:
    coordinator = Coordinator()
    assert refused(coordinator, ReadState(KEY, 0)) is ErrorCode.INVALID_REQUEST
    assert refused(coordinator, write(0)) is ErrorCode.INVALID_REQUEST
    assert coordinator.ask(ReadSummary(KEY, 0)) == SummaryRead(0, 0, -1, -1)


def test_what_is_no_partition_has_no_state(coordinator: Coordinator) -> None:
    for key in (KEY._replace(partition=3), KEY._replace(topic_id=UUID(int=8))):
        events: tuple[ShareEvent, ...] = (
            InitializeState(key, 1, 0),
            ReadState(key, 0),
            ReadSummary(key, 0),
            DeleteState(key),
        )
        for event in events:
            assert refused(coordinator, event) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_newer_leader_fences_the_older_one(coordinator: Coordinator) -> None:
    """By reading alone: from then on nothing that the older one says counts."""
    coordinator.ask(ReadState(KEY, 7))
    coordinator.ask(ReadState(KEY, 8))
    assert refused(coordinator, ReadState(KEY, 7)) is ErrorCode.FENCED_LEADER_EPOCH
    assert refused(coordinator, write(3, DONE, leader=7)) is ErrorCode.FENCED_LEADER_EPOCH
    coordinator.ask(write(3, DONE, leader=8))


def test_a_newer_state_fences_who_knows_the_older_one(coordinator: Coordinator) -> None:
    coordinator.ask(write(3, DONE))
    coordinator.ask(InitializeState(KEY, 5, 100))
    assert refused(coordinator, write(3, DONE)) is ErrorCode.FENCED_STATE_EPOCH
    assert refused(coordinator, InitializeState(KEY, 4, 0)) is ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(5, 100, ())


def test_who_knows_the_state_of_a_group_that_was_deleted_is_fenced(
    coordinator: Coordinator,
) -> None:
    """The one of the same name begins with the first epoch again."""
    coordinator.ask(write(3, DONE))
    coordinator.ask(DeleteState(KEY))
    coordinator.ask(InitializeState(KEY, 1, -1))
    assert refused(coordinator, write(6, DONE)) is ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(1, -1, ())


def test_initialized_again_it_is_as_it_was(coordinator: Coordinator) -> None:
    coordinator.ask(InitializeState(KEY, 4, 0))
    assert coordinator.written == []


def test_who_has_begun_is_not_taken_back_by_being_initialized_without_an_offset(
    coordinator: Coordinator,
) -> None:
    """As by a heartbeat, after an alteration of offsets that did not come through."""
    coordinator.ask(InitializeState(KEY, 4, -1))
    coordinator.ask(write(3, DONE))
    coordinator.ask(InitializeState(KEY, 4, -1))
    assert coordinator.written == []
    coordinator.ask(InitializeState(KEY, 5, -1))
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(5, 3, (DONE,))
    assert refused(coordinator, write(3, DONE)) is ErrorCode.FENCED_STATE_EPOCH
    assert refused(coordinator, ReadState(KEY, 6)) is ErrorCode.FENCED_LEADER_EPOCH


def test_the_start_never_goes_back(coordinator: Coordinator) -> None:
    coordinator.ask(write(6))
    coordinator.ask(write(3, DONE))
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(4, 6, ())


def test_after_so_many_updates_comes_a_snapshot(coordinator: Coordinator) -> None:
    for start in range(1, 5):
        coordinator.ask(write(start))
        (value,) = coordinator.written
        assert isinstance(value, ShareSnapshotValue if start == 4 else ShareUpdateValue)
    assert value.snapshot_epoch == 1
    assert coordinator.ask(ReadState(KEY, 7)) == StateRead(4, 4, ())


def test_what_is_deleted_is_unknown(coordinator: Coordinator) -> None:
    coordinator.ask(DeleteState(KEY))
    assert coordinator.written == [None]
    coordinator.ask(DeleteState(KEY))
    assert coordinator.written == []
    assert refused(coordinator, ReadState(KEY, 0)) is ErrorCode.INVALID_REQUEST


def test_a_topic_takes_its_states_along(coordinator: Coordinator) -> None:
    coordinator.ask(InitializeState(KEY._replace(partition=1), 4, 0))
    coordinator.ask(TopicsDeleted(frozenset({TOPIC})))
    assert not coordinator.machine.states


def test_behind_a_mark_everything_is_snapshotted_once(coordinator: Coordinator) -> None:
    """What is written behind the mark by itself is not written again."""
    for partition in (1, 2):
        coordinator.ask(InitializeState(KEY._replace(partition=partition), 4, 0))
    coordinator.ask(SetMark())
    coordinator.ask(InitializeState(KEY._replace(partition=2), 5, 9))
    assert coordinator.ask(SnapshotTheRest(1)) == Snapshotted(has_more=True)
    assert coordinator.ask(SnapshotTheRest(1)) == Snapshotted(has_more=False)
    assert coordinator.ask(SnapshotTheRest(1)) == Snapshotted(has_more=False)
    assert coordinator.written == []


_BATCHES = st.lists(
    st.builds(
        lambda first, count, state, deliveries: StateBatch(
            first, first + count, RecordState(state), deliveries
        ),
        st.integers(0, 20),
        st.integers(0, 6),
        st.sampled_from((0, 2, 4)),
        st.integers(1, 4),
    ),
    max_size=8,
)


@given(_BATCHES, st.integers(0, 12), st.randoms())
def test_in_whatever_order_batches_come_the_same_is_known(
    batches: list[StateBatch], start: int, dice: Any
) -> None:
    known = combined((), batches, start)
    shuffled = [*batches, *batches]
    dice.shuffle(shuffled)
    again: tuple[StateBatch, ...] = ()
    for batch in shuffled:
        again = combined(again, (batch,), start)
    assert again == known
    for offset in range(start, 30):
        of_it = [one for one in batches if one.first_offset <= offset <= one.last_offset]
        found = [one for one in known if one.first_offset <= offset <= one.last_offset]
        assert len(found) == bool(of_it)
        if of_it:
            best = max((one.delivery_count, one.state) for one in of_it)
            assert (found[0].delivery_count, found[0].state) == best


def test_what_is_over_in_many_ways_is_remembered_as_one() -> None:
    """A first record that takes long: what is behind it does not grow without end."""
    known: tuple[StateBatch, ...] = (StateBatch(0, 0, S.AVAILABLE, 1),)
    for offset in range(1, 5_000):
        state = S.ACKNOWLEDGED if offset % 2 else S.ARCHIVED
        known = combined(known, (StateBatch(offset, offset, state, 1 + offset % 3),), 0)
        assert len(known) <= MANY
    assert known[0] == StateBatch(0, 0, S.AVAILABLE, 1)
    assert all(one.state.is_terminal for one in known[1:])
    assert sum(one.last_offset - one.first_offset + 1 for one in known) == 5_000
    # Whatever was said of one of them earlier and comes late.
    late = combined(known, (StateBatch(5, 5, S.AVAILABLE, 1),), 0)
    assert late == known


def test_batches_within_batches_are_not_looked_at_again_for_each() -> None:
    """26 s of the loop for 6,000 of them, in any request that says so."""

    class Watched(StateBatch):
        looks = 0

        def __getattribute__(self, name: str) -> Any:
            Watched.looks += 1
            return super().__getattribute__(name)

    count = 400
    nested = [Watched(at, 2 * count - at, S.AVAILABLE, 1) for at in range(count)]
    assert combined((), nested, 0) == (StateBatch(0, 2 * count, S.AVAILABLE, 1),)
    assert Watched.looks < 30 * count


def test_what_ends_before_it_begins_is_nothing() -> None:
    assert combined((), (StateBatch(5, 2, S.ACKNOWLEDGED, 1),), 0) == ()


def test_a_topic_that_went_unheard_takes_its_states_along_later(coordinator: Coordinator) -> None:
    """It was deleted while this partition had no leader, and topics do not come back."""
    coordinator.partitions = _Partitions(UUID(int=8))
    coordinator.ask(SetMark())
    assert coordinator.ask(SnapshotTheRest(100)) == Snapshotted(has_more=False)
    assert coordinator.written == [None]
    assert not coordinator.machine.states


def test_large_states_are_snapshotted_one_after_the_other(coordinator: Coordinator) -> None:
    """Together they would not fit a message, and nothing would ever be pruned."""
    keys = [KEY._replace(partition=number) for number in range(3)]
    many = tuple(StateBatch(2 * at, 2 * at, S.AVAILABLE, 1) for at in range(9_000))
    for key in keys:
        coordinator.ask(InitializeState(key, 4, 0))
        coordinator.ask(WriteState(key, 4, 7, 0, many))
    coordinator.ask(SetMark())
    assert coordinator.ask(SnapshotTheRest(100)) == Snapshotted(has_more=True)
    assert len(coordinator.written) == 2
    assert coordinator.ask(SnapshotTheRest(100)) == Snapshotted(has_more=False)
