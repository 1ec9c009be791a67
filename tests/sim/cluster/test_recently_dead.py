"""For how long clients are told where a broker was that died."""

from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit
from tests.sim.cluster.test_leaders_in_doubt import (
    BY_NAME,
    EVERYTHING,
    another_than,
    leader_told,
)

SESSION_MS = 9000


def told(kit: Kit, host: Host, asked: dict[str, Any]) -> Any:
    return kit.client.ask(host.node_id, ApiKey.METADATA, asked)


def brokers_told(answer: Any) -> set[int]:
    return {one.node_id for one in answer.brokers}


@pytest.mark.parametrize("asked", [BY_NAME, EVERYTHING], ids=["by name", "everything"])
def test_who_died_stays_on_the_list_for_a_session_and_leads_nothing(asked: dict[str, Any]) -> None:
    kit = Kit(1)
    victim = kit.leader()
    other = another_than(kit, victim)
    everybody = brokers_told(told(kit, other, asked))
    victim.kill()
    kit.world.run(3)
    answer = told(kit, other, asked)
    assert leader_told(answer) not in (victim.node_id, -1)
    assert brokers_told(answer) == everybody
    kit.world.run(SESSION_MS - 1000)
    assert brokers_told(told(kit, other, asked)) == everybody
    kit.world.run(1500)
    assert brokers_told(told(kit, other, asked)) == everybody - {victim.node_id}
    victim.start()
    kit.wait(lambda: brokers_told(told(kit, other, asked)) == everybody)
    kit.world.run(2 * SESSION_MS)
    assert brokers_told(told(kit, other, asked)) == everybody


def test_who_says_goodbye_is_off_the_list() -> None:
    kit = Kit(2)
    stops = kit.leader()
    other = another_than(kit, stops)
    everybody = brokers_told(told(kit, other, BY_NAME))
    stops.stop(lambda: None)
    kit.wait(lambda: not stops.is_alive, within_ms=5000)
    left = everybody - {stops.node_id}
    kit.wait(lambda: brokers_told(told(kit, other, BY_NAME)) == left, within_ms=1000)


def test_who_was_only_cut_off_is_off_the_list_once_its_session_is_over() -> None:
    """It takes clients' connections still: one that comes to it gets no producer id, for ever."""
    kit = Kit(3)
    cut_off = kit.leader()
    other = another_than(kit, cut_off)
    everybody = brokers_told(told(kit, other, BY_NAME))
    kit.world.network.isolate(cut_off.name, kit.others(cut_off))
    kit.wait(lambda: leader_told(told(kit, other, BY_NAME)) not in (cut_off.node_id, -1))
    assert brokers_told(told(kit, other, BY_NAME)) == everybody - {cut_off.node_id}
