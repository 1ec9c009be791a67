"""Controllers alone: the first tenants of the world."""

from kafkapy.sim.cluster.world import ClusterWorld

THREE = ("controller",) * 3


def has_the_metadata(world: ClusterWorld) -> bool:
    leader = world.active_controller
    return all(
        host.node is not None
        and leader is not None
        and host.node.quorum.leader_id == leader.node_id
        and host.node.image.metadata_version > 0
        for host in world.controllers
    )


def test_three_controllers_elect_one_of_them_and_follow_it() -> None:
    world = ClusterWorld(1, THREE)
    world.start()
    world.wait_for_controller()
    world.run_until(lambda: has_the_metadata(world))


def test_another_leads_when_the_leader_is_killed() -> None:
    world = ClusterWorld(2, THREE)
    world.start()
    first = world.wait_for_controller()
    first.kill()
    world.run_until(lambda: world.active_controller not in (None, first), 10_000)
    first.start()
    world.run_until(lambda: has_the_metadata(world))


def test_a_leader_cut_off_from_the_majority_resigns() -> None:
    world = ClusterWorld(3, THREE)
    world.start()
    first = world.wait_for_controller()
    world.network.isolate(first.name)
    world.run_until(lambda: world.active_controller not in (None, first), 10_000)
    assert first.node is not None
    world.run_until(lambda: first.node is not None and not first.node.quorum.is_active, 10_000)
    world.network.heal()
    world.run_until(lambda: has_the_metadata(world))


def test_a_leader_that_is_paused_is_replaced_and_follows_when_it_is_back() -> None:
    world = ClusterWorld(4, THREE)
    world.start()
    first = world.wait_for_controller()
    first.pause()
    world.run_until(lambda: world.active_controller not in (None, first), 10_000)
    first.resume()
    world.run_until(lambda: has_the_metadata(world))


def test_controllers_that_lost_their_power_one_after_the_other_come_back() -> None:
    world = ClusterWorld(5, ("controller",) * 5)
    world.start()
    world.wait_for_controller()
    for host in world.controllers:
        host.crash()
        world.run(700)
    assert world.active_controller is None
    for host in world.controllers:
        host.start()
    world.run_until(lambda: has_the_metadata(world), 20_000)
