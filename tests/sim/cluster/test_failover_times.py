"""How long a partition acknowledges nothing, on processors that cost nothing: what is left is what
nodes ask one another and wait for. docs/FAILOVER.md tells of real ones.
"""

import pytest

from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit


def led_by(kit: Kit, *, controller: bool) -> Host:
    """All are in sync, and the leader is the active controller, or is not."""
    kit.world.run(3000)
    kit.wait_for_all_in_sync()
    active = kit.world.wait_for_controller()
    first = next(host for host in kit.world.brokers if (host is active) is controller)
    kit.lead([first.node_id, *({1, 2, 3} - {first.node_id})])
    return kit.leader()


def longest_gap(kit: Kit, until_acknowledged: int) -> int:
    """In milliseconds, of a producer that has one record under way at a time."""
    longest, last, count = 0, kit.world.clock.now(), 0
    while count < until_acknowledged:
        if kit.leader_or_none() is not None and kit.produce(b"%d" % count):
            now = kit.world.clock.now()
            longest, last, count = max(longest, now - last), now, count + 1
        else:
            kit.world.run(5)
    return longest


@pytest.mark.parametrize("seed", range(3))
def test_a_leader_that_is_killed(seed: int) -> None:
    kit = Kit(seed)
    led_by(kit, controller=False).kill()
    assert longest_gap(kit, 3) <= 50


@pytest.mark.parametrize("seed", range(3))
def test_a_leader_that_is_killed_and_was_the_active_controller(seed: int) -> None:
    kit = Kit(seed)
    led_by(kit, controller=True).kill()
    assert longest_gap(kit, 3) <= 200


@pytest.mark.parametrize("controller", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_leader_that_is_stopped(seed: int, controller: bool) -> None:
    kit = Kit(seed)
    stopped: list[bool] = []
    led_by(kit, controller=controller).stop(lambda: stopped.append(True))
    assert longest_gap(kit, 30) <= 50
    kit.wait(lambda: bool(stopped))
