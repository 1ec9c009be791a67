from collections.abc import Callable

import pytest

from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, ChannelOwner, Down
from kafkapy.sim.cluster.network import SimNetwork
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.rng import SimRng
from tests.network_conformance import Bench, Echo, Heard, NetworkConformance, framed

PORT = 9093


class SimBench(Bench):
    def __init__(self) -> None:
        self.clock = SimClock()
        self.trace = Trace(self.clock)
        self.net = SimNetwork(self.clock, SimRng(1), self.trace)
        self.here = self.net.host("here")
        self.there = self.net.host("there")
        self.network = self.here

    def listen(self, accept: Callable[[Channel], ChannelOwner]) -> Address:
        self.there.listen(PORT, lambda end, _: accept(end))
        return Address("there", PORT)

    def address_where_nobody_listens(self) -> Address:
        return Address("there", PORT + 1)

    def run_until(self, condition: Callable[[], bool]) -> None:
        assert self.clock.run_until(condition, 10_000)

    def connected(self) -> tuple[Echo, Heard, Channel]:
        echo, client = Echo(), Heard()
        channel = self.connect(self.listen(echo), client)
        self.run_until(lambda: client.events == ["up"] and bool(echo.channels))
        return echo, client, channel


@pytest.fixture
def bench() -> SimBench:
    return SimBench()


class TestConformance(NetworkConformance):
    pass


def test_what_is_sent_into_a_cut_arrives_in_order_when_it_heals(bench: SimBench) -> None:
    _, client, channel = bench.connected()
    bench.net.cut("here", "there")
    for body in (b"a", b"b"):
        channel.send((framed(body),))
    bench.clock.advance(5000)
    assert client.frames == []
    bench.net.heal()
    channel.send((framed(b"c"),))
    bench.run_until(lambda: client.frames == [b"a", b"b", b"c"])


def test_a_one_way_cut_lets_the_other_way_through(bench: SimBench) -> None:
    echo, client, channel = bench.connected()
    bench.net.cut("there", "here")
    channel.send((framed(b"heard"),))
    bench.clock.advance(5000)
    assert echo.heard[0].frames == [b"heard"]
    assert client.frames == []


def test_no_connection_comes_up_through_a_cut(bench: SimBench) -> None:
    client = Heard()
    address = bench.listen(Echo())
    bench.net.cut_both("here", "there")
    bench.connect(address, client)
    bench.clock.advance(5000)
    assert client.events == []


def test_a_process_that_dies_resets_its_connections(bench: SimBench) -> None:
    _, client, _ = bench.connected()
    bench.there.process_died()
    bench.run_until(lambda: client.down is Down.BROKEN)
    refused = Heard()
    bench.connect(Address("there", PORT), refused)
    bench.run_until(lambda: refused.down is Down.REFUSED)


def test_a_machine_without_power_says_nothing(bench: SimBench) -> None:
    _, client, channel = bench.connected()
    bench.there.machine_died()
    channel.send((framed(b"x"),))
    new = Heard()
    bench.connect(Address("there", PORT), new)
    bench.clock.advance(5000)
    assert client.events == ["up"]
    assert new.events == []


def test_a_machine_that_is_back_resets_what_it_does_not_know(bench: SimBench) -> None:
    _, client, channel = bench.connected()
    bench.there.machine_died()
    bench.there.machine_started()
    channel.send((framed(b"x"),))
    bench.run_until(lambda: client.down is Down.BROKEN)


def test_a_host_nobody_knows_is_unreachable(bench: SimBench) -> None:
    client = Heard()
    bench.connect(Address("nowhere", 1), client)
    bench.run_until(lambda: client.down is Down.UNREACHABLE)


def test_broken_connections_are_heard_on_both_sides(bench: SimBench) -> None:
    echo, client, _ = bench.connected()
    bench.net.break_connections("here", "there")
    bench.run_until(lambda: client.down is Down.BROKEN and echo.heard[0].down is Down.BROKEN)


def test_old_requests_arrive_behind_new_ones_where_a_connection_is_half_open(
    bench: SimBench,
) -> None:
    """One end takes it for gone and asks again on a new one; the other end hears everything."""
    echo, client, channel = bench.connected()
    channel.send((framed(b"old"),))
    bench.net.half_open("here", "there", 1_000)
    bench.run_until(lambda: client.down is Down.BROKEN)
    again = Heard()
    new = bench.connect(Address("there", PORT), again)
    bench.run_until(lambda: again.events == ["up"])
    new.send((framed(b"new"),))
    bench.run_until(lambda: again.frames == [b"new"])
    assert echo.heard[0].frames == []
    bench.run_until(lambda: echo.heard[0].down is Down.BROKEN)
    assert echo.heard[0].frames == [b"old"]
    assert client.frames == []
