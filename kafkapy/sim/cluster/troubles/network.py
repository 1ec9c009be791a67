"""The network: cut, in every shape, broken, half broken, slow."""

from typing import Final

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.nemesis import LASTS_MS, Nemesis
from kafkapy.sim.cluster.network import Latency

_LATENCIES: Final[tuple[Latency, ...]] = ((0, 40), (1, 300), (20, 60), (200, 900))


def isolate(nemesis: Nemesis) -> None:
    """One machine from all others: with its clients, or without."""
    _isolate(nemesis, nemesis.host())


def isolate_controller(nemesis: Nemesis) -> None:
    host = nemesis.world.active_controller
    if host is not None:
        _isolate(nemesis, host)


def _isolate(nemesis: Nemesis, host: Host) -> None:
    names = [one.name for one in nemesis.world.hosts.values()]
    if nemesis.rng.chance(50):
        names = list(nemesis.world.network.hosts)
    cuts = [
        path
        for name in names
        if name != host.name
        for path in ((host.name, name), (name, host.name))
    ]
    _cut(nemesis, cuts)


def split(nemesis: Nemesis) -> None:
    """Two halves; clients see both."""
    names = [host.name for host in nemesis.world.hosts.values()]
    here = {name for name in names if nemesis.rng.chance(50)}
    cuts = [(one, other) for one in names for other in names if (one in here) != (other in here)]
    _cut(nemesis, cuts)


def cut_one_way(nemesis: Nemesis) -> None:
    _cut(nemesis, [nemesis.pair()])


def cut_pair(nemesis: Nemesis) -> None:
    """Two do not see each other, everybody else sees both."""
    one, other = nemesis.pair()
    _cut(nemesis, [(one, other), (other, one)])


def _cut(nemesis: Nemesis, paths: list[tuple[str, str]]) -> None:
    network = nemesis.world.network
    for path in paths:
        network.cut(*path)

    def mend() -> None:
        for path in paths:
            network.mend(*path)

    nemesis.lasts(mend)


def break_connections(nemesis: Nemesis) -> None:
    nemesis.world.network.break_connections(*nemesis.pair())


def half_open(nemesis: Nemesis) -> None:
    """Whoever asks again on a new connection has its old requests arrive after the new ones."""
    nemesis.world.network.half_open(*nemesis.pair(), nemesis.rng.magnitude(*LASTS_MS))


def slow_link(nemesis: Nemesis) -> None:
    network, path = nemesis.world.network, nemesis.pair()
    latency = nemesis.rng.choice(_LATENCIES)
    nemesis.note("slows", *path, latency)
    network.slow(latency, *path)
    nemesis.lasts(lambda: network.usual(*path))


def slow_network(nemesis: Nemesis) -> None:
    latency = nemesis.rng.choice(_LATENCIES[:3])
    nemesis.note("slows the network", latency)
    nemesis.world.network.slow(latency)
    nemesis.lasts(nemesis.world.network.usual)
