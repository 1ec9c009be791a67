"""Answers of others: what they change, and when they come too late to."""

import pytest

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.effects import (
    AppendFetched,
    FetchSnapshot,
    HighWatermarkMoved,
    SnapshotPiece,
    Truncate,
)
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.messages import (
    BeginQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteResponse,
)
from kafkapy.kraft.quorum.resigned import Resigned
from kafkapy.kraft.quorum.state_file import ElectionState
from tests.kraft.quorum.machine import Machine, NumberLog, address, granted

NONE = ErrorCode.NONE
ANSWER = FetchResponse(NONE, 4, 2, high_watermark=0, log_start_offset=0)


def follower(log: NumberLog | None = None) -> tuple[Machine, FetchRequest]:
    """A follower of 2 in epoch 4 that has just asked to fetch."""
    machine = Machine(1, 2, 3, stored=ElectionState(4, 2, None), log=log)
    ((to, request),) = machine.sent()
    assert to == 2
    assert isinstance(request, FetchRequest)
    return machine, request


def logged(*epochs: int) -> NumberLog:
    log = NumberLog()
    for epoch in epochs:
        log.append(epoch)
    return log


def test_records_are_appended_and_only_then_more_is_asked_for() -> None:
    machine, request = follower()
    answer = ANSWER._replace(records=b"batch", high_watermark=1)
    machine.quorum.response(2, request, answer, machine.now)
    assert machine.effects() == [AppendFetched(b"batch", 4)]
    machine.log.append(4)
    machine.quorum.log_flushed(1, machine.now)
    moved, sent = machine.effects()
    assert moved == HighWatermarkMoved(1)
    assert getattr(sent, "request", None) == request._replace(
        offset=1, last_fetched_epoch=4, high_watermark=1
    )


def test_no_fetch_speaks_of_what_is_not_durable() -> None:
    log = logged(4)
    log.flushed = 0
    machine = Machine(1, 2, 3, stored=ElectionState(4, 2, None), log=log)
    assert machine.sent() == []
    log.flushed = 1
    machine.quorum.log_flushed(1, machine.now)
    assert len(machine.sent()) == 1


def test_no_vote_is_asked_for_with_what_is_not_durable() -> None:
    """Its power goes, and who voted for it in this epoch votes for it again, whatever is left."""
    log = logged(1, 1)
    machine = Machine(1, 2, 3, log=log)
    log.append(1)
    log.flushed = 2
    assert machine.stand() == []
    log.flushed = 3
    machine.quorum.log_flushed(3, machine.now)
    requests = machine.vote_requests()
    assert [(to, one.last_offset) for to, one in requests] == [(2, 3), (3, 3)]


def test_a_follower_commits_no_more_than_it_has() -> None:
    machine, request = follower(logged(4))
    machine.quorum.response(2, request, ANSWER._replace(high_watermark=99), machine.now)
    assert machine.quorum.high_watermark == 1


def test_a_successful_fetch_puts_the_election_off() -> None:
    machine, request = follower()
    machine.wait(1500)
    machine.quorum.response(2, request, ANSWER, machine.now)
    machine.wait(1999)
    assert machine.role == "Follower"
    machine.wait(1)
    assert machine.role == "Prospective"


@pytest.mark.parametrize(
    ("epochs", "diverging", "point"),
    [
        ((1, 1, 3), (1, 1), 1),
        ((1, 1, 3), (1, 9), 2),
        ((1, 1, 3), (2, 9), 2),
        ((1, 1, 3), (0, 1), 1),
        ((1, 1, 3), (0, 9), 3),
    ],
)
def test_a_log_is_cut_where_it_parted_from_the_leaders(
    epochs: tuple[int, ...], diverging: tuple[int, int], point: int
) -> None:
    machine, request = follower(logged(*epochs))
    machine.quorum.response(2, request, ANSWER._replace(diverging=diverging), machine.now)
    assert machine.effects()[0] == Truncate(point)


def test_what_is_committed_is_never_cut() -> None:
    machine, request = follower(logged(1, 1, 3))
    machine.quorum.response(2, request, ANSWER._replace(high_watermark=3), machine.now)
    again = next(one for _, one in machine.sent())
    with pytest.raises(AssertionError, match="3 is committed"):
        machine.quorum.response(2, again, ANSWER._replace(diverging=(1, 1)), machine.now)


def test_an_answer_to_an_older_fetch_is_late() -> None:
    machine, request = follower(logged(1, 3))
    machine.log.append(4)
    machine.quorum.response(2, request, ANSWER._replace(diverging=(1, 1)), machine.now)
    assert not any(isinstance(one, Truncate) for one in machine.effects())


def test_an_answer_of_another_epoch_counts_for_nothing_but_the_epoch() -> None:
    machine, request = follower()
    machine.quorum.response(2, request, ANSWER._replace(epoch=3, records=b"x"), machine.now)
    assert not any(isinstance(one, AppendFetched) for one in machine.effects())
    machine.quorum.response(
        2, request, ANSWER._replace(epoch=6, leader_id=None, records=b"x"), machine.now
    )
    assert (machine.role, machine.quorum.epoch) == ("Unattached", 6)
    assert not any(isinstance(one, AppendFetched) for one in machine.effects())


def test_a_replica_that_is_asked_in_vain_names_the_leader() -> None:
    machine = Machine(1, 2, 3)
    ((to, request),) = machine.sent()
    assert to is None
    elsewhere = FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 7, 3, leader_endpoints=address(3))
    machine.quorum.response(None, request, elsewhere, machine.now)
    assert (machine.role, machine.quorum.leader_id, machine.quorum.epoch) == ("Follower", 3, 7)
    assert machine.sent()[0][0] == 3


def test_a_failed_leader_is_asked_again_and_others_meanwhile() -> None:
    machine, _ = follower()
    machine.quorum.request_failed(2, machine.now)
    machine.wait(0)
    assert [to for to, _ in machine.sent()] == [None]
    machine.wait(20)
    assert 2 in [to for to, _ in machine.sent()]


def test_a_snapshot_is_copied_in_pieces_then_fetching_goes_on() -> None:
    machine, request = follower()
    snapshot = SnapshotId(8, 3)
    machine.quorum.response(2, request, ANSWER._replace(snapshot=snapshot), machine.now)
    begin, first = machine.effects()
    assert begin == FetchSnapshot(snapshot)
    asked = getattr(first, "request", None)
    assert isinstance(asked, FetchSnapshotRequest)
    assert asked.position == 0

    piece = FetchSnapshotResponse(NONE, 4, 2, snapshot, size=5, position=0, data=b"abc")
    machine.quorum.response(2, asked, piece, machine.now)
    machine.quorum.response(2, asked, piece, machine.now)  # late
    kept, second, *_ = machine.effects()
    assert kept == SnapshotPiece(snapshot, 0, 5, b"abc")
    asked = getattr(second, "request", None)
    assert isinstance(asked, FetchSnapshotRequest)
    assert asked.position == 3
    last = piece._replace(position=3, data=b"de")
    machine.quorum.response(2, asked, last, machine.now)
    assert machine.effects() == [SnapshotPiece(snapshot, 3, 5, b"de")]
    machine.log.end_offset = machine.log.start_offset = 8
    machine.quorum.install_ended(machine.now, is_installed=True)
    ((_, fetch),) = machine.sent()
    assert isinstance(fetch, FetchRequest)
    assert fetch.offset == 8


def test_a_snapshot_that_vanished_is_given_up() -> None:
    machine, request = follower()
    snapshot = SnapshotId(8, 3)
    machine.quorum.response(2, request, ANSWER._replace(snapshot=snapshot), machine.now)
    ((_, asked),) = machine.sent()
    gone = FetchSnapshotResponse(ErrorCode.SNAPSHOT_NOT_FOUND, 4, 2)
    machine.quorum.response(2, asked, gone, machine.now)
    machine.wait(20)
    assert any(isinstance(one, FetchRequest) for _, one in machine.sent())


def test_data_of_another_place_is_corrupt() -> None:
    machine, request = follower()
    snapshot = SnapshotId(8, 3)
    machine.quorum.response(2, request, ANSWER._replace(snapshot=snapshot), machine.now)
    ((_, asked),) = machine.sent()
    wrong = FetchSnapshotResponse(NONE, 4, 2, snapshot, size=5, position=2, data=b"abc")
    with pytest.raises(Corrupt):
        machine.quorum.response(2, asked, wrong, machine.now)


def test_votes_of_an_election_that_is_over_do_not_count() -> None:
    machine = Machine(1, 2, 3)
    pre_votes = machine.stand()
    machine.answer(*pre_votes[0], granted(pre_votes[0][1]))
    votes = machine.vote_requests()
    machine.answer(*pre_votes[1], granted(pre_votes[1][1]))
    assert machine.role == "Candidate"
    machine.wait(2000)
    assert machine.role == "Prospective"
    machine.answer(*votes[0], granted(votes[0][1]))
    assert machine.role == "Prospective"


def test_an_answer_that_names_a_leader_ends_the_election() -> None:
    machine = Machine(1, 2, 3)
    to, request = machine.stand()[0]
    told = VoteResponse(NONE, 3, 2, False, address(2))
    machine.answer(to, request, told)
    assert (machine.role, machine.quorum.epoch) == ("Follower", 3)


def test_a_voter_that_stops_is_asked_again() -> None:
    machine = Machine(1, 2, 3)
    to, request = machine.stand()[0]
    machine.answer(to, request, VoteResponse(ErrorCode.BROKER_NOT_AVAILABLE, 0, None, False))
    machine.wait(20)
    assert [one for one, _ in machine.vote_requests()] == [to]


def test_a_new_leader_tells_the_others_until_they_fetch() -> None:
    machine = Machine(1, 2, 3)
    machine.elect()
    told = machine.sent()
    assert sorted(to or 0 for to, _ in told) == [2, 3]
    for to, request in told:
        assert isinstance(request, BeginQuorumEpochRequest)
        machine.quorum.response(to, request, EpochResponse(NONE, 1, 1), machine.now)
    leader = machine.quorum.role
    assert isinstance(leader, Leader)
    assert leader.voters[2].has_acknowledged
    machine.wait(1000)
    assert sorted(to or 0 for to, _ in machine.sent()) == [2, 3]


def test_who_has_heard_of_the_end_is_not_told_again() -> None:
    machine = Machine(1, 2, 3)
    machine.elect()
    machine.effects()
    machine.quorum.shut_down(machine.now)
    told = machine.sent()
    machine.quorum.response(told[0][0], told[0][1], EpochResponse(NONE, 1, None), machine.now)
    role = machine.quorum.role
    assert isinstance(role, Resigned)
    assert role.untold == {told[1][0]}
