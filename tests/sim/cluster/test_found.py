"""What runs of clusters have found, each as small as it could be made."""

from kafkapy.sim.cluster.world import ClusterWorld
from tests.sim.cluster.kit import Kit


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


def test_a_follower_has_on_disk_what_flush_messages_acknowledges() -> None:
    """Seed 18: followers told the leader how far their logs were, not how far their disks."""
    kit = Kit(1, **{"log.flush.interval.messages": "1"})
    for host in kit.world.hosts.values():
        host.disk_latency_ms = 80
    for number in range(10):
        assert kit.produce(b"value-%d" % number)
        for host in kit.world.brokers:
            assert kit.partition(host).log.flushed_offset == number + 1
    kit.check()


def test_a_follower_whose_epochs_cannot_be_read_loses_the_directory_and_no_more() -> None:
    """Seed 27: what a log reads when it is first asked failed in the middle of a fetch."""
    kit = Kit(2)
    assert kit.produce(b"before")
    follower = kit.follower()
    follower.kill()
    kit.produce_until_acknowledged(b"without it")
    follower.start()
    follower.disk.fail("read", in_path="leader-epoch-checkpoint")
    kit.wait(lambda: bool(follower.journal.said("log directory offline")))
    kit.produce_until_acknowledged(b"after")


def test_a_node_that_loses_its_last_directory_while_it_makes_partitions_ends() -> None:
    """Seed 9: the partitions that were still to be made had nowhere to go, and said so aloud."""
    kit = Kit(3)
    victim = kit.world.hosts[3]
    for path in ("/data/a", "/data/b"):
        victim.disk.fail("create", in_path=path)
    for number in range(3):
        kit.create(f"more-{number}")
    kit.wait(lambda: not victim.is_alive)


def test_a_paused_process_finds_no_timer_that_it_has_cancelled() -> None:
    """Seed 3, of the world itself: what was due in the pause ran although it was cancelled."""
    kit = Kit(4)
    host = kit.leader()
    ran: list[str] = []
    late = host.clock.call_at(host.clock.now(), lambda: ran.append("late"))
    host.clock.call_at(host.clock.now(), lambda: ran.append("first"))
    host.pause()
    kit.world.run(100)
    assert not ran
    late.cancel()
    host.resume()
    assert ran == ["first"]
