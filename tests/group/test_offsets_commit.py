"""Who may commit what, and what is found afterwards."""

from collections.abc import Callable
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import TransactionEnded
from kafkapy.group.offsets.events import (
    CommitOffsetsInTransaction,
    Committer,
    DeletedTopic,
    DeleteOffsets,
    FetchOffsets,
    OffsetToCommit,
    TopicsDeleted,
)
from kafkapy.group.offsets.forgetting import LOOK_AGAIN_MS
from kafkapy.group.state import TopicsToForget
from tests.group.world import GROUP, NOBODY, Asked, ConsumerClient, World, settle, stable_group

NONE = ErrorCode.NONE
ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def world() -> World:
    made = World()
    made.topics.create("orders", 4)
    return made


def commit_in_transaction(
    world: World,
    offset: int,
    producer_id: int = 9,
    by: Committer = NOBODY,
    topic_id: UUID | None = None,
) -> Asked:
    one = OffsetToCommit(ORDERS_0, offset, -1, "", topic_id)
    return world.ask(CommitOffsetsInTransaction(GROUP, by, (one,), producer_id, 0))


def make_anew(world: World) -> Callable[[], None]:
    """The topic is another one of the same name; what is returned tells the shard so."""
    gone = world.topics.delete("orders")
    world.topics.create("orders", 4)
    return lambda: world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))


def new_id(world: World) -> UUID:
    topic = world.topics.named("orders")
    assert topic is not None
    return topic.topic_id


def end(world: World, is_committed: bool, producer_id: int = 9) -> None:
    ended = TransactionEnded(producer_id, 0, 1, is_committed)
    told: list[object] = []
    world.shard.complete_transaction(ended, told.append)
    assert told == [None]


def test_a_consumer_that_assigns_itself_commits_without_being_a_member(world: World) -> None:
    assert world.commit("orders", 0, 42, metadata="note").reply.errors == (NONE,)
    world.restart()
    fetched = world.fetch("orders", 0)
    assert fetched.committed is not None
    assert (fetched.committed.offset, fetched.committed.metadata) == (42, "note")
    assert fetched.committed.commit_timestamp == world.clock.now()


def test_a_group_that_never_was_has_committed_nothing(world: World) -> None:
    assert world.fetch("orders", 0).committed is None
    assert world.ask(FetchOffsets("nobody", None)).reply.offsets == ()


def test_all_offsets_of_a_group_can_be_asked_for(world: World) -> None:
    for partition in (2, 0):
        world.commit("orders", partition, partition * 10)
    found = world.ask(FetchOffsets(GROUP, None)).reply.offsets
    assert [(one.partition.partition, one.committed.offset) for one in found] == [(0, 0), (2, 20)]


def test_metadata_has_a_limit_for_each_partition(world: World) -> None:
    too_long = world.commit("orders", 0, 1, metadata="x" * 4097)
    assert too_long.reply.errors == (ErrorCode.OFFSET_METADATA_TOO_LARGE,)
    assert world.committed("orders", 0) == -1
    assert world.commit("orders", 0, 1, metadata="x" * 4096).reply.errors == (NONE,)
    assert world.commit("orders", 0, 1, metadata="é" * 4096).reply.errors == (NONE,)
    twice = world.commit("orders", 0, 1, metadata="\N{PARTY POPPER}" * 2049)
    assert twice.reply.errors == (ErrorCode.OFFSET_METADATA_TOO_LARGE,), "as Java counts it"


def test_a_members_commit_is_fenced_by_its_generation(world: World) -> None:
    leader, follower = stable_group(world, 2)
    assert leader.commit("orders", 0, 5).reply.errors == (NONE,)
    stale = Committer(leader.member_id, 0)
    assert world.commit("orders", 0, 9, stale).error is ErrorCode.ILLEGAL_GENERATION
    stranger = Committer("stranger", 1)
    assert world.commit("orders", 0, 9, stranger).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit("orders", 0, 9).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.committed("orders", 0) == 5
    assert follower.commit("orders", 1, 6).reply.errors == (NONE,)


def test_members_commit_while_a_rebalance_collects_them_but_not_while_the_leader_assigns(
    world: World,
) -> None:
    leader, follower = stable_group(world, 2)
    leader.join()
    assert follower.commit("orders", 0, 5).reply.errors == (NONE,)
    follower.join()
    follower.joined()
    assert follower.commit("orders", 0, 6).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_generation_of_a_group_that_is_gone_is_refused_as_the_client_understands(
    world: World,
) -> None:
    by = Committer("m", 3)
    assert world.commit("orders", 0, 1, by).error is ErrorCode.GROUP_ID_NOT_FOUND
    old = world.commit("orders", 0, 1, by, speaks_of_groups=False)
    assert old.error is ErrorCode.ILLEGAL_GENERATION


def test_a_commit_for_a_topic_of_the_same_name_is_not_this_topics(world: World) -> None:
    world.commit("orders", 0, 42)
    world.topics.delete("orders")
    world.topics.create("orders", 4)
    assert world.fetch("orders", 0).committed is None


def test_deleting_a_topic_deletes_what_groups_committed_for_it(world: World) -> None:
    world.topics.create("returns", 1)
    for partition in range(4):
        world.commit("orders", partition, 1)
    world.commit("orders", 0, 1, group="others")
    world.commit("returns", 0, 1)
    gone = world.topics.delete("orders")
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))
    world.clock.advance(0)
    assert set(world.state.offsets.of_group(GROUP)) == {TopicPartition("returns", 0)}
    assert not world.state.offsets.of_group("others")
    assert world.state.topics_to_forget == TopicsToForget()


@pytest.mark.parametrize("had_committed", [True, False])
def test_what_is_pending_for_a_topic_made_anew_does_not_go_with_the_old_ones_offsets(
    world: World, had_committed: bool
) -> None:
    if had_committed:
        world.commit("orders", 0, 1)
        world.commit("orders", 1, 1)
    tell = make_anew(world)
    commit_in_transaction(world, 7, topic_id=new_id(world))
    tell()
    world.clock.advance(LOOK_AGAIN_MS)
    assert (world.committed("orders", 0), world.committed("orders", 1)) == (-1, -1)
    assert TopicPartition("orders", 1) not in world.state.offsets.of_group(GROUP)
    end(world, is_committed=True)
    world.clock.advance(LOOK_AGAIN_MS)
    assert world.committed("orders", 0) == 7
    assert world.state.topics_to_forget == TopicsToForget()
    world.restart()
    assert world.committed("orders", 0) == 7


def test_the_old_topics_offsets_go_when_the_transaction_for_the_new_one_is_aborted(
    world: World,
) -> None:
    """Of every topic that had the name before."""
    world.commit("orders", 0, 1)
    world.commit("orders", 1, 1)
    first = make_anew(world)
    world.commit("orders", 1, 2)
    second = make_anew(world)
    commit_in_transaction(world, 7, topic_id=new_id(world))
    first()
    second()
    world.clock.advance(LOOK_AGAIN_MS)
    assert list(world.state.offsets.of_group(GROUP)) == [ORDERS_0]
    end(world, is_committed=False)
    world.clock.advance(LOOK_AGAIN_MS)
    assert list(world.state.offsets.of_group(GROUP)) == []
    assert world.state.topics_to_forget == TopicsToForget()


def test_what_is_pending_for_a_deleted_topic_goes_with_it(world: World) -> None:
    old = new_id(world)
    tell = make_anew(world)
    commit_in_transaction(world, 7, topic_id=old)
    tell()
    world.clock.advance(0)
    end(world, is_committed=True)
    assert list(world.state.offsets.of_group(GROUP)) == []


def test_offsets_in_a_transaction_count_from_the_marker_on(world: World) -> None:
    world.commit("orders", 0, 1)
    assert commit_in_transaction(world, 50).reply.errors == (NONE,)
    assert world.committed("orders", 0) == 1
    end(world, is_committed=True)
    assert world.committed("orders", 0) == 50
    world.restart()
    assert world.committed("orders", 0) == 50


def test_an_aborted_transaction_leaves_nothing(world: World) -> None:
    world.commit("orders", 0, 1)
    commit_in_transaction(world, 50)
    end(world, is_committed=False)
    assert world.committed("orders", 0) == 1
    assert not world.state.offsets.has_open_transactions(GROUP)


def test_who_wants_stable_offsets_waits_for_open_transactions(world: World) -> None:
    commit_in_transaction(world, 50)
    unstable = world.fetch("orders", 0, require_stable=True)
    assert (unstable.error, unstable.committed) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, None)
    assert world.fetch("orders", 1, require_stable=True).error is NONE
    world.restart()
    assert world.fetch("orders", 0, require_stable=True).error is not NONE
    end(world, is_committed=True)
    assert world.fetch("orders", 0, require_stable=True).error is NONE


def test_a_plain_commit_after_the_transactional_one_wins_although_the_marker_is_later(
    world: World,
) -> None:
    commit_in_transaction(world, 50)
    world.commit("orders", 0, 60)
    end(world, is_committed=True)
    assert world.committed("orders", 0) == 60
    assert world.replayed().offsets.get(GROUP, ORDERS_0) == world.state.offsets.get(GROUP, ORDERS_0)


def test_transactional_commits_of_members_are_fenced_too(world: World) -> None:
    leader, _ = stable_group(world, 2)
    assert commit_in_transaction(world, 5, by=Committer(leader.member_id, 1)).error is NONE
    stale = commit_in_transaction(world, 5, by=Committer(leader.member_id, 0))
    assert stale.error is ErrorCode.ILLEGAL_GENERATION
    assert commit_in_transaction(world, 5).error is NONE


def test_offsets_can_be_deleted_unless_somebody_subscribes(world: World) -> None:
    world.topics.create("returns", 1)
    stable_group(world, 1)
    for topic in ("orders", "returns"):
        by = Committer(next(iter(world.group().members)), 1)
        world.commit(topic, 0, 1, by)
    event = DeleteOffsets(GROUP, (ORDERS_0, TopicPartition("returns", 0)))
    assert world.ask(event).reply.errors == (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, NONE)
    assert set(world.state.offsets.of_group(GROUP)) == {ORDERS_0}


def test_deleting_takes_pending_commits_along(world: World) -> None:
    commit_in_transaction(world, 50)
    assert world.ask(DeleteOffsets(GROUP, (ORDERS_0,))).reply.errors == (NONE,)
    end(world, is_committed=True)
    assert world.committed("orders", 0) == -1


def test_offsets_of_an_active_group_of_another_kind_are_not_deleted(world: World) -> None:
    stable_group(world, 1, protocol_type="connect")
    assert world.ask(DeleteOffsets(GROUP, (ORDERS_0,))).error is ErrorCode.NON_EMPTY_GROUP
    assert world.ask(DeleteOffsets("x", (ORDERS_0,))).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_consumer_group_members_commit_is_fenced_by_its_epoch(world: World) -> None:
    client = ConsumerClient(world)
    settle(world, [client])
    assert client.commit("orders", 0, 7).reply.errors == (NONE,)
    ahead = client.commit("orders", 0, 8, epoch=client.epoch + 1)
    assert ahead.error is ErrorCode.STALE_MEMBER_EPOCH
    assert world.commit("orders", 0, 8).error is ErrorCode.UNKNOWN_MEMBER_ID
    old = client.commit("orders", 0, 8, speaks_of_groups=False)
    assert old.error is ErrorCode.UNSUPPORTED_VERSION


def test_a_member_behind_may_commit_what_it_has_owned_since_then(world: World) -> None:
    """KIP-1251: the epoch grew, the partition stayed."""
    first = ConsumerClient(world)
    settle(world, [first])
    old_epoch = first.epoch
    second = ConsumerClient(world)
    settle(world, [first, second])
    assert first.epoch > old_epoch
    kept = min(first.partitions())
    lost = min(second.partitions())
    assert first.commit("orders", kept, 5, epoch=old_epoch).reply.errors == (NONE,)
    assert first.commit("orders", lost, 5, epoch=old_epoch).error is ErrorCode.STALE_MEMBER_EPOCH


def test_consumer_group_members_fetch_at_their_epoch(world: World) -> None:
    client = ConsumerClient(world)
    settle(world, [client])
    me = {"member_id": client.member_id, "member_epoch": client.epoch}
    assert world.fetch("orders", 0, **me).error is NONE
    assert world.fetch("orders", 0).error is NONE
    stale = world.ask(FetchOffsets(GROUP, None, client.member_id, client.epoch + 1))
    assert stale.error is ErrorCode.STALE_MEMBER_EPOCH
    unknown = world.ask(FetchOffsets(GROUP, None, "stranger", 1))
    assert unknown.error is ErrorCode.UNKNOWN_MEMBER_ID
