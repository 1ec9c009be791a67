"""The role a start begins with, and how it gets from one to the next."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.quorum.candidate import Candidate
from kafkapy.kraft.quorum.effects import BecomeLeader, Persist, StopLeading
from kafkapy.kraft.quorum.messages import VoteResponse
from kafkapy.kraft.quorum.resigned import Resigned
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey
from tests.kraft.quorum.machine import Machine, NumberLog, granted, key, voters


def log(epoch: int) -> NumberLog:
    made = NumberLog()
    made.append(epoch)
    return made


@pytest.mark.parametrize(
    ("stored", "role", "epoch"),
    [
        (ElectionState(), "Unattached", 0),
        (ElectionState(3), "Unattached", 3),
        (ElectionState(3, None, key(2)), "Unattached", 3),
        (ElectionState(3, None, key(1)), "Candidate", 3),
        (ElectionState(3, 2, None), "Follower", 3),
        (ElectionState(3, 2, key(1)), "Follower", 3),
        (ElectionState(3, 9, None), "Unattached", 3),
        (ElectionState(3, 1, None), "Resigned", 3),
    ],
)
def test_a_start_begins_where_the_file_says(stored: ElectionState, role: str, epoch: int) -> None:
    machine = Machine(1, 2, 3, stored=stored)
    assert (machine.role, machine.quorum.epoch) == (role, epoch)
    assert machine.quorum.role.election == stored
    assert not any(isinstance(one, Persist) for one in machine.effects())


def test_a_log_that_knows_a_newer_epoch_counts_more_than_the_file() -> None:
    machine = Machine(1, 2, 3, stored=ElectionState(3, 2, None), log=log(7))
    assert (machine.role, machine.quorum.epoch) == ("Unattached", 7)
    assert Persist(ElectionState(7)) in machine.effects()


@pytest.mark.parametrize(
    "stored",
    [
        ElectionState(),
        ElectionState(3),
        ElectionState(3, 1, None),
        ElectionState(3, None, key(1)),
        ElectionState(3, None, key(2)),
        ElectionState(3, 2, None),
        ElectionState(1, 2, None),
    ],
)
def test_the_only_voter_leads_before_begin_returns(stored: ElectionState) -> None:
    machine = Machine(1, stored=stored, log=log(2))
    assert machine.role == "Leader"
    epoch = machine.quorum.epoch
    assert epoch >= 3
    was_candidate = stored == ElectionState(3, None, key(1))
    assert (epoch > stored.epoch) is not was_candidate
    *_, persisted, lead = machine.effects()
    assert persisted == Persist(ElectionState(epoch, 1, None))
    assert lead == BecomeLeader(epoch, (1,))
    assert machine.quorum.next_tick() == NEVER


def test_a_vote_for_oneself_is_durable_before_one_leads() -> None:
    first, second, _ = Machine(1).effects()
    assert first == Persist(ElectionState(1, None, key(1)))
    assert second == Persist(ElectionState(1, 1, None))


def test_who_does_not_vote_waits_for_a_leader() -> None:
    machine = Machine(2, 3)
    machine.wait(1_000_000)
    assert machine.role == "Unattached"
    assert {to for to, _ in machine.sent()} == {None}


def test_another_directory_is_another_replica() -> None:
    machine = Machine(1)
    machine.quorum.set_voters(voters(1), machine.now)
    assert machine.role == "Leader"
    stranger = Machine(2)
    stranger.wait(5000)
    assert stranger.role == "Unattached"


def test_an_election_takes_two_rounds() -> None:
    machine = Machine(1, 2, 3)
    asked = machine.stand()
    assert [(to, request.is_pre_vote, request.epoch) for to, request in asked] == [
        (2, True, 0),
        (3, True, 0),
    ]
    assert machine.role == "Prospective"
    machine.answer(2, asked[0][1], granted(asked[0][1]))
    assert (machine.role, machine.quorum.epoch) == ("Candidate", 1)
    effects = machine.quorum._state.effects
    assert effects[0] == Persist(ElectionState(1, None, key(1)))
    asked = machine.vote_requests()
    assert [(to, request.is_pre_vote, request.epoch) for to, request in asked] == [
        (2, False, 1),
        (3, False, 1),
    ]
    machine.answer(3, asked[1][1], granted(asked[1][1]))
    assert machine.role == "Leader"
    assert BecomeLeader(1, (1, 3)) in machine.effects()


def test_a_lost_pre_vote_leaves_everything_as_it_was() -> None:
    machine = Machine(1, 2, 3, stored=ElectionState(4, None, key(3)))
    for to, request in machine.stand():
        machine.answer(to, request, granted(request, is_granted=False))
    assert machine.role == "Unattached"
    assert machine.quorum.role.election == ElectionState(4, None, key(3))
    assert not any(isinstance(one, Persist) for one in machine.effects())


def test_a_prospective_that_knew_its_leader_goes_back_to_it() -> None:
    machine = Machine(1, 2, 3, stored=ElectionState(4, 2, None))
    machine.wait(2000)
    assert machine.role == "Prospective"
    machine.wait(2000)
    assert (machine.role, machine.quorum.leader_id) == ("Follower", 2)


def test_a_lost_candidate_waits_and_asks_again_without_a_new_epoch() -> None:
    machine = Machine(1, 2, 3)
    for to, request in machine.stand():
        machine.answer(to, request, granted(request))
    for to, request in machine.vote_requests():
        machine.answer(to, request, granted(request, is_granted=False))
    assert machine.role == "Candidate"
    machine.wait(2000)
    assert (machine.role, machine.quorum.epoch) == ("Prospective", 1)


def test_a_voter_from_before_pre_votes_is_asked_the_old_way() -> None:
    machine = Machine(1, 2, 3)
    to, request = machine.stand()[0]
    unknown = VoteResponse(ErrorCode.UNSUPPORTED_VERSION, 0, None, False)
    machine.answer(to, request, unknown)
    assert isinstance(machine.quorum.role, Candidate)


def test_a_leader_without_a_majority_resigns_and_tries_anew() -> None:
    machine = Machine(1, 2, 3)
    machine.elect()
    machine.effects()
    machine.wait(3000)
    assert isinstance(machine.quorum.role, Resigned)
    effects = machine.effects()
    assert StopLeading(1) in effects
    assert not any(isinstance(one, Persist) for one in effects)
    machine.wait(2000)
    assert (machine.role, machine.quorum.epoch) == ("Unattached", 2)


def test_a_final_resignation_is_final() -> None:
    machine = Machine(1, 2, 3)
    machine.elect()
    machine.effects()
    machine.quorum.shut_down(machine.now)
    assert sorted(to or 0 for to, _ in machine.sent()) == [2, 3]
    machine.wait(1_000_000)
    assert machine.role == "Resigned"


def test_losing_the_others_makes_the_last_voter_the_leader() -> None:
    machine = Machine(1, 2)
    machine.quorum.set_voters(voters(1), machine.now)
    assert machine.role == "Leader"


def test_who_is_no_voter_any_more_stops_standing() -> None:
    machine = Machine(1, 2, 3)
    machine.stand()
    machine.quorum.set_voters(voters(2, 3), machine.now)
    assert machine.role == "Unattached"
    machine.wait(1_000_000)
    assert machine.role == "Unattached"


def test_a_static_quorum_does_not_know_directories() -> None:
    machine = Machine(1, 2, 3, stored=ElectionState(3, None, ReplicaKey(1)))
    assert machine.role == "Candidate"


def test_an_observer_asks_again_however_long_it_took_until_somebody_looked() -> None:
    """A slow disk or a busy machine: the backoff was over before the timer was to be set."""
    machine = Machine(1, 2, 3, local=7)
    assert machine.sent() != []
    machine.quorum.request_failed(None, machine.now)
    due = machine.quorum.next_tick()
    assert machine.now < due < NEVER
    machine.now = Instant(due + 1000)
    assert machine.quorum.next_tick() == due
    machine.wait(0)
    assert machine.sent() != []
