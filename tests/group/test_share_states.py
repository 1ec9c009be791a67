"""Which partitions a share group has state in, when asking the share coordinator fails."""

from typing import Any

import pytest

from kafkapy.group.admin import DeleteGroup, GroupDeleted
from kafkapy.group.share.events import (
    DeleteShareOffsets,
    ShareHeartbeat,
    ShareStateDeleted,
    ShareStateInitialized,
    ShareStateToDelete,
)
from kafkapy.group.share.state_partitions import StatePartitions
from kafkapy.group.topics import TopicPartitions
from tests.group.world import GROUP, World

RETRY_MS = 30_000


@pytest.fixture
def world() -> World:
    """A group that has read `jobs`, and has no members any more."""
    world = World(share_initialize_retry_ms=RETRY_MS)
    world.topics.create("jobs", 2)
    wanted = join(world).to_initialize
    world.ask(ShareStateInitialized(GROUP, wanted.topics))
    leave(world)
    return world


def join(world: World) -> Any:
    beat = ShareHeartbeat(GROUP, "m", 0, "client", "/host", subscribed_topics=("jobs",))
    return world.ask(beat).reply


def leave(world: World) -> None:
    world.ask(ShareHeartbeat(GROUP, "m", -1, "client", "/host"))


def states(world: World) -> StatePartitions:
    found: StatePartitions = world.group().state_partitions
    return found


def jobs(world: World) -> TopicPartitions:
    topic = world.topics.topics["jobs"]
    return TopicPartitions(topic.topic_id, "jobs", tuple(range(topic.partition_count)))


def delete_offsets(world: World) -> Any:
    return world.ask(DeleteShareOffsets(GROUP, {jobs(world).topic_id: "jobs"})).reply


def test_a_deletion_that_failed_can_be_asked_for_again(world: World) -> None:
    assert delete_offsets(world) == ShareStateToDelete((jobs(world),))
    # No share coordinator answers: nothing is told back.
    assert delete_offsets(world) == ShareStateToDelete((jobs(world),))
    world.ask(ShareStateDeleted(GROUP, frozenset({jobs(world).topic_id})))
    assert states(world).is_empty
    assert delete_offsets(world) == ShareStateToDelete(())


def test_a_topic_of_which_the_deletion_failed_is_read_again(world: World) -> None:
    delete_offsets(world)
    assert join(world).to_initialize is None, "it may still be under way"
    world.clock.advance(RETRY_MS)
    assert join(world).to_initialize.topics == (jobs(world),)
    assert not states(world).deleting


def test_a_new_leader_does_not_wait_for_a_deletion_of_which_nobody_knows(world: World) -> None:
    delete_offsets(world)
    world.restart()
    assert join(world).to_initialize.topics == (jobs(world),)


def test_a_group_is_not_deleted_before_what_it_left_at_the_share_coordinator(world: World) -> None:
    delete_offsets(world)
    for _ in range(2):
        assert world.ask(DeleteGroup(GROUP)).reply == ShareStateToDelete((jobs(world),))
    world.ask(ShareStateDeleted(GROUP, frozenset({jobs(world).topic_id})))
    assert world.ask(DeleteGroup(GROUP)).reply == GroupDeleted()


def test_what_may_be_deleted_does_not_count_as_initialized(world: World) -> None:
    """DeleteGroup got as far as the share coordinator, and nobody heard of it."""
    world.ask(DeleteGroup(GROUP))
    assert not states(world).initialized
    world.clock.advance(RETRY_MS)
    assert join(world).to_initialize.topics == (jobs(world),)


def test_a_topic_that_went_while_nobody_led_is_forgotten(world: World) -> None:
    world.topics.delete("jobs")
    world.restart()
    join(world)
    assert states(world).is_empty


def test_what_is_told_twice_is_written_once(world: World) -> None:
    world.topics.create("jobs", 4)
    wanted = join(world).to_initialize
    half = ShareStateInitialized(GROUP, (wanted.topics[0]._replace(partitions=(2,)),))
    world.ask(half)
    before = len(world.log.batches)
    world.ask(half)
    assert len(world.log.batches) == before
