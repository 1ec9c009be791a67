"""The script of `make scale`, made small; and that a broker with many logs starts in slices."""

import re

import pytest

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.scale.measuring import measure
from kafkapy.sim.scale.world import ScaleWorld

PARTITIONS = 60


def test_it_tells_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    measure(4, 6, 5, at_once=2, seed=1)
    told = capsys.readouterr().out
    assert re.search(r"2 topics made by one request, answered after \d+ virtual ms", told)
    assert re.search(r"metadata log, 1\d records, \d kB", told), "of two topics of five"
    assert re.search(r"a broker that led [1-9]\d* died, all moved after \d+ virtual ms", told)
    assert re.search(r"another is active after \d+ virtual ms", told)
    assert all(float(one) > 0 for one in re.findall(r"active controller n\d ([\d.]+) s", told))


@pytest.fixture
def world() -> ScaleWorld:
    world = ScaleWorld(3)
    world.create_topics(["a", "b"], PARTITIONS)
    world.settle()
    return world


def opened(host: Host) -> int:
    assert host.node is not None
    assert host.node.broker is not None
    return len(list(host.node.broker.logs))


def begin_to_open(world: ScaleWorld, host: Host) -> None:
    host.start()
    world.wait(lambda: opened(host) > 0)
    assert opened(host) < 2 * PARTITIONS


def unclean(host: Host) -> list[object]:
    return [line.facts.get("unclean") for line in host.journal.said("logs loaded")]


def test_logs_are_opened_in_slices(world: ScaleWorld) -> None:
    host = world.brokers[0]
    host.kill()
    begin_to_open(world, host)
    assert not host.is_serving
    world.settle()
    assert opened(host) == 2 * PARTITIONS
    assert unclean(host) == ["/data"]


def test_who_is_stopped_while_it_opens_them_stops_cleanly(world: ScaleWorld) -> None:
    host = world.brokers[0]

    def stop() -> None:
        stopped: list[bool] = []
        host.stop(lambda: stopped.append(True))
        world.wait(lambda: bool(stopped))

    stop()
    begin_to_open(world, host)
    stop()
    host.start()
    world.settle()
    assert unclean(host) == [None]
