"""What is forgotten, and when."""

import pytest

from kafkapy.core.step import TransactionEnded
from kafkapy.group.offsets import expiry
from kafkapy.group.offsets.events import DeletedTopic, TopicsDeleted
from tests.group.test_offsets_commit import commit_in_transaction
from tests.group.world import GROUP, ConsumerClient, World, settle, stable_group

HOUR_MS = 3_600_000
RETENTION_MS = 12 * HOUR_MS
CHECK_MS = 600_000


@pytest.fixture
def world() -> World:
    made = World(offsets_retention_ms=RETENTION_MS)
    made.topics.create("orders", 4)
    made.topics.create("returns", 1)
    return made


def test_a_simple_group_is_forgotten_a_retention_time_after_its_last_commit(world: World) -> None:
    world.commit("orders", 0, 1)
    world.clock.advance(RETENTION_MS - CHECK_MS)
    assert world.committed("orders", 0) == 1
    world.clock.advance(2 * CHECK_MS)
    assert world.committed("orders", 0) == -1
    assert GROUP not in world.state.groups
    assert GROUP not in world.replayed().groups


def test_a_group_that_lasts_goes_with_its_topics_only(world: World) -> None:
    """Whoever reads by such a place would begin anew without it, and do all again."""
    world.configure(lasting_groups=("kafkapy-relay.",))
    world.commit("orders", 0, 1, group="kafkapy-relay.orders")
    world.commit("orders", 1, 1, group="relay")
    for _ in range(5):
        world.clock.advance(RETENTION_MS)
    assert set(world.state.groups) == {"kafkapy-relay.orders"}
    gone = world.topics.delete("orders")
    world.shard.submit(TopicsDeleted((DeletedTopic("orders", gone.topic_id),)))
    world.clock.advance(2 * CHECK_MS)
    assert world.state.groups == {}
    assert world.replayed().groups == {}


def test_a_commit_with_its_own_expiry_goes_then(world: World) -> None:
    world.commit("orders", 0, 1, retention_ms=HOUR_MS)
    world.commit("orders", 1, 1)
    world.restart()
    world.clock.advance(HOUR_MS + CHECK_MS)
    assert world.committed("orders", 0) == -1
    assert world.committed("orders", 1) == 1


def test_members_keep_what_they_subscribe_to_however_old(world: World) -> None:
    (client,) = stable_group(world, 1, session_timeout_ms=1_800_000)
    client.commit("orders", 0, 1)
    client.commit("returns", 0, 1)
    for _ in range(12 * 3 + 2):
        world.clock.advance(HOUR_MS // 3)
        client.heartbeat()
    assert world.committed("orders", 0) == 1
    assert world.committed("returns", 0) == -1


def test_a_group_left_by_its_members_keeps_offsets_for_a_retention_time(world: World) -> None:
    (client,) = stable_group(world, 1, session_timeout_ms=1_800_000)
    client.commit("orders", 0, 1)
    for _ in range(20):
        world.clock.advance(HOUR_MS // 3)
        client.heartbeat()
    client.leave()
    world.clock.advance(RETENTION_MS - CHECK_MS)
    assert world.committed("orders", 0) == 1
    world.clock.advance(2 * CHECK_MS)
    assert GROUP not in world.state.groups


def test_an_empty_consumer_group_is_forgotten_with_its_offsets(world: World) -> None:
    client = ConsumerClient(world)
    settle(world, [client])
    client.commit("orders", 0, 1)
    client.leave()
    world.clock.advance(RETENTION_MS + 2 * CHECK_MS)
    assert GROUP not in world.state.groups
    assert world.replayed().groups == {}


def test_an_open_transaction_keeps_its_group(world: World) -> None:
    commit_in_transaction(world, 5)
    world.clock.advance(RETENTION_MS + 2 * CHECK_MS)
    assert GROUP in world.state.groups
    world.shard.complete_transaction(TransactionEnded(9, 0, 1, False), lambda _: None)
    world.clock.advance(CHECK_MS)
    assert GROUP not in world.state.groups


def test_many_groups_are_looked_at_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "LOOKED_AT_PER_SLICE", 10)
    for number in range(30):
        world.commit("orders", 0, 1, group=f"g{number}")
    before = len(world.log.batches)
    world.configure(offsets_retention_ms=0)
    world.clock.advance(CHECK_MS)
    assert world.state.groups == {}
    assert len(world.log.batches) - before >= 5


def test_the_check_goes_on_after_a_new_leader_loaded_the_shard(world: World) -> None:
    world.commit("orders", 0, 1)
    world.restart()
    world.clock.advance(RETENTION_MS + 2 * CHECK_MS)
    assert world.state.groups == {}
