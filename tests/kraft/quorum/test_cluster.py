"""Three and five voters under faults: elections, replication, truncation, snapshots."""

import pytest

from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.quorum.answering import QuorumStopped
from kafkapy.kraft.quorum.messages import VoteRequest
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.kraft.quorum.voters import ReplicaKey
from tests.kraft.quorum.cluster import Cluster


def test_three_voters_elect_one_and_agree() -> None:
    cluster = Cluster(3, seed=1)
    leader = cluster.wait_for_leader()
    for _ in range(5):
        cluster.append(leader)
    cluster.run(1000)
    assert len(cluster.acknowledged) == 5
    cluster.heal()


def test_two_voters_need_one_another() -> None:
    cluster = Cluster(2, seed=1)
    leader = cluster.wait_for_leader()
    other = cluster.members[0] if leader is cluster.members[1] else cluster.members[1]
    other.kill()
    cluster.append(leader)
    cluster.run(10_000)
    assert cluster.acknowledged == []
    assert cluster.leader is None
    cluster.heal()


def test_a_leader_cut_off_from_the_majority_stops_acknowledging() -> None:
    """Cut the leader away, keep writing to it, heal: nothing it acknowledged is lost."""
    cluster = Cluster(3, seed=2)
    old = cluster.wait_for_leader()
    cluster.append(old)
    cluster.run(500)
    cluster.cut_off = {old.id}
    for _ in range(3):
        cluster.append(old)
    assert cluster.run_until(lambda: cluster.leader not in (None, old), 60_000)
    new = cluster.wait_for_leader()
    cluster.append(new)
    cluster.run(5000)
    assert cluster.acknowledged == ["t1", "t5"]
    assert old.quorum is not None
    assert not old.quorum.is_active, "without a majority it resigns"
    cluster.heal()


def test_a_voter_that_was_cut_off_does_not_disturb_the_others() -> None:
    """Pre-vote: it cannot win, so it makes no new epoch (KIP-996)."""
    cluster = Cluster(3, seed=3)
    leader = cluster.wait_for_leader()
    epoch = leader.quorum.leader_epoch if leader.quorum else -1
    away = next(one for one in cluster.members if one is not leader)
    cluster.cut_off = {away.id}
    cluster.run(20_000)
    cluster.heal()
    assert leader.quorum is not None
    assert (cluster.leader, leader.quorum.leader_epoch) == (leader, epoch)


def test_a_stopping_leader_hands_over_quickly() -> None:
    cluster = Cluster(3, seed=4)
    leader = cluster.wait_for_leader()
    cluster.append(leader)
    cluster.run(500)
    assert leader.quorum is not None
    leader.quorum.close(lambda _: None)
    before = cluster.clock.now()
    assert cluster.run_until(lambda: cluster.leader not in (None, leader), 10_000)
    assert cluster.clock.now() - before < 2500


def test_one_that_is_far_behind_gets_a_snapshot() -> None:
    snapshots = SnapshotSettings(max_new_record_bytes=200, max_retention_bytes=0)
    cluster = Cluster(3, seed=5, snapshots=snapshots)
    leader = cluster.wait_for_leader()
    away = next(one for one in cluster.members if one is not leader)
    away.kill()
    for _ in range(20):
        cluster.append(leader)
        cluster.run(200)
    assert leader.quorum is not None
    assert leader.quorum.log.start_offset > 10
    told: list[int] = []
    away.start()
    assert away.quorum is not None
    away.quorum.subscribe(lambda image, delta: told.append(len(delta.topics_created)))
    cluster.heal()
    assert away.quorum.log.start_offset > 10
    assert sum(told) == 20


def test_a_candidate_with_a_shorter_log_is_not_elected() -> None:
    cluster = Cluster(3, seed=6)
    leader = cluster.wait_for_leader()
    cluster.append(leader)
    cluster.run(1000)
    assert leader.quorum is not None
    epoch = leader.quorum.leader_epoch
    ask = VoteRequest("c", None, ReplicaKey(9), epoch + 1, 0, 0, is_pre_vote=False)
    for member in cluster.members:
        if member is not leader and member.quorum is not None:
            answer = member.quorum.answering.handle(ask)
            assert not getattr(answer, "is_granted", True)
    cluster.heal()


def test_who_did_the_half_of_it_ends_and_votes_no_more() -> None:
    """A controller that cannot resign comes before the vote that is to be written down."""
    cluster = Cluster(3, seed=7)
    leader = cluster.wait_for_leader()
    quorum = leader.quorum
    assert quorum is not None

    def fails() -> None:
        raise RuntimeError("a bug")

    quorum.on_resign = fails
    epoch = quorum.leader_epoch
    ask = VoteRequest("c", None, ReplicaKey(9), epoch + 1, epoch, 1 << 40, is_pre_vote=False)
    with pytest.raises(RuntimeError, match="a bug"):
        quorum.answering.handle(ask)
    with pytest.raises(QuorumStopped):
        quorum.answering.handle(ask)
    with pytest.raises(RuntimeError, match="a bug"):
        cluster.run(1)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_acknowledged_is_lost_whatever_happens(seed: int) -> None:
    """Crash, restart, part and heal at random while writing; then let them agree."""
    count = 3 if seed % 3 else 5
    small = SnapshotSettings(max_new_record_bytes=600, max_retention_bytes=2000)
    # Hasty voters stand for election at the same time again and again.
    hasty = QuorumSettings(election_timeout_ms=30, fetch_timeout_ms=200)
    cluster = Cluster(
        count,
        seed,
        snapshots=small if seed % 2 else None,
        quorum=hasty if seed % 4 > 1 else None,
    )
    dice = cluster.rng.fork("nemesis")
    for _ in range(40):
        cluster.loss = dice.below(3) * 10
        what = dice.below(5)
        victim = cluster.members[dice.below(count)]
        if what == 0:
            if victim.quorum is None:
                victim.start()
            else:
                victim.kill()
        elif what == 1:
            cluster.cut_off = {one.id for one in cluster.members if dice.below(3) == 0}
        elif what == 2:
            cluster.cut_off = set()
        for member in cluster.members:
            cluster.append(member)
        cluster.run(dice.below(1500))
        cluster.check_logs()
    cluster.heal()
