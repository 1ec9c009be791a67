"""What runs of clusters have found, each as small as it could be made."""

from kafkapy.sim.cluster.world import ClusterWorld


def test_a_controller_that_is_still_loading_hangs_up_on_the_others() -> None:
    """Seed 2: asked for its vote before it had read its log, it called that a bug of its own."""
    world = ClusterWorld(1, ("controller",) * 3)
    world.start()
    leader = world.wait_for_controller()
    late = next(host for host in world.controllers if host is not leader)
    late.kill()
    late.disk_latency_ms = 3_000
    late.start()
    leader.kill()
    world.run(10_000)
    assert not late.journal.said("bug")
