"""What goes at once for a group of thousands of offsets goes in batches that the log takes, and in
slices that hold nobody up."""

from collections.abc import Iterator

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.admin import DeleteGroup, GroupDeleted, GroupHasMore
from kafkapy.group.machine import GroupMachine
from kafkapy.group.offsets.events import CommitOffsets, DeletedTopic, OffsetToCommit, TopicsDeleted
from kafkapy.group.state import TopicsToForget
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


def test_their_group_is_deleted_in_parts(world: World) -> None:
    commit_all(world)
    asked = [world.ask(DeleteGroup(GROUP)).reply]
    while isinstance(asked[-1], GroupHasMore):
        asked.append(world.ask(DeleteGroup(GROUP)).reply)
    assert asked[-1] == GroupDeleted()
    assert len(asked) == 4
    assert world.state.offsets.count() == 0
    assert world.replayed().groups == {}
