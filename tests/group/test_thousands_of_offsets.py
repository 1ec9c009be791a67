"""What goes at once for a group of thousands of offsets goes in batches that the log takes, and in
slices that hold nobody up."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.admin import DeleteGroup, GroupDeleted, GroupHasMore
from kafkapy.group.machine import GroupMachine
from kafkapy.group.offsets.events import CommitOffsets, DeletedTopic, OffsetToCommit, TopicsDeleted
from kafkapy.group.offsets.expiry import LOOKED_AT_PER_SLICE, expire
from kafkapy.group.offsets.forgetting import forget_deleted_topics
from kafkapy.group.plan import Context, Plan
from kafkapy.group.settings import GroupSettings
from kafkapy.group.state import GroupsToExpire, TopicsToForget
from tests.group.world import GROUP, NOBODY, World

OFFSETS = 7_000
HOUR_MS = 3_600_000
CHECK_MS = 600_000
# Of the test's log: room for 2,000 tombstones or commits of 500, not for 7,000.
MAX_BYTES = 80_000


@pytest.fixture
def world() -> World:
    made = World(kind=GroupMachine, offsets_retention_ms=HOUR_MS)
    made.topics.create("orders", OFFSETS)
    made.topics.create("returns", OFFSETS)
    made.log.max_bytes = MAX_BYTES
    return made


def commit_all(world: World, topic: str = "orders", group_id: str = GROUP) -> None:
    for part in parts(world, topic):
        assert world.ask(CommitOffsets(group_id, NOBODY, part)).error is ErrorCode.NONE


def parts(world: World, topic: str) -> Iterator[tuple[OffsetToCommit, ...]]:
    found = world.topics.named(topic)
    assert found is not None
    for first in range(0, OFFSETS, 500):
        yield tuple(
            OffsetToCommit(TopicPartition(topic, number), 1, -1, "", found.topic_id)
            for number in range(first, first + 500)
        )


def test_they_expire_and_the_other_groups_after_them(world: World) -> None:
    world.commit("returns", 0, 1, group="another")
    commit_all(world)
    world.clock.advance(HOUR_MS + CHECK_MS)
    assert world.state.offsets.count() == 0
    assert world.state.groups == {}
    assert world.replayed().groups == {}


def test_they_go_with_their_topic_and_only_they(world: World) -> None:
    commit_all(world)
    commit_all(world, "returns")
    gone = world.topics.delete("orders")
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))
    world.clock.advance(0)
    assert {one.topic for one in world.state.offsets.of_group(GROUP)} == {"returns"}
    assert world.state.offsets.count() == OFFSETS
    assert world.state.topics_to_forget == TopicsToForget()


def test_a_topic_that_goes_during_the_round_for_another_has_a_round_of_its_own(
    world: World,
) -> None:
    commit_all(world)
    for number in range(3_000):
        world.commit("returns", 0, 1, group=f"group-{number}")
    first, second = (world.topics.delete(name) for name in ("orders", "returns"))
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", first.topic_id),)))
    world.clock.run_soon()
    world.shard.submit(TopicsDeleted((DeletedTopic("returns", second.topic_id),)))
    world.clock.advance(0)
    assert world.state.offsets.count() == 0
    assert world.state.topics_to_forget == TopicsToForget()


def test_forgetting_a_topic_goes_on_when_the_log_takes_writes_again(world: World) -> None:
    commit_all(world)
    gone = world.topics.delete("orders")
    world.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))
    world.clock.advance(1_000)
    assert world.state.offsets.count() == OFFSETS
    world.log.refusal = None
    world.clock.advance(1_000)
    assert world.state.offsets.count() == 0


def test_their_group_is_deleted_at_once(world: World) -> None:
    """In one batch: a coordinator that dies meanwhile leaves all of it or nothing."""
    commit_all(world)
    world.log.max_bytes = 1_048_588
    before = len(world.log.batches)
    assert world.ask(DeleteGroup(GROUP)).reply == GroupDeleted()
    assert len(world.log.batches) == before + 1
    assert world.state.offsets.count() == 0
    assert world.replayed().groups == {}


def test_a_group_that_no_batch_holds_is_deleted_in_parts(world: World) -> None:
    world.log.max_bytes = 1_048_588
    group_id = "g" * 300
    commit_all(world, group_id=group_id)
    asked = [world.ask(DeleteGroup(group_id)).reply]
    assert group_id in world.replayed().groups, "it is there until nothing of it is left"
    while isinstance(asked[-1], GroupHasMore):
        asked.append(world.ask(DeleteGroup(group_id)).reply)
    assert asked[-1] == GroupDeleted()
    assert len(asked) == 4
    assert world.state.offsets.count() == 0
    assert world.replayed().groups == {}


@pytest.mark.parametrize("name", ["g" * 600, "g" * 32_000])
def test_names_of_groups_may_be_long(world: World, name: str) -> None:
    """Two thousand tombstones with such a name would be more than a batch may have."""
    world.log.max_bytes = 1_048_588
    for part in list(parts(world, "orders"))[:5]:
        for begin in range(0, 500, 25):
            world.ask(CommitOffsets(name, NOBODY, part[begin : begin + 25]))
    for number in range(40):
        world.commit("returns", 0, 1, group=f"{name}{number}")
    assert world.state.offsets.count() == 2_540
    world.clock.advance(HOUR_MS + CHECK_MS)
    assert world.state.offsets.count() == 0
    assert world.state.groups == {}


def test_names_of_groups_may_be_long_where_a_topic_goes(world: World) -> None:
    world.log.max_bytes = 1_048_588
    commit_all(world, group_id="g" * 600)
    gone = world.topics.delete("orders")
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))
    world.clock.advance(0)
    assert world.state.offsets.count() == 0


def test_those_that_do_not_expire_are_looked_at_in_slices_too(world: World) -> None:
    commit_all(world)
    world.commit("returns", 0, 1, group="another")
    state, clock = world.state, world.clock
    ctx = Context(clock.now(), clock.wall(), GroupSettings(), world.topics)
    looks = [0]
    for _ in range(20):
        plan = Plan()
        expire(state, plan, ctx)
        (note,) = plan.notes
        assert plan.records == []
        state.apply(note)
        looks.append(note.looked_at)
        if not note.group_ids:
            break
    assert state.groups_to_expire == GroupsToExpire()
    steps = [after - before for before, after in pairwise(looks) if after > before]
    assert max(steps) <= LOOKED_AT_PER_SLICE
    assert len(looks) > OFFSETS // LOOKED_AT_PER_SLICE
    assert state.offsets.count() == OFFSETS + 1


def test_what_stays_of_a_deleted_topics_group_is_looked_at_in_slices_too(world: World) -> None:
    """A group of thousands of offsets, of which one is of the deleted topic."""
    commit_all(world)
    world.topics.create("gone", 1)
    world.commit("gone", 0, 1)
    gone = world.topics.delete("gone")
    clock = world.clock
    ctx = Context(clock.now(), clock.wall(), GroupSettings(), world.topics)
    state = world.state
    state.apply(TopicsToForget((DeletedTopic("gone", gone.topic_id),)))
    found, looks = 0, [0]
    while state.topics_to_forget != TopicsToForget():
        plan = Plan()
        forget_deleted_topics(state, plan, ctx)
        for one in (*plan.records, *plan.notes):
            state.apply(one)
        found += len(plan.records)
        looks.append(state.topics_to_forget.looked_at)
    assert found == 1
    assert state.offsets.count() == OFFSETS
    assert max(after - before for before, after in pairwise(looks)) <= LOOKED_AT_PER_SLICE
    assert len(looks) > OFFSETS // LOOKED_AT_PER_SLICE
