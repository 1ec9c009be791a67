"""Brokers and controllers find one another, in every combination of roles."""

from functools import partial

import pytest

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld

LAYOUTS = {
    "three combined": (COMBINED,) * 3,
    "one controller, two brokers": ("controller", "broker", "broker"),
    "three controllers, two brokers": ("controller",) * 3 + ("broker",) * 2,
    "combined and brokers": (COMBINED,) * 3 + ("broker",) * 2,
}


def all_serve(world: ClusterWorld) -> bool:
    return all(host.is_serving for host in world.hosts.values())


def is_gone(host: Host) -> bool:
    return not host.is_alive


def unfenced(world: ClusterWorld) -> set[int]:
    controller = world.active_controller
    if controller is None or controller.node is None:
        return set()
    brokers = controller.node.image.brokers.values()
    return {broker.id for broker in brokers if broker.is_active}


@pytest.mark.parametrize("roles", LAYOUTS.values(), ids=LAYOUTS)
def test_all_nodes_register_and_serve(roles: tuple[str, ...]) -> None:
    world = ClusterWorld(1, roles)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    assert unfenced(world) == {host.node_id for host in world.brokers}


def test_a_silent_broker_is_fenced_and_comes_back() -> None:
    world = ClusterWorld(2)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    controller = world.wait_for_controller()
    victim = next(host for host in world.brokers if host is not controller)
    world.network.isolate(victim.name)
    world.run_until(lambda: unfenced(world) == {1, 2, 3} - {victim.node_id}, 20_000)
    world.network.heal()
    world.run_until(lambda: unfenced(world) == {1, 2, 3}, 20_000)


def test_brokers_follow_the_controller_to_another_node() -> None:
    world = ClusterWorld(3, ("controller",) * 3 + ("broker",) * 2)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    first = world.wait_for_controller()
    first.kill()
    world.run_until(lambda: world.active_controller not in (None, first), 20_000)
    world.run(30_000)
    assert unfenced(world) == {4, 5}


def test_a_clean_stop_of_each_node() -> None:
    world = ClusterWorld(4)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    stopped: list[int] = []
    for host in world.controllers[:2]:  # the last one has no majority to hand over to
        host.stop(partial(stopped.append, host.node_id))
        world.run_until(partial(is_gone, host), 30_000)
        host.start()
        world.run_until(lambda: all_serve(world), 30_000)
    assert stopped == [1, 2]


@pytest.mark.parametrize("roles", [(COMBINED,) * 3, ("controller", "broker")])
def test_all_stop_at_once_and_nobody_waits_for_who_is_gone(roles: tuple[str, ...]) -> None:
    world = ClusterWorld(6, roles)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    for host in world.hosts.values():
        host.stop(lambda: None)
    world.run_until(lambda: not any(host.is_alive for host in world.hosts.values()), 3000)


def test_brokers_do_not_wait_for_the_answer_of_a_controller_that_was_replaced() -> None:
    """It is paused, so its connections stay, and its answers would come after the session."""
    world = ClusterWorld(5)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    paused = world.wait_for_controller()
    paused.pause()
    world.run_until(lambda: world.active_controller not in (None, paused), 20_000)
    world.run(15_000)
    assert unfenced(world) == {1, 2, 3} - {paused.node_id}
    world.run(30_000)
    assert unfenced(world) == {1, 2, 3} - {paused.node_id}
