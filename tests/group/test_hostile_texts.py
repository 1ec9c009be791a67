"""Names that a request may carry and a record cannot hold are refused; nothing else changes."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.settings import Bounded
from tests.group.world import ClassicClient, ConsumerClient, World

LONG = "x" * 40_000
# As many bytes as a request's text may have; those that are not UTF-8 become three each.
REPLACED = "\ufffd" * 20_000


@pytest.fixture
def world() -> World:
    made = World(
        initial_rebalance_delay_ms=0, consumer_assignment_interval_ms=Bounded(0, 0, 15_000)
    )
    made.topics.create("orders", 4)
    return made


@pytest.mark.parametrize("name", [LONG, REPLACED])
def test_a_group_whose_name_is_too_long_is_not_made(world: World, name: str) -> None:
    assert world.commit("orders", 0, 1, group=name).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert ClassicClient(world, group_id=name).join().error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert ConsumerClient(world, group_id=name).beat().error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.state.groups == {}
    assert world.state.offsets.count() == 0


@pytest.mark.parametrize("name", [LONG, REPLACED])
def test_a_member_whose_name_is_too_long_does_not_join(world: World, name: str) -> None:
    odd = ConsumerClient(world, member_id=name)
    assert odd.beat().error is ErrorCode.UNKNOWN_SERVER_ERROR
    other = ConsumerClient(world)
    assert other.beat().error is ErrorCode.NONE
    assert list(world.group().profiles) == [other.member_id]


def test_a_timer_whose_record_cannot_be_written_does_not_stop_the_node(world: World) -> None:
    """A consumer's record holds a longer instance id than a classic group's: the downgrade that
    a session's end brings is refused, and tried again."""
    odd = ConsumerClient(world, instance_id=LONG)
    odd.beat()
    odd.beat()
    old = ClassicClient(
        world,
        member_id=odd.member_id,
        instance_id=LONG,
        session_timeout_ms=600_000,
        rebalance_timeout_ms=600_000,
    )
    last = ConsumerClient(world)
    last.beat()
    old.join()
    assert old.joined().member_id == odd.member_id
    world.clock.advance(100_000)
    assert last.member_id in world.group().profiles
    old.leave()
    world.clock.advance(1_000)
    assert world.group().is_empty
