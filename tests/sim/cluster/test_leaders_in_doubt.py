"""Who asks who leads just after a leader died hears who leads now, not who did."""

from typing import Any

import pytest

from kafkapy.broker.metadata.leaders_in_doubt import DOUBT_MS
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

BY_NAME = {"topics": [{"name": "t", "topic_id": None}], "allow_auto_topic_creation": False}
EVERYTHING = {"topics": None, "allow_auto_topic_creation": False}


def another_than(kit: Kit, *some: Host) -> Host:
    return next(host for host in kit.world.brokers if host not in some)


def leader_told(answer: Any) -> int:
    (leader,) = [one.partitions[0].leader_id for one in answer.topics if one.name == "t"]
    return int(leader)


@pytest.mark.parametrize("asked", [BY_NAME, EVERYTHING], ids=["by name", "everything"])
@pytest.mark.parametrize("after_ms", [0, 3], ids=["nobody has noticed", "everybody has"])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_answer_after_a_death_names_who_leads_now(
    seed: int, after_ms: int, asked: dict[str, Any]
) -> None:
    """As a client does: its connection breaks, and it asks another broker in that moment. The
    end of the connections may have come to that broker by then, or may not."""
    kit = Kit(seed)
    victim = kit.leader()
    other = another_than(kit, victim)
    assert leader_told(kit.client.ask(other.node_id, ApiKey.METADATA, asked)) == victim.node_id
    victim.kill()
    kit.world.run(after_ms)
    before = kit.world.clock.now()
    answer = kit.client.ask(other.node_id, ApiKey.METADATA, asked)
    assert leader_told(answer) not in (victim.node_id, -1)
    assert kit.world.clock.now() - before < DOUBT_MS


@pytest.mark.parametrize("seed", range(4))
def test_a_leader_that_is_back_may_die_again(seed: int) -> None:
    """Followers drop the connection of one that leads nothing, and have another one later: what
    was noted of its first death was never forgotten, so its second one was not noticed."""
    kit = Kit(seed)
    victim = kit.leader()
    other = another_than(kit, victim)
    for _ in range(3):
        victim.kill()
        kit.world.run(3)
        before = kit.world.clock.now()
        answer = kit.client.ask(other.node_id, ApiKey.METADATA, BY_NAME)
        assert leader_told(answer) not in (victim.node_id, -1)
        assert len(answer.brokers) == 3
        assert kit.world.clock.now() - before < DOUBT_MS
        kit.world.run(20_000)
        victim.start()
        kit.wait(lambda: len(kit.state().isr) == 3)
        kit.lead([victim.node_id, *(one for one in (1, 2, 3) if one != victim.node_id)])


def test_a_leader_that_only_lost_its_connections_is_told_soon() -> None:
    kit = Kit(11)
    leader = kit.leader()
    other = another_than(kit, leader)
    kit.world.network.break_connections(leader.name, other.name)
    before = kit.world.clock.now()
    answer = kit.client.ask(other.node_id, ApiKey.METADATA, BY_NAME)
    assert leader_told(answer) == leader.node_id
    assert kit.world.clock.now() - before < DOUBT_MS


def test_nobody_waits_longer_for_one_that_nothing_is_heard_of() -> None:
    """Its connections break and it is cut off: it keeps its session, and is told as leader."""
    kit = Kit(12)
    leader = kit.leader()
    controller = kit.world.wait_for_controller()
    other = another_than(kit, leader)
    kit.world.network.break_connections(leader.name, other.name)
    kit.world.network.isolate(leader.name, kit.others(leader))
    kit.world.run(3)
    for longest_ms in (DOUBT_MS + 10, 10):
        before = kit.world.clock.now()
        answer = kit.client.ask(other.node_id, ApiKey.METADATA, BY_NAME)
        assert kit.world.clock.now() - before <= longest_ms
    assert controller is leader or leader_told(answer) == leader.node_id


def test_who_asks_about_something_else_does_not_wait() -> None:
    kit = Kit(13)
    leader = kit.leader()
    other = another_than(kit, leader)
    kit.world.network.break_connections(leader.name, other.name)
    kit.world.network.isolate(leader.name, kit.others(leader))
    kit.world.run(3)
    before = kit.world.clock.now()
    nothing = {"topics": [], "allow_auto_topic_creation": False}
    assert not kit.client.ask(other.node_id, ApiKey.METADATA, nothing).topics
    assert kit.world.clock.now() - before < 50
