"""Voters come and go while the cluster works (KIP-853), whoever leads or dies meanwhile."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.quorum.messages import AddVoterRequest, RemoveVoterRequest, UpdateVoterRequest
from kafkapy.kraft.quorum.voters import ReplicaKey
from kafkapy.kraft.uuids import new_uuid
from tests.kraft.quorum.cluster import Cluster, Member


def voters_of(member: Member) -> list[int]:
    assert member.quorum is not None
    return member.quorum.voters.ids


def all_know(cluster: Cluster, *ids: int) -> bool:
    return all(voters_of(one) == list(ids) for one in cluster.members if one.quorum is not None)


def test_a_newcomer_is_added_and_counts() -> None:
    """Add a second voter to one, and the second one's death stops the first."""
    cluster = Cluster(1, seed=1, is_dynamic=True)
    cluster.wait_for_leader()
    newcomer = cluster.newcomer()
    cluster.run(2000)
    change = cluster.add(newcomer)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    cluster.wait(lambda: all_know(cluster, 1, 2))
    newcomer.kill()
    cluster.append(cluster.member(1))
    cluster.run(10_000)
    assert cluster.acknowledged == []
    cluster.heal()


def test_a_voter_is_removed_and_counts_no_more() -> None:
    cluster = Cluster(3, seed=2, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.run(500)
    gone, stays = [one for one in cluster.members if one is not leader]
    change = cluster.remove(gone.key)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    cluster.wait(lambda: all_know(cluster, *sorted((leader.id, stays.id))))
    stays.kill()
    cluster.run(10_000)
    assert cluster.leader is None, "the removed one is no majority with the leader"
    cluster.heal()


def test_a_leader_that_removes_itself_leads_until_that_is_committed() -> None:
    cluster = Cluster(3, seed=3, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.run(500)
    others = [one.id for one in cluster.members if one is not leader]
    before = cluster.clock.now()
    change = cluster.remove(leader.key)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    cluster.wait(lambda: cluster.leader not in (None, leader))
    assert cluster.clock.now() - before < 2500, "it says goodbye to the others"
    cluster.wait(lambda: all_know(cluster, *others))
    cluster.append(cluster.wait_for_leader())
    cluster.heal()
    assert len(cluster.acknowledged) == 1


def test_a_leader_removed_while_it_was_down_does_not_disturb_the_others() -> None:
    cluster = Cluster(3, seed=4, is_dynamic=True)
    old = cluster.wait_for_leader()
    cluster.run(500)
    key = old.key
    old.kill()
    cluster.wait(lambda: cluster.leader not in (None, old))
    cluster.run(500)
    change = cluster.remove(key)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    new = cluster.wait_for_leader()
    assert new.quorum is not None
    epoch = new.quorum.leader_epoch
    old.start()
    cluster.run(20_000)
    cluster.heal()
    assert (cluster.leader, new.quorum.leader_epoch) == (new, epoch)


def test_one_with_an_empty_disk_replaces_what_it_was() -> None:
    """Its old self must go first: the same id with another directory is another replica."""
    cluster = Cluster(3, seed=5, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.append(leader)
    cluster.run(500)
    victim = next(one for one in cluster.members if one is not leader)
    old_key = victim.key
    victim.kill()
    victim.replace_disk()
    victim.start()
    assert victim.key != old_key
    cluster.run(2000)
    assert cluster.add(victim).error is ErrorCode.DUPLICATE_VOTER
    assert cluster.remove(victim.key).error is ErrorCode.VOTER_NOT_FOUND
    removed = cluster.remove(old_key)
    cluster.wait(lambda: removed.error is ErrorCode.NONE)
    added = cluster.add(victim)
    cluster.wait(lambda: added.error is ErrorCode.NONE)
    cluster.heal()
    assert leader.quorum is not None
    assert leader.quorum.voters.has(victim.key)


def test_a_controller_may_join_by_itself_and_replace_what_it_was() -> None:
    cluster = Cluster(3, seed=6, is_dynamic=True)
    leader = cluster.wait_for_leader()
    newcomer = cluster.newcomer(joins_by_itself=True)
    cluster.wait(lambda: all_know(cluster, 1, 2, 3, 4))
    victim = next(one for one in cluster.members if one not in (leader, newcomer))
    victim.kill()
    victim.replace_disk()
    victim.joins_by_itself = True
    victim.start()
    cluster.wait(lambda: leader.quorum is not None and leader.quorum.voters.has(victim.key))
    cluster.heal()


def test_a_voter_that_moved_tells_the_leader() -> None:
    cluster = Cluster(3, seed=7, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.run(500)
    mover = next(one for one in cluster.members if one is not leader)
    mover.kill()
    mover.port = 777
    mover.start()

    def is_known() -> bool:
        voter = None if leader.quorum is None else leader.quorum.voters.get(mover.id)
        return voter is not None and voter.endpoints == mover.endpoints

    cluster.wait(is_known)
    cluster.heal()


def test_an_uncommitted_set_is_in_force_and_goes_with_its_leader() -> None:
    """Cut the leader away, let it remove another, heal: the log of the others wins."""
    cluster = Cluster(3, seed=8, is_dynamic=True)
    old = cluster.wait_for_leader()
    cluster.run(500)
    other = next(one for one in cluster.members if one is not old)
    cluster.cut_off = {old.id}
    change = cluster.change(RemoveVoterRequest("c", other.key), old)
    assert len(voters_of(old)) == 2
    cluster.wait(lambda: change.error is not None)
    assert change.error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    cluster.wait(lambda: cluster.leader not in (None, old))
    cluster.append(cluster.wait_for_leader())
    cluster.heal()
    assert all_know(cluster, 1, 2, 3)


def test_one_change_at_a_time() -> None:
    cluster = Cluster(3, seed=9, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.run(500)
    first, second = [one.key for one in cluster.members if one is not leader]
    change = cluster.remove(first)
    assert cluster.remove(second).error is ErrorCode.REQUEST_TIMED_OUT
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    change = cluster.remove(second)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    last = cluster.remove(leader.key)
    assert last.error is ErrorCode.VOTER_NOT_FOUND, "somebody has to lead"


def test_what_cannot_be_is_refused() -> None:
    cluster = Cluster(2, seed=10, is_dynamic=True)
    leader = cluster.wait_for_leader()
    cluster.run(500)
    other = next(one for one in cluster.members if one is not leader)
    absent = ReplicaKey(9, new_uuid(cluster.rng))
    at = other.endpoints
    good = AddVoterRequest("c", absent, at, 2000)
    for request, error in (
        (good._replace(cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (good._replace(voter=ReplicaKey(9)), ErrorCode.INVALID_REQUEST),
        (good._replace(endpoints=()), ErrorCode.INVALID_REQUEST),
        (good._replace(voter=other.key), ErrorCode.DUPLICATE_VOTER),
        (RemoveVoterRequest("c", absent), ErrorCode.VOTER_NOT_FOUND),
        (RemoveVoterRequest("c", ReplicaKey(other.id)), ErrorCode.INVALID_REQUEST),
    ):
        assert cluster.change(request).error is error, request
    assert cluster.change(good, other).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    change = cluster.change(good)
    cluster.wait(lambda: change.error is not None)
    assert change.error is ErrorCode.REQUEST_TIMED_OUT, "it has never fetched"
    assert leader.quorum is not None
    update = UpdateVoterRequest("c", leader.quorum.leader_epoch, absent, at, (0, 1))
    for asked, error in (
        (update, ErrorCode.VOTER_NOT_FOUND),
        (update._replace(endpoints=()), ErrorCode.INVALID_REQUEST),
        (update._replace(kraft_versions=(0, 0)), ErrorCode.INVALID_REQUEST),
        (update._replace(epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
    ):
        assert cluster.change(asked).error is error, asked


def test_a_static_quorum_changes_no_voters_until_it_is_upgraded() -> None:
    cluster = Cluster(3, seed=11)
    leader = cluster.wait_for_leader()
    newcomer = cluster.newcomer()
    cluster.run(2000)
    assert cluster.add(newcomer).error is ErrorCode.UNSUPPORTED_VERSION
    assert leader.quorum is not None
    assert leader.quorum.cannot_raise_kraft_version() is not None, "nobody has told of itself"
    quorum = leader.quorum
    cluster.wait(lambda: quorum.cannot_raise_kraft_version() is None)
    quorum.raise_kraft_version()
    cluster.wait(
        lambda: all(
            one.quorum is not None and one.quorum.kraft_version == 1 for one in cluster.members
        )
    )
    cluster.run(500)
    change = cluster.add(newcomer)
    cluster.wait(lambda: change.error is ErrorCode.NONE)
    cluster.wait(lambda: all_know(cluster, 1, 2, 3, 4))
    for member in cluster.members:
        member.kill()
    cluster.heal()
    assert all_know(cluster, 1, 2, 3, 4)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_acknowledged_is_lost_while_voters_come_and_go(seed: int) -> None:
    """Add, remove, replace, crash, part and heal at random while writing."""
    small = SnapshotSettings(max_new_record_bytes=600, max_retention_bytes=2000)
    cluster = Cluster(3, seed, snapshots=small if seed % 2 else None, is_dynamic=True)
    dice = cluster.rng.fork("nemesis")
    cluster.wait_for_leader()
    cluster.newcomer()
    cluster.newcomer(joins_by_itself=True)
    for _ in range(40):
        cluster.loss = dice.below(3) * 5
        what = dice.below(8)
        victim = cluster.members[dice.below(len(cluster.members))]
        if what == 0:
            if victim.quorum is None:
                victim.start()
            else:
                victim.kill()
        elif what == 1:
            cluster.cut_off = {one.id for one in cluster.members if dice.below(3) == 0}
        elif what == 2:
            cluster.cut_off = set()
        elif victim.quorum is not None and cluster.leader is not None:
            at = cluster.leader
            if what in (3, 4):
                cluster.change(RemoveVoterRequest("c", victim.key), at)
            else:
                add = AddVoterRequest("c", victim.key, victim.endpoints, 2000)
                cluster.change(replace_wait(add, waits=what == 5), at)
        for member in cluster.members:
            cluster.append(member)
        cluster.run(dice.below(1500))
        cluster.check_logs()
    cluster.heal()


def replace_wait(request: AddVoterRequest, *, waits: bool) -> AddVoterRequest:
    return request._replace(waits_for_commit=waits)
