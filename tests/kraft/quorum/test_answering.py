"""What a replica tells the others: after it is durable, when there is news, or nothing at all."""

import pytest

from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.quorum.answering import QuorumStopped
from kafkapy.kraft.quorum.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    VoteRequest,
    VoteResponse,
)
from kafkapy.kraft.quorum.voters import ReplicaKey, parse_voters
from kafkapy.kraft.records.metadata import (
    NoOpRecord,
)
from kafkapy.kraft.uuids import new_uuid
from kafkapy.protocol.batches.batch import batches
from kafkapy.sim.world.rng import SimRng
from tests.kraft.support import LOG, Node, World, formatted

DIRECTORY = new_uuid(SimRng(2))
AT_ONCE = SnapshotSettings(max_new_record_bytes=1)


def test_others_may_ask_it() -> None:
    node = formatted().node().start()
    vote = VoteRequest("cluster", None, ReplicaKey(2), 1, 0, 0, is_pre_vote=False)
    assert node.quorum.answering.handle(vote) == VoteResponse(
        ErrorCode.NONE, 1, 1, False, node.quorum.settings.endpoints
    )
    fetch = FetchRequest("cluster", ReplicaKey(2), 1, 0, 0)
    answers: list[FetchResponse | Exception] = []
    node.quorum.answering.fetch(fetch._replace(max_bytes=10_000), answers.append)
    answer = answers[0]
    assert isinstance(answer, FetchResponse)
    assert answer.error is ErrorCode.NONE
    assert len(answer.records) > 400
    assert [one.id for one in node.quorum.describe().observers] == [2]


def test_a_vote_is_durable_before_it_is_given() -> None:
    world = World()
    world.format(standalone=None)
    voters = parse_voters("1@a:1,2@b:1,3@c:1", "CONTROLLER")
    node = world.node(voters=voters).start()
    vote = VoteRequest("cluster", None, ReplicaKey(2), 4, 0, 0, is_pre_vote=False)
    answer = node.quorum.answering.handle(vote)
    assert isinstance(answer, VoteResponse)
    assert answer.is_granted
    assert b'"leaderEpoch":4,"votedId":2' in world.disk.read_file(f"{LOG}/quorum-state")
    world.disk.crash(world.rng)
    again = world.node(voters=voters).start()
    other = vote._replace(candidate=ReplicaKey(3))
    answer = again.quorum.answering.handle(other)
    assert isinstance(answer, VoteResponse)
    assert not answer.is_granted


def test_a_vote_that_could_not_be_persisted_is_never_told() -> None:
    world = World()
    world.format(standalone=None)
    voters = parse_voters("1@a:1,2@b:1,3@c:1", "CONTROLLER")
    node = world.node(voters=voters).start()
    failures: list[DiskFailed] = []
    node.quorum.on_failed = failures.append
    world.disk.fail("write_file", in_path="quorum-state")
    vote = VoteRequest("cluster", None, ReplicaKey(2), 4, 0, 0, is_pre_vote=False)
    for _ in range(2):  # it is over, and stays so
        with pytest.raises(QuorumStopped):
            node.quorum.answering.handle(vote)
    assert failures


def test_who_has_failed_judges_no_voters_either() -> None:
    """What could not be persisted is in none of its answers."""
    world = World()
    world.format(standalone=None)
    node = world.node(voters=parse_voters("1@a:1,2@b:1,3@c:1", "CONTROLLER"))
    node.start()
    world.disk.fail("write_file", in_path="quorum-state")
    vote = VoteRequest("cluster", None, ReplicaKey(2), 4, 0, 0, is_pre_vote=False)
    led: list[None] = []
    node.quorum.when_led(lambda: led.append(None))
    with pytest.raises(QuorumStopped):
        node.quorum.answering.handle(vote)
    answers: list[object] = []
    with pytest.raises(QuorumStopped):
        node.quorum.voter_changes.ask(
            RemoveVoterRequest("cluster", ReplicaKey(2, DIRECTORY)), answers.append
        )
    assert (answers, led) == ([], [])


@pytest.mark.parametrize("in_path", [".checkpoint", "00000000000000000000.log"])
def test_a_leader_that_cannot_read_what_it_is_asked_for_ends(
    in_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE).start()
    world.clock.settle()
    quorum = node.quorum
    latest = quorum.log.latest_snapshot
    assert latest is not None
    answers: list[FetchResponse | Exception] = []
    if in_path == ".checkpoint":
        world.disk.fail("read", in_path=in_path)
        with pytest.raises(QuorumStopped):
            quorum.answering.handle(
                FetchSnapshotRequest("cluster", ReplicaKey(2), 1, latest, 10, 20)
            )
    else:

        def fails(*_: object) -> bytes:
            raise DiskFailed(in_path, "I/O error")

        monkeypatch.setattr(quorum.log, "read", fails)
        fetch = FetchRequest("cluster", ReplicaKey(2), 1, quorum.log.end_offset, 1)
        quorum.answering.fetch(fetch, answers.append)
        assert isinstance(answers[0], QuorumStopped)
    assert "failed" in node.told[-1]
    assert not quorum.is_active


def test_a_replica_that_has_not_begun_or_has_ended_says_nothing() -> None:
    world = World()
    world.format(standalone=None)
    voters = parse_voters("1@a:1,2@b:1,3@c:1", "CONTROLLER")
    node = world.node(voters=voters)
    vote = VoteRequest("cluster", None, ReplicaKey(2), 4, 0, 0, is_pre_vote=False)
    with pytest.raises(QuorumStopped):
        node.quorum.answering.handle(vote)
    node.start()
    node.quorum.answering.handle(vote)
    node.quorum.close(lambda _: None)
    with pytest.raises(QuorumStopped):
        node.quorum.answering.handle(vote)


def test_a_fetch_waits_for_news_and_no_longer_than_it_says() -> None:
    node = formatted().node().start()
    clock = node.world.clock
    end = node.quorum.log.end_offset
    fetch = FetchRequest("cluster", ReplicaKey(2), 1, end, 1, end, max_wait_ms=500, max_bytes=9999)
    answers: list[FetchResponse | Exception] = []
    node.quorum.answering.fetch(fetch, answers.append)
    clock.advance(499)
    assert answers == []
    clock.advance(1)
    assert [getattr(one, "records", None) for one in answers] == [b""]
    node.quorum.answering.fetch(fetch, answers.append)
    node.quorum.append([NoOpRecord()])
    node.quorum.append([NoOpRecord()])
    assert len(answers) == 1
    clock.advance(0)
    assert isinstance(answers[1], FetchResponse)
    assert sum(1 for _ in batches(memoryview(answers[1].records))) == 2


def test_a_replica_behind_with_the_high_watermark_hears_of_it_at_once() -> None:
    node = formatted().node().start()
    end = node.quorum.log.end_offset
    fetch = FetchRequest("cluster", ReplicaKey(2), 1, end, 1, end - 1, max_wait_ms=500)
    answers: list[FetchResponse | Exception] = []
    node.quorum.answering.fetch(fetch, answers.append)
    assert [getattr(one, "high_watermark", None) for one in answers] == [end]


def test_who_waits_when_the_quorum_ends_is_told_nothing() -> None:
    node = formatted().node().start()
    end = node.quorum.log.end_offset
    fetch = FetchRequest("cluster", ReplicaKey(2), 1, end, 1, end, max_wait_ms=500)
    answers: list[FetchResponse | Exception] = []
    node.quorum.answering.fetch(fetch, answers.append)
    node.quorum.close(lambda _: None)
    assert isinstance(answers[0], QuorumStopped)


def test_reading_a_snapshot_for_another_replica() -> None:
    world = formatted()
    node = world.node(snapshots=AT_ONCE).start()
    world.clock.settle()
    latest = node.quorum.log.latest_snapshot
    assert latest is not None
    whole = world.disk.read_file(f"{LOG}/{latest.file_name}")
    ask = FetchSnapshotRequest("cluster", ReplicaKey(2), 1, latest, 10, 20)
    answer = node.quorum.answering.handle(ask)
    assert isinstance(answer, FetchSnapshotResponse)
    assert (answer.size, answer.data) == (len(whole), whole[10:30])
    assert isinstance(node.quorum.log, MetadataLog)
    assert isinstance(node, Node)
