"""Requests of others, case by case (formats/quorum 3 to 5)."""

from itertools import product
from typing import Any

import pytest

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.effects import HighWatermarkMoved, Persist
from kafkapy.kraft.quorum.follower import Follower
from kafkapy.kraft.quorum.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey
from tests.kraft.quorum.machine import Machine, NumberLog, address, key

VOTE = VoteRequest("c", key(1), key(2), 5, 4, 10, is_pre_vote=False)
BEGIN = BeginQuorumEpochRequest("c", key(1), 2, 5, address(2))
END = EndQuorumEpochRequest("c", 2, 5, (key(3), key(1)), address(2))
FETCH = FetchRequest("c", key(2), 1, 0, 0)


def log() -> NumberLog:
    made = NumberLog()
    made.append(3, 4)
    made.append(4, 6)
    return made


def in_role(role: str) -> Machine:
    """A voter of three with a log that ends at 10 in epoch 4, in epoch 5."""
    stored = {
        "Unattached": ElectionState(5),
        "voted": ElectionState(5, None, key(2)),
        "led": ElectionState(5, 3, None),
        "Follower": ElectionState(5, 3, None),
        "Resigned": ElectionState(5, 1, None),
        "Candidate": ElectionState(5, None, key(1)),
        "Prospective": ElectionState(5),
        "Leader": ElectionState(4),
    }[role]
    machine = Machine(1, 2, 3, stored=stored, log=log())
    if role == "led":
        machine = Machine(1, 2, stored=stored, log=log())
    elif role == "Prospective":
        machine.stand()
    elif role == "Leader":
        machine.elect()
    assert machine.role == {"voted": "Unattached", "led": "Unattached"}.get(role, role)
    assert machine.quorum.epoch == 5
    machine.effects()
    return machine


def granted(machine: Machine, request: VoteRequest) -> bool:
    answer = machine.quorum.vote(request, machine.now)
    assert answer.error is ErrorCode.NONE
    return answer.is_granted


@pytest.mark.parametrize(
    ("role", "pre_vote", "vote"),
    [
        ("Unattached", True, True),
        ("voted", True, True),
        ("led", True, False),
        ("Prospective", True, True),
        ("Follower", True, False),
        ("Candidate", True, False),
        ("Resigned", True, False),
        ("Leader", False, False),
    ],
)
def test_votes_are_granted_as_the_table_says(role: str, pre_vote: bool, vote: bool) -> None:
    assert granted(in_role(role), VOTE._replace(is_pre_vote=True)) is pre_vote
    assert granted(in_role(role), VOTE) is vote


@pytest.mark.parametrize(
    ("role", "is_pre_vote"), list(product(("Unattached", "Prospective"), (True, False)))
)
def test_a_log_that_is_behind_gets_no_vote(role: str, is_pre_vote: bool) -> None:
    asked = VOTE._replace(is_pre_vote=is_pre_vote)
    for behind in (asked._replace(last_offset=9), asked._replace(last_epoch=3, last_offset=99)):
        assert not granted(in_role(role), behind)
    assert granted(in_role(role), asked._replace(last_offset=11))


def test_a_vote_once_given_is_given_to_the_same_directory_only() -> None:
    machine = in_role("Unattached")
    assert granted(machine, VOTE)
    assert granted(machine, VOTE)
    assert not granted(machine, VOTE._replace(candidate=key(3)))
    assert not granted(machine, VOTE._replace(candidate=ReplicaKey(2, key(3).directory_id)))
    assert not granted(machine, VOTE._replace(candidate=ReplicaKey(2)))


def test_a_vote_is_to_be_made_durable_a_pre_vote_is_not() -> None:
    machine = in_role("Unattached")
    assert granted(machine, VOTE._replace(is_pre_vote=True))
    assert not any(isinstance(one, Persist) for one in machine.effects())
    assert granted(machine, VOTE)
    assert Persist(ElectionState(5, None, key(2))) in machine.effects()


def test_a_follower_that_never_fetched_may_grant_a_pre_vote() -> None:
    machine = in_role("Follower")
    assert granted(machine, VOTE._replace(is_pre_vote=True))
    role = machine.quorum.role
    assert isinstance(role, Follower)
    role.has_fetched = True
    assert not granted(machine, VOTE._replace(is_pre_vote=True))


@pytest.mark.parametrize("is_pre_vote", [True, False])
def test_a_newer_epoch_is_entered_whatever_becomes_of_the_vote(is_pre_vote: bool) -> None:
    for role in ("Leader", "Follower", "Candidate", "Resigned", "Prospective"):
        machine = in_role(role)
        behind = VOTE._replace(epoch=9, last_offset=0, last_epoch=0, is_pre_vote=is_pre_vote)
        assert not granted(machine, behind)
        assert (machine.role, machine.quorum.epoch) == ("Unattached", 9)
        assert Persist(ElectionState(9)) in machine.effects()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epoch": 4, "last_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"last_offset": -1}, ErrorCode.INVALID_REQUEST),
        ({"last_epoch": -1}, ErrorCode.INVALID_REQUEST),
        ({"last_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"candidate": ReplicaKey(-1)}, ErrorCode.INVALID_REQUEST),
        ({"voter": key(2)}, ErrorCode.INVALID_VOTER_KEY),
        ({"voter": ReplicaKey(1, key(2).directory_id)}, ErrorCode.INVALID_VOTER_KEY),
        ({"voter": ReplicaKey(1)}, ErrorCode.NONE),
        ({"voter": None, "cluster_id": None}, ErrorCode.NONE),
    ],
)
def test_votes_that_make_no_sense_are_refused(change: dict[str, Any], error: ErrorCode) -> None:
    machine = in_role("Unattached")
    assert machine.quorum.vote(VOTE._replace(**change), machine.now).error is error


def test_a_pre_vote_may_come_from_the_epoch_of_the_log() -> None:
    machine = in_role("Unattached")
    assert granted(machine, VOTE._replace(is_pre_vote=True, last_epoch=5))


def test_another_cluster_is_refused_as_a_whole() -> None:
    machine = in_role("Leader")
    for ask in (
        lambda: machine.quorum.vote(VOTE._replace(cluster_id="d"), machine.now),
        lambda: machine.quorum.fetch(FETCH._replace(cluster_id="d"), machine.now),
        lambda: machine.quorum.begin_quorum_epoch(BEGIN._replace(cluster_id="d"), machine.now),
        lambda: machine.quorum.end_quorum_epoch(END._replace(cluster_id="d"), machine.now),
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID


def test_the_beginning_of_an_epoch_makes_a_follower() -> None:
    machine = in_role("Unattached")
    answer = machine.quorum.begin_quorum_epoch(BEGIN, machine.now)
    assert (answer.error, answer.leader_id) == (ErrorCode.NONE, 2)
    assert machine.role == "Follower"
    ((to, request),) = machine.sent()
    assert isinstance(request, FetchRequest)
    assert (to, request.epoch) == (2, 5)


def test_news_of_a_leader_are_believed_even_if_meant_for_another() -> None:
    machine = in_role("Unattached")
    answer = machine.quorum.begin_quorum_epoch(BEGIN._replace(voter=key(3)), machine.now)
    assert answer.error is ErrorCode.INVALID_VOTER_KEY
    assert machine.quorum.leader_id == 2


@pytest.mark.parametrize("role", ["Leader", "Follower", "Resigned"])
def test_two_leaders_in_one_epoch_cannot_be(role: str) -> None:
    machine = in_role(role)
    with pytest.raises(Corrupt):
        machine.quorum.begin_quorum_epoch(BEGIN, machine.now)


def test_an_older_leader_is_told_of_the_newer_epoch() -> None:
    machine = in_role("Unattached")
    answer = machine.quorum.begin_quorum_epoch(BEGIN._replace(epoch=4), machine.now)
    assert (answer.error, answer.epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 5)


@pytest.mark.parametrize(
    ("successors", "delay"),
    [((1, 3), 0), ((3, 1), 500), ((3, 4, 1), 500), ((3, 4, 5, 1), 500), ((3, 4), 1000)],
)
def test_successors_stand_one_after_the_other(successors: tuple[int, ...], delay: int) -> None:
    machine = in_role("Unattached")
    machine.quorum.begin_quorum_epoch(BEGIN, machine.now)
    ended = END._replace(successors=tuple(map(key, successors)))
    machine.quorum.end_quorum_epoch(ended, machine.now)
    if delay:
        machine.wait(delay - 1)
        assert machine.role == "Follower"
        machine.wait(1)
    assert machine.role == "Prospective"


def test_only_the_leader_of_this_very_epoch_is_read_from() -> None:
    follower, leader = in_role("Follower"), in_role("Leader")

    def error(machine: Machine, epoch: int) -> ErrorCode:
        ask = FETCH._replace(epoch=epoch, last_fetched_epoch=0)
        return machine.quorum.fetch(ask, machine.now).error

    assert error(follower, 5) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert error(leader, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert error(leader, 6) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert error(leader, 5) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (0, 0, None),
        (4, 3, None),
        (10, 4, None),
        (5, 3, (3, 4)),
        (11, 4, (4, 10)),
        (2, 2, (2, 0)),
    ],
)
def test_a_log_that_parted_is_told_where(
    offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    machine = in_role("Leader")
    ask = FetchRequest("c", key(2), 5, offset, epoch)
    answer = machine.quorum.fetch(ask, machine.now)
    assert (answer.error, answer.diverging) == (ErrorCode.NONE, diverging)


@pytest.mark.parametrize(("offset", "epoch"), [(-1, 0), (0, -1), (0, 6)])
def test_fetches_that_make_no_sense_are_refused(offset: int, epoch: int) -> None:
    machine = in_role("Leader")
    answer = machine.quorum.fetch(FetchRequest("c", key(2), 5, offset, epoch), machine.now)
    assert answer.error is ErrorCode.INVALID_REQUEST


def test_what_is_no_longer_in_the_log_comes_as_a_snapshot() -> None:
    machine = in_role("Leader")
    machine.log.snapshots = [SnapshotId(0, 0)]

    def snapshot(offset: int, epoch: int) -> SnapshotId | None:
        ask = FetchRequest("c", key(2), 5, offset, epoch)
        return machine.quorum.fetch(ask, machine.now).snapshot

    assert snapshot(0, 0) is None
    machine.log.snapshots = [SnapshotId(4, 3), SnapshotId(8, 4)]
    assert snapshot(0, 0) == SnapshotId(8, 4)
    machine.log.start_offset = 4
    assert snapshot(3, 3) == SnapshotId(8, 4)
    assert snapshot(4, 2) == SnapshotId(8, 4)
    assert snapshot(4, 3) is None
    assert snapshot(10, 4) is None


def test_a_fetch_commits_what_a_majority_has() -> None:
    machine = in_role("Leader")
    machine.log.append(5)
    machine.quorum.log_flushed(11, machine.now)
    answer = machine.quorum.fetch(FetchRequest("c", key(2), 5, 11, 5), machine.now)
    assert answer.high_watermark == machine.quorum.high_watermark == 11
    assert HighWatermarkMoved(11) in machine.effects()


def test_snapshots_are_read_within_their_size() -> None:
    machine = in_role("Leader")

    def error(position: int, size: int | None, end_offset: int = 4) -> ErrorCode:
        snapshot = SnapshotId(end_offset, 3 if end_offset else 0)
        ask = FetchSnapshotRequest("c", key(2), 5, snapshot, position, 100)
        return machine.quorum.fetch_snapshot(ask, size, machine.now).error

    assert error(0, 100) is ErrorCode.NONE
    assert error(99, 100) is ErrorCode.NONE
    assert error(100, 100) is ErrorCode.POSITION_OUT_OF_RANGE
    assert error(-1, 100) is ErrorCode.POSITION_OUT_OF_RANGE
    assert error(0, None) is ErrorCode.SNAPSHOT_NOT_FOUND
    assert error(0, 100, end_offset=0) is ErrorCode.SNAPSHOT_NOT_FOUND


def test_who_asks_for_a_snapshot_is_with_its_leader_even_if_that_is_gone() -> None:
    """It may be at installing it, and asks to show that it is there."""
    machine = in_role("Leader")
    ask = FetchSnapshotRequest("c", key(2), 5, SnapshotId(4, 3), 99, 1)
    for _ in range(8):
        machine.wait(1000)
        machine.quorum.fetch_snapshot(ask, None, machine.now)
    assert machine.role == "Leader"
    machine.wait(3001)
    assert machine.role != "Leader"


def test_a_node_that_stops_serves_nobody() -> None:
    machine = in_role("Leader")
    machine.quorum.shut_down(machine.now)
    assert machine.role == "Resigned"
    gone = ErrorCode.BROKER_NOT_AVAILABLE
    assert machine.quorum.vote(VOTE, machine.now).error is gone
    assert machine.quorum.fetch(FETCH._replace(epoch=5), machine.now).error is gone
