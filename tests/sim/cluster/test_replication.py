"""Records on several nodes: appended by the leader, fetched by followers, kept through deaths."""

from tests.sim.cluster.kit import Kit


def test_what_is_acknowledged_by_all_is_on_all() -> None:
    kit = Kit(1)
    for number in range(20):
        assert kit.produce(b"value-%03d" % number)
    for host in kit.world.brokers:
        assert b"value-019" in kit.contents(host)
    kit.check()


def test_an_acknowledgement_does_not_wait_for_a_fetch_that_left_before_the_flush() -> None:
    """Followers of several partitions ask for the others while one is on its way to the disk: that
    fetch was parked for half a second, and what the disk had was told after it."""
    kit = Kit(1, **{"log.flush.interval.messages": "1"})
    kit.create("others", partitions=6)
    assert kit.produce(b"first")
    for number in range(10):
        before = kit.world.clock.now()
        assert kit.produce(b"value-%d" % number)
        assert kit.world.clock.now() - before < 100
    kit.check()


def test_a_follower_that_dies_leaves_the_isr_and_comes_back() -> None:
    kit = Kit(2)
    assert kit.produce(b"before")
    victim = next(host for host in kit.world.brokers if host is not kit.leader())
    victim.kill()
    kit.produce_until_acknowledged(b"without it")
    assert victim.node_id not in kit.in_sync()
    victim.start()
    kit.check()


def test_another_leads_when_the_leader_is_killed_and_nothing_is_lost() -> None:
    kit = Kit(3)
    for number in range(5):
        assert kit.produce(b"first-%d" % number)
    old = kit.leader()
    old.kill()
    kit.world.run_until(lambda: kit.leader_or_none() not in (None, old), 60_000)
    kit.produce_until_acknowledged(b"after")
    old.start()
    kit.check()


def test_a_leader_cut_off_keeps_what_nobody_else_has_from_being_acknowledged() -> None:
    """Write to it alone, heal: its records are cut off, nothing acknowledged is missing."""
    kit = Kit(4, **{"default.replication.factor": "3"})
    assert kit.produce(b"before")
    old = kit.leader()
    kit.world.network.isolate(old.name, [host.name for host in kit.world.hosts.values()])
    assert not kit.produce(b"doomed")
    assert kit.produce(b"promised by one", acks=1)
    kit.acknowledged.remove(b"promised by one")
    kit.world.run_until(lambda: kit.leader_or_none() not in (None, old), 60_000)
    kit.produce_until_acknowledged(b"after")
    kit.world.network.heal()
    kit.check()
    assert b"doomed" not in kit.contents(kit.leader())


def test_with_too_few_in_sync_nothing_is_acknowledged() -> None:
    kit = Kit(5, **{"min.insync.replicas": "2"})
    assert kit.produce(b"before")
    for host in kit.world.brokers:
        if host is not kit.leader():
            kit.world.network.isolate(host.name, [one.name for one in kit.world.hosts.values()])
    assert not kit.produce(b"alone")
    kit.world.network.heal()
    kit.produce_until_acknowledged(b"together")
    kit.check()
