"""Controllers join and leave a cluster that works (KIP-853), over the wire."""

from kafkapy.core.errors import Refused
from kafkapy.kraft.controller.features import FeaturesUpdated, FeatureUpdate, UpdateFeatures
from kafkapy.sim.cluster.dynamic_world import DynamicWorld
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld


def test_a_controller_joins_and_another_leaves() -> None:
    world = DynamicWorld(1, roles=(COMBINED,) * 4)
    world.start()
    world.run_until(lambda: all(host.is_serving for host in world.hosts.values()), 30_000)
    newcomer = world.hosts[4]
    assert world.voters(newcomer) == [1, 2, 3]
    world.add(newcomer)
    world.wait_for_voters(1, 2, 3, 4)
    world.remove(world.key(world.wait_for_controller()))
    world.run_until(lambda: world.active_controller is not None)
    assert len(world.voters(world.wait_for_controller())) == 3


def test_a_voter_with_an_empty_disk_is_replaced_while_leaders_die() -> None:
    world = DynamicWorld(2, roles=("controller",) * 4)
    world.start()
    leader = world.wait_for_controller()
    world.run(3000)
    world.add(world.hosts[4])
    world.wait_for_voters(1, 2, 3, 4)
    victim = next(host for host in world.controllers if host is not leader)
    old_key = world.key(victim)
    victim.crash()
    victim = world.replace_disk(victim.node_id)
    victim.start()
    leader = world.wait_for_controller()
    leader.kill()
    world.run(500)
    leader.start()
    world.remove(old_key)
    world.wait_for_controller().kill()
    world.run(1000)
    for host in world.controllers:
        if not host.is_alive:
            host.start()
    world.add(victim)
    world.wait_for_voters(1, 2, 3, 4)
    quorum = world.wait_for_controller().node
    assert quorum is not None
    assert quorum.quorum.voters.has(world.key(victim))


def test_controllers_that_join_by_themselves() -> None:
    settings = {"controller.quorum.auto.join.enable": "true"}
    world = DynamicWorld(3, voters=1, roles=("controller",) * 3, settings=settings)
    world.start()
    world.wait_for_voters(1, 2, 3)
    victim = world.hosts[2]
    victim.crash()
    world.replace_disk(2).start()
    world.wait_for_voters(1, 2, 3)
    world.run(30_000)
    node = world.wait_for_controller().node
    assert node is not None
    assert node.quorum.voters.has(world.key(world.hosts[2]))


def test_a_node_that_nobody_added_only_listens() -> None:
    world = DynamicWorld(4, voters=1, roles=("controller",) * 2)
    world.start()
    world.run(60_000)
    assert world.voters(world.hosts[2]) == [1]


def test_a_static_quorum_becomes_a_dynamic_one() -> None:
    """Of nodes that go on with `controller.quorum.voters`: what the log says counts."""
    world = ClusterWorld(5, (COMBINED,) * 3)
    world.start()
    world.run_until(lambda: all(host.is_serving for host in world.hosts.values()), 30_000)
    raised = UpdateFeatures((FeatureUpdate("kraft.version", 1),))
    outcomes: list[object] = []

    def is_raised() -> bool:
        leader = world.active_controller
        if leader is not None and leader.node is not None and leader.node.controller is not None:
            leader.node.controller.controller.submit(raised, outcomes.append)
        return FeaturesUpdated() in outcomes

    world.run_until(is_raised, 20_000)
    assert any(isinstance(one, Refused) for one in outcomes), "not before all have told"
    for host in world.controllers:
        host.kill()
    world.start()

    def all_know() -> bool:
        nodes = [host.node for host in world.controllers]
        return all(
            node is not None
            and node.quorum.kraft_version == 1
            and all(voter.key.directory_id is not None for voter in node.quorum.voters)
            for node in nodes
        )

    world.run_until(lambda: world.active_controller is not None and all_know(), 30_000)


def test_voters_are_asked_when_no_bootstrap_server_is_left() -> None:
    """Node 1, the only one that is configured, is replaced by 2, 3 and 4. 5 only listens; while
    it is away the leader that it knew dies."""
    world = DynamicWorld(6, voters=1, roles=("controller",) * 5)
    world.start()
    world.wait_for_controller()
    world.run(3000)
    for node_id in (2, 3, 4):
        world.add(world.hosts[node_id])
    first, observer = world.hosts[1], world.hosts[5]
    world.remove(world.key(first))
    world.wait_for_voters(2, 3, 4)
    first.kill()
    world.run(3000)
    old = world.wait_for_controller()
    observer.kill()
    old.kill()
    world.run_until(lambda: world.active_controller not in (None, old))
    observer.start()

    def follows() -> bool:
        node, leader = observer.node, world.active_controller
        return node is not None and leader is not None and node.quorum.leader_id == leader.node_id

    world.run_until(follows, 5_000)
