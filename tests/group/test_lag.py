"""How far each group is behind."""

from kafkapy.core.ids import TopicPartition
from kafkapy.group.lag import LagFigure, lag_figures, lag_of_group
from tests.group.test_migration import Classic, assignment
from tests.group.world import GROUP, ConsumerClient, World

ENDS = {TopicPartition("orders", 0): 100, TopicPartition("orders", 1): 50}


def figures(world: World) -> dict[tuple[str, str], LagFigure]:
    found = lag_figures(world.state, world.topics, ENDS.get)
    return {(one.group_id, str(one.partition)): one for one in found}


def test_lag_is_what_is_left_after_what_is_committed() -> None:
    world = World()
    world.topics.create("orders", 2)
    world.commit("orders", 0, 30, group="simple")
    world.commit("orders", 1, 70, group="simple")
    world.commit("returns", 0, 1, group="simple")
    found = figures(world)
    assert found["simple", "orders-0"].lag == 70
    assert found["simple", "orders-1"].lag == 0
    assert found["simple", "returns-0"].lag is None
    assert found["simple", "orders-0"].member_id is None


def test_members_of_both_protocols_are_named_with_their_partitions() -> None:
    world = World()
    world.topics.create("orders", 2)
    new = ConsumerClient(world, group_id="new")
    new.beat()
    new.commit("orders", 1, 20)
    old = Classic(world, group_id="old")
    old.owned()
    old.start()
    world.clock.advance(3_000)
    old.joined()
    old.sync({old.member_id: assignment(0)})
    found = figures(world)
    assert (found["new", "orders-0"].member_id, found["new", "orders-0"].lag) == (
        new.member_id,
        None,
    )
    assert (found["new", "orders-1"].member_id, found["new", "orders-1"].lag) == (
        new.member_id,
        30,
    )
    assert found["old", "orders-0"].member_id == old.member_id
    assert list(lag_of_group(GROUP, world.state, world.topics, ENDS.get)) == []


def test_groups_that_are_no_consumers_have_no_owners() -> None:
    world = World()
    worker = Classic(world, group_id="connect", protocol_type="connect")
    worker.owned()
    worker.start()
    world.clock.advance(3_000)
    worker.joined()
    worker.sync({worker.member_id: b"\x00"})
    assert figures(world) == {}
