"""What the leader makes of what it hears."""

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.quorum.leader import OBSERVER_SESSION_TIMEOUT_MS, Leader, replicas_of
from kafkapy.kraft.quorum.voters import ReplicaKey
from tests.kraft.quorum.machine import key, voters

NOW = Instant(1000)


def leader(*voter_ids: int, start_offset: int = 0) -> Leader:
    made = Leader(
        epoch=1,
        leader_id=1,
        key=key(1),
        epoch_start_offset=start_offset,
        granting=(1,),
        check_interval_ms=3000,
        begin_interval_ms=1000,
    )
    made.set_voters(voters(*voter_ids), NOW)
    return made


def test_a_quorum_of_one_commits_what_it_has_flushed() -> None:
    made = leader(1)
    assert made.flushed(3)
    assert not made.flushed(3)
    assert made.high_watermark == 3
    assert made.deadline == NEVER


def test_nothing_is_committed_before_a_record_of_this_epoch_is() -> None:
    made = leader(1, 2, 3, start_offset=10)
    made.flushed(11)
    assert not made.fetched(key(2), 10, 11, NOW)
    assert made.high_watermark is None
    assert made.fetched(key(2), 11, 11, NOW)
    assert made.high_watermark == 11


@given(st.lists(st.integers(0, 20), min_size=1, max_size=7))
def test_what_a_majority_has_is_committed(ends: list[int]) -> None:
    made = leader(*range(1, len(ends) + 1))
    made.flushed(ends[0])
    for node_id, end in enumerate(ends[1:], 2):
        made.fetched(key(node_id), end, 20, NOW)
    majority = len(ends) // 2 + 1
    best = max(n for n in range(21) if sum(end >= n for end in ends) >= majority)
    assert made.high_watermark == (best or None)


def test_the_high_watermark_never_goes_back() -> None:
    made = leader(1, 2)
    made.flushed(9)
    made.fetched(key(2), 9, 9, NOW)
    made.fetched(key(2), 4, 9, NOW)
    assert made.high_watermark == 9


def test_another_directory_of_a_voter_is_an_observer() -> None:
    made = leader(1, 2)
    made.flushed(5)
    assert not made.fetched(ReplicaKey(2, key(3).directory_id), 5, 5, NOW)
    assert made.high_watermark is None
    assert len(made.observers) == 1


def test_readers_without_an_id_are_not_remembered() -> None:
    made = leader(1)
    assert not made.fetched(ReplicaKey(-1), 0, 0, NOW)
    assert made.observers == {}


def test_observers_that_fell_silent_are_forgotten() -> None:
    made = leader(1)
    made.fetched(key(7), 0, 0, NOW)
    made.forget_idle_observers(Instant(NOW + OBSERVER_SESSION_TIMEOUT_MS - 1))
    assert [one.key for one in replicas_of(made)] == [key(1), key(7)]
    made.forget_idle_observers(Instant(NOW + OBSERVER_SESSION_TIMEOUT_MS))
    assert [one.key for one in replicas_of(made)] == [key(1)]


def test_a_majority_that_fetches_puts_the_check_off() -> None:
    made = leader(1, 2, 3, 4, 5)
    before = made.check_deadline
    later = Instant(NOW + 500)
    made.heard_from(key(2), later)
    assert made.check_deadline == before
    made.heard_from(key(9), later)
    made.heard_from(key(3), later)
    assert made.check_deadline == later + 3000


def test_voters_that_fetch_are_not_reminded() -> None:
    made = leader(1, 2, 3)
    made.fetched(key(2), 0, 0, NOW)
    assert made.to_remind(Instant(NOW + 999)) == [3]
    assert made.to_remind(Instant(NOW + 1000)) == [2, 3]


def test_successors_are_those_with_most_of_the_log() -> None:
    made = leader(1, 2, 3, 4)
    made.fetched(key(3), 7, 9, NOW)
    made.fetched(key(4), 5, 9, NOW)
    assert made.successors == (key(3), key(4), key(2))


def test_caught_up_is_having_had_all_there_was_at_the_fetch_before() -> None:
    made = leader(1, 2)
    two = made.voters[2]
    made.fetched(key(2), 5, 10, Instant(100))
    assert two.last_caught_up == -1
    made.fetched(key(2), 10, 20, Instant(200))
    assert two.last_caught_up == 100
    made.fetched(key(2), 20, 20, Instant(300))
    assert two.last_caught_up == 300


def test_an_observer_that_becomes_a_voter_brings_what_it_has() -> None:
    made = leader(1)
    made.flushed(5)
    made.fetched(key(2), 5, 5, NOW)
    made.set_voters(voters(1, 2), NOW)
    assert made.voters[2].end_offset == 5
    assert made.observers == {}
    assert made.check_deadline != NEVER
    made.set_voters(voters(1), NOW)
    assert list(made.observers) == [key(2)]
    assert made.deadline == NEVER
