"""How long nobody leads: a dead process is noticed at once, a paused one after its time."""

import pytest

from kafkapy.sim.cluster.world import ClusterWorld

THREE = ("controller",) * 3
FETCH_TIMEOUT_MS = 2000


def without_a_leader(world: ClusterWorld, within_ms: int = 20_000) -> int:
    first, began = world.active_controller, world.clock.now()
    world.run_until(lambda: world.active_controller not in (None, first), within_ms)
    return world.clock.now() - began


@pytest.mark.parametrize("seed", range(8))
def test_a_controller_that_is_killed_is_followed_at_once(seed: int) -> None:
    world = ClusterWorld(seed, THREE)
    world.start()
    leader = world.wait_for_controller()
    world.run(3000 + 37 * seed)
    assert world.active_controller is leader
    leader.kill()
    assert without_a_leader(world) < 700


@pytest.mark.parametrize("seed", range(4))
def test_a_controller_that_stops_is_followed_at_once(seed: int) -> None:
    world = ClusterWorld(seed, THREE)
    world.start()
    leader = world.wait_for_controller()
    world.run(3000)
    leader.stop(lambda: None)
    assert without_a_leader(world) < 300


@pytest.mark.parametrize("seed", range(4))
def test_a_paused_controller_keeps_its_time(seed: int) -> None:
    world = ClusterWorld(seed, THREE)
    world.start()
    leader = world.wait_for_controller()
    world.run(3000)
    leader.pause()
    assert without_a_leader(world) >= FETCH_TIMEOUT_MS - 600  # one fetch may be under way


def test_a_controller_whose_connections_break_goes_on_leading() -> None:
    world = ClusterWorld(9, THREE)
    world.start()
    leader = world.wait_for_controller()
    world.run(3000)
    assert leader.node is not None
    epoch = leader.node.quorum.leader_epoch
    for _ in range(10):
        for host in world.controllers:
            if host is not leader:
                world.network.break_connections(leader.name, host.name)
        world.run(500)
    assert world.active_controller is leader
    assert leader.node.quorum.leader_epoch == epoch
