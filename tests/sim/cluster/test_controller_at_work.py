"""What the controller decides, seen on brokers that act on it: ELR, preferred leaders, leaving."""

from functools import partial
from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

BESIDE = ("broker", "broker", "broker", "controller")


def host_of(kit: Kit, node_id: int) -> Host:
    return kit.world.hosts[node_id]


def is_out(kit: Kit, host: Host) -> bool:
    return host.node_id not in kit.state().isr


def gone_cleanly(kit: Kit, node_id: int) -> None:
    host = host_of(kit, node_id)
    host.stop(lambda: None)
    kit.wait(lambda: not host.is_alive)


def controllers_brokers(kit: Kit) -> dict[int, Any]:
    node = kit.world.wait_for_controller().node
    assert node is not None
    return node.image.brokers


def test_a_replica_that_stopped_cleanly_below_min_isr_may_lead_again() -> None:
    """KIP-966: one leaves the ISR of three, the next the minimum of two: it stays eligible."""
    kit = Kit(1, BESIDE, **{"min.insync.replicas": "2"})
    for number in range(5):
        assert kit.produce(b"value-%d" % number)
    kit.wait_for_all_in_sync()
    gone_cleanly(kit, 3)
    assert kit.state().elr == ()
    gone_cleanly(kit, 2)
    assert (kit.state().isr, kit.state().elr) == ((1,), (2,))
    assert not kit.produce(b"too few"), "below the minimum nothing is acknowledged"
    gone_cleanly(kit, 1)
    state = kit.state()
    assert (state.leader, state.isr, set(state.elr)) == (-1, (), {1, 2})
    host_of(kit, 3).start()
    kit.world.run(10_000)
    assert kit.state().leader == -1, "3 left before the last records"
    host_of(kit, 2).start()
    kit.wait(lambda: kit.state().leader == 2)
    host_of(kit, 1).start()
    kit.wait_for_all_in_sync()
    kit.check()


def test_a_replica_that_crashed_is_not_eligible_but_the_last_leader_is_known() -> None:
    kit = Kit(2, BESIDE, **{"min.insync.replicas": "2"})
    assert kit.produce(b"value")
    kit.wait_for_all_in_sync()
    leader = kit.leader()
    others = [host for host in kit.world.brokers if host is not leader]
    for host in (*others, leader):
        host.kill()
        kit.wait(partial(is_out, kit, host))
    assert kit.state().leader == -1
    for host in others:
        host.start()
        kit.world.run(5_000)
        assert kit.state().leader == -1, "whoever crashed may have lost what it acknowledged"
    assert kit.state().last_known_elr == (leader.node_id,)
    leader.start()
    kit.wait(lambda: kit.state().leader == leader.node_id)
    kit.check()


def test_preferred_replicas_lead_again_after_a_while() -> None:
    kit = Kit(3, BESIDE, **{"leader.imbalance.check.interval.seconds": "10"})
    kit.create("many", partitions=6)
    kit.wait_for_all_in_sync()

    def leaders() -> list[int]:
        return [kit.state("many", index).leader for index in range(6)]

    before = leaders()
    host_of(kit, 2).kill()
    kit.wait(lambda: 2 not in leaders())
    host_of(kit, 2).start()
    kit.wait(lambda: leaders() == before)
    node = kit.world.wait_for_controller().node
    assert node is not None
    assert [kit.state("many", index).replicas[0] for index in range(6)] == before, (
        "as they were placed"
    )


def test_a_dead_broker_is_unregistered_and_comes_back_as_a_new_one() -> None:
    kit = Kit(4, BESIDE)
    assert kit.produce(b"before")
    kit.wait_for_all_in_sync()
    victim = kit.follower()
    epoch = controllers_brokers(kit)[victim.node_id].epoch
    victim.kill()
    asked = kit.leader().node_id
    answer = kit.client.ask(asked, ApiKey.UNREGISTER_BROKER, {"broker_id": victim.node_id})
    assert answer.error_code == ErrorCode.NONE
    assert victim.node_id not in controllers_brokers(kit)
    assert victim.node_id not in kit.state().isr
    again = kit.client.ask(asked, ApiKey.UNREGISTER_BROKER, {"broker_id": victim.node_id})
    assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    victim.start()
    kit.wait_for_all_in_sync()
    assert controllers_brokers(kit)[victim.node_id].epoch > epoch
    kit.check()


def test_a_cordoned_broker_gets_nothing_new() -> None:
    kit = Kit(5, ("broker",) * 4 + ("controller",))
    name = {"resource_type": 4, "resource_name": "4"}
    change = {"name": "cordoned.log.dirs", "config_operation": 0, "value": "*"}
    answer = kit.client.ask(
        4,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        {"resources": [{**name, "configs": [change]}], "validate_only": False},
    )
    assert answer.responses[0].error_code == ErrorCode.NONE
    kit.wait(lambda: bool(controllers_brokers(kit)[4].cordoned_log_dirs))
    kit.create("elsewhere", partitions=8)
    for index in range(8):
        assert set(kit.state("elsewhere", index).replicas) == {1, 2, 3}
