"""Connections by key: to where each is now, and to nobody once all are closed."""

from typing import Any

import pytest

from kafkapy.broker.peers.connection import PeerSettings, State
from kafkapy.broker.peers.connections import Connections
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.core.addresses import Address
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.network import SimNetwork
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.rng import SimRng

HERE, THERE = Address("here", 1), Address("there", 2)


@pytest.fixture
def clock() -> SimClock:
    return SimClock()


@pytest.fixture
def connections(clock: SimClock) -> Connections[str]:
    network = SimNetwork(clock, SimRng(1), Trace(clock)).host("client")
    settings = PeerSettings(client_id="test")
    return Connections(network, clock, SimRng(2), listener="PLAINTEXT", settings=settings)


def test_each_key_has_a_connection_that_stays(connections: Connections[str]) -> None:
    a, b = connections.to("a", HERE), connections.to("b", HERE)
    assert a is not None
    assert b is not None
    assert a is not b
    assert connections.to("a", HERE) is a
    assert connections.another(HERE) is not a


def test_who_is_elsewhere_now_gets_another_one(connections: Connections[str]) -> None:
    before = connections.to("a", HERE)
    after = connections.to("a", THERE)
    assert before is not None
    assert after is not None
    assert before.state is State.CLOSED
    assert after.address == THERE
    assert connections.to("a", None) is None
    assert after.state is State.CLOSED


def test_those_to_anywhere_else_are_dropped(connections: Connections[str]) -> None:
    a, b = connections.to("a", HERE), connections.to("b", THERE)
    assert a is not None
    assert b is not None
    connections.drop_unless_at(THERE)
    assert (a.state, b.state) == (State.CLOSED, State.IDLE)
    connections.drop("b")
    connections.drop("b")
    assert b.state is State.CLOSED
    assert connections.to("b", THERE) is not b


def test_after_the_end_whoever_calls_is_told(
    connections: Connections[str], clock: SimClock
) -> None:
    kept = connections.to("a", HERE)
    connections.close()
    answers: list[Any] = []
    for one in (kept, connections.to("a", HERE), connections.to("b", THERE)):
        assert one is not None
        one.call(ApiKey.METADATA, {"topics": ()}, answers.append, versions=(1, 9), timeout_ms=10)
    clock.settle()
    assert [one.why for one in answers if isinstance(one, CallFailed)] == [Why.CLOSED] * 3
