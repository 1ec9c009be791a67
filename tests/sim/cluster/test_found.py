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
    stopped: list[bool] = []
    follower.stop(lambda: stopped.append(True))  # cleanly: then nobody reads them at the start
    kit.wait(lambda: bool(stopped))
    kit.produce_until_acknowledged(b"without it")
    follower.disk.fail("read", in_path="t-0/leader-epoch-checkpoint")
    follower.start()
    kit.wait(lambda: bool(follower.journal.said("log directory offline")))
    kit.produce_until_acknowledged(b"after")


def test_a_node_that_loses_its_last_directory_while_it_makes_partitions_ends() -> None:
    """Seed 9: the partitions that were still to be made had nowhere to go, and said so aloud."""
    kit = Kit(3)
    victim = kit.world.hosts[3]
    victim.disk.fail("create", in_path="/data/b")
    kit.create("one")
    kit.wait(lambda: victim.has_lost_a_directory)
    victim.disk.fail("create", in_path="/data/a")
    kit.create("two", partitions=2)  # in one go; the second has nowhere to go
    kit.wait(lambda: not victim.is_alive)


def test_who_led_and_wrote_nothing_forgets_its_epoch_when_it_follows() -> None:
    """Leaders that move all the time: the follower told its leader of an epoch that this one did
    not know, cut nothing, had nothing new to tell, and was out of sync for ever."""
    kit = Kit(5)
    assert kit.produce(b"before")
    first, then = kit.leader(), kit.follower()
    order = [then.node_id, first.node_id, 6 - then.node_id - first.node_id]
    for replicas in (order, [order[1], order[0], order[2]]):
        kit.lead(replicas)
    kit.produce_until_acknowledged(b"after")
    kit.check()


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
