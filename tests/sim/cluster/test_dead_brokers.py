"""A broker whose process died is fenced at once; one that is only not heard keeps its session."""

from collections.abc import Callable

import pytest

from kafkapy.broker.node.broker_facts import FEATURE_RANGES
from kafkapy.kraft.controller.brokers.registration import RegisterBroker
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld

SESSION_MS = 9000
LAYOUTS = {
    "three combined": (COMBINED,) * 3,
    "one controller, three brokers": ("controller", "broker", "broker", "broker"),
}


def serving(seed: int, roles: tuple[str, ...] = (COMBINED,) * 3) -> ClusterWorld:
    world = ClusterWorld(seed, roles)
    world.start()
    world.run_until(lambda: all(host.is_serving for host in world.hosts.values()), 30_000)
    world.run(3000)
    return world


def unfenced(world: ClusterWorld) -> set[int]:
    controller = world.active_controller
    if controller is None or controller.node is None:
        return set()
    brokers = controller.node.image.brokers.values()
    return {broker.id for broker in brokers if broker.is_active}


def time_until(world: ClusterWorld, condition: Callable[[], bool]) -> int:
    began = world.clock.now()
    world.run_until(condition, 30_000)
    return world.clock.now() - began


def another_than(world: ClusterWorld, controller: Host) -> Host:
    return next(host for host in world.brokers if host is not controller)


@pytest.mark.parametrize("roles", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_broker_that_is_killed_is_fenced_at_once(seed: int, roles: tuple[str, ...]) -> None:
    world = serving(seed, roles)
    victim = another_than(world, world.wait_for_controller())
    victim.kill()
    everybody = {host.node_id for host in world.brokers}
    others = everybody - {victim.node_id}
    assert time_until(world, lambda: unfenced(world) == others) < 500
    victim.start()
    assert time_until(world, lambda: unfenced(world) == everybody) < 3000
    told = [str(one) for one in victim.journal.lines]
    assert not any("DUPLICATE" in line for line in told), told


def test_a_broker_that_starts_again_before_anybody_looked_is_not_refused_for_long() -> None:
    world = serving(11)
    victim = another_than(world, world.wait_for_controller())
    victim.kill()
    victim.start()
    world.run(10)
    assert time_until(world, lambda: victim.is_serving) < 5000


def test_a_registration_of_a_process_that_is_no_more_may_come_late() -> None:
    """Seed 629 of many: the broker that runs now was displaced, and refused for ever."""
    world = serving(12)
    controller = world.wait_for_controller()
    victim = another_than(world, controller)
    node = victim.node
    assert node is not None
    late = RegisterBroker(
        victim.node_id,
        node.cluster_id,
        node.incarnation_id,
        node.endpoints.broker,
        FEATURE_RANGES,
        log_dirs=node.image.brokers[victim.node_id].log_dirs,
    )
    before = registered_at(controller, victim)
    victim.kill()
    victim.start()
    world.run_until(lambda: registered_at(controller, victim) > before, 30_000)
    now = registered_at(controller, victim)
    assert controller.node is not None
    assert controller.node.broker is not None
    controller.node.broker.link.register(late, lambda answer: None)
    world.run_until(lambda: registered_at(controller, victim) > now, 1000)
    assert time_until(world, lambda: unfenced(world) == {1, 2, 3}) < 5000
    world.run_until(lambda: victim.is_serving, 5000)
    world.run(10_000)
    assert unfenced(world) == {1, 2, 3}


def registered_at(controller: Host, broker: Host) -> int:
    assert controller.node is not None
    return controller.node.image.brokers[broker.node_id].epoch


@pytest.mark.parametrize("seed", range(4))
def test_a_broker_that_dies_with_the_active_controller_is_fenced_by_the_next(seed: int) -> None:
    world = serving(seed)
    victim = world.wait_for_controller()
    victim.kill()
    others = {1, 2, 3} - {victim.node_id}
    assert time_until(world, lambda: unfenced(world) == others) < 1500


@pytest.mark.parametrize("seed", range(3))
def test_one_that_dies_together_with_a_controller_elsewhere_is_missed_soon(seed: int) -> None:
    world = serving(seed, ("controller",) * 3 + ("broker",) * 2)
    world.wait_for_controller().kill()
    world.hosts[5].kill()
    assert time_until(world, lambda: unfenced(world) == {4}) < 4500


@pytest.mark.parametrize("with_its_name", [False, True])
@pytest.mark.parametrize("roles", LAYOUTS.values(), ids=LAYOUTS)
def test_one_whose_machine_goes_with_it_is_fenced_soon(
    roles: tuple[str, ...], with_its_name: bool
) -> None:
    """Its connections are reset, and then nobody answers where it was: a killed container."""
    world = serving(9, roles)
    victim = another_than(world, world.wait_for_controller())
    everybody = {host.node_id for host in world.brokers}
    victim.leave(with_its_name=with_its_name)
    assert time_until(world, lambda: unfenced(world) == everybody - {victim.node_id}) < 2000
    victim.start()
    assert time_until(world, lambda: unfenced(world) == everybody) < 5000


@pytest.mark.parametrize("with_its_name", [False, True])
def test_a_controller_whose_machine_goes_with_it_is_fenced_by_the_next(
    with_its_name: bool,
) -> None:
    """Two seconds until nobody waits for it any more, an election, and then it is looked for."""
    world = serving(10)
    victim = world.wait_for_controller()
    victim.leave(with_its_name=with_its_name)
    others = {1, 2, 3} - {victim.node_id}
    assert time_until(world, lambda: unfenced(world) == others) < 5000


def test_one_that_hung_up_and_is_slow_to_come_back_keeps_its_session() -> None:
    """Cut off after its connections broke, but for less than it takes to be sure."""
    world = serving(12)
    controller = world.wait_for_controller()
    victim = another_than(world, controller)
    world.network.break_connections(controller.name, victim.name)
    world.network.isolate(victim.name)
    world.run(1000)
    world.network.heal()
    world.run(5000)
    assert unfenced(world) == {1, 2, 3}
    told = [line for line in map(str, controller.journal.lines) if "fenced" in line]
    assert not told, told


@pytest.mark.parametrize("what", ["pause", "isolate", "crash"])
def test_one_that_only_cannot_be_heard_keeps_its_session(what: str) -> None:
    world = serving(7)
    victim = another_than(world, world.wait_for_controller())
    match what:
        case "pause":
            victim.pause()
        case "isolate":
            world.network.isolate(victim.name)
        case "crash":
            victim.crash()
    others = {1, 2, 3} - {victim.node_id}
    # Its last heartbeat was two seconds ago at most.
    assert time_until(world, lambda: unfenced(world) == others) > SESSION_MS - 2500


def test_broken_connections_fence_nobody() -> None:
    world = serving(8)
    controller = world.wait_for_controller()
    assert controller.node is not None
    epochs = {one.id: one.epoch for one in controller.node.image.brokers.values()}
    fenced: list[int] = []
    controller.node.quorum.subscribe(
        lambda image, delta: fenced.extend(
            one.id for one in image.brokers.values() if not one.is_active
        )
    )
    for _ in range(20):
        for host in world.brokers:
            if host is not controller:
                world.network.break_connections(controller.name, host.name)
        world.run(300)
    assert not fenced
    assert {one.id: one.epoch for one in controller.node.image.brokers.values()} == epochs
