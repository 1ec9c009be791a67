"""`kafkapy doctor` against clusters that run: each test breaks the one thing that is found."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.cli.checks import running as module
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.checks.machine import Machine
from kafkapy.cli.checks.running import running
from kafkapy.cli.local.cluster_state import cluster_state
from kafkapy.cli.local.local_cluster import LocalCluster
from kafkapy.cli.main import main
from kafkapy.testing import Broker
from kafkapy.testing.node.memory_disk import MemoryDisk

PATIENCE_S = 30.0
ALL_WELL = Finding("", "", "", "")
QUICK = {
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "100",
    "controller.quorum.fetch.timeout.ms": "500",
    "controller.quorum.request.timeout.ms": "500",
    "offsets.topic.replication.factor": "3",
}


def found(servers: str, machine: Machine | None = None) -> dict[str, Finding]:
    return {one.name: one for one in running(servers, machine or Machine())}


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nothing_is_found_where_nothing_is_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker() as kafka:
        assert main(["doctor", "--bootstrap-server", kafka.bootstrap]) == 0
    assert capfd.readouterr().out == "nothing found\n"


def test_findings_are_told_to_programs_too(capfd: pytest.CaptureFixture[str]) -> None:
    told = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{closed_port()}"}
    with Broker(told) as kafka:
        assert main(["doctor", "--bootstrap-server", kafka.bootstrap, "--json"]) == 1
    (one,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert (one["level"], one["name"]) == ("problem", "advertised-unreachable")


def test_an_advertised_address_that_takes_no_connections() -> None:
    port = closed_port()
    with Broker({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}) as kafka:
        assert f"127.0.0.1:{port}" in found(kafka.bootstrap)["advertised-unreachable"].what


def test_an_advertised_name_that_is_not_known_here() -> None:
    with Broker({"advertised.listeners": "PLAINTEXT://no-such.invalid:9092"}) as kafka:
        assert "no-such.invalid" in found(kafka.bootstrap)["advertised-name-unknown"].what


def test_a_broker_elsewhere_that_advertises_localhost() -> None:
    """Elsewhere: no address that it was reached by is this machine's."""

    class Client(Machine):
        def is_own(self, address: str) -> bool:
            return False

    with Broker() as kafka:
        seen = found(kafka.bootstrap, Client())
    assert "to every client, itself" in seen["advertised-loopback"].what


def test_an_advertised_address_where_another_cluster_answers() -> None:
    with (
        Broker() as other,
        Broker({"advertised.listeners": f"PLAINTEXT://{other.bootstrap}"}) as one,
    ):
        assert found(one.bootstrap)["cluster-id-differs"].about == other.bootstrap


def test_bootstrap_servers_of_two_clusters() -> None:
    with Broker() as one, Broker() as other:
        differs = found(f"{one.bootstrap},{other.bootstrap}")["cluster-id-differs"]
    assert differs.about == other.bootstrap


def test_the_clocks_of_two_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    here = time.time
    with Broker() as kafka:
        for ahead in (5.0, -5.0):
            monkeypatch.setattr(time, "time", lambda ahead=ahead: here() + ahead)
            way = "behind" if ahead > 0 else "ahead of"
            assert way in found(kafka.bootstrap)["clock-differs"].what
            monkeypatch.undo()


def test_a_brokers_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker() as kafka:
        monkeypatch.setattr(MemoryDisk, "space", lambda self, path: (100 << 30, 5 << 30))
        assert "5.0 of 100.0 GB" in found(kafka.bootstrap)["disk-nearly-full"].what


# --- three nodes ---


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    made = LocalCluster.make(tmp_path / "c", brokers=3, controllers=0, base_port=0, settings=QUICK)
    try:
        made.start(list(made.nodes))
        yield made
    finally:
        for node_id in made.nodes:
            if made.pid(node_id) is not None:
                made.kill(node_id)


def eventually(look: Callable[[], dict[str, Finding]], *names: str) -> dict[str, Finding]:
    give_up_at, seen = time.monotonic() + PATIENCE_S, {}
    pause = threading.Event()
    while time.monotonic() < give_up_at:
        seen = look()
        if set(names) <= set(seen):
            return seen
        pause.wait(0.05)
    raise AssertionError(f"never all of {names}: {seen}")


def test_nodes_that_are_gone_until_there_is_no_majority(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_LOST_VOTER_MS", 1500)
    monkeypatch.setattr(module, "TIMEOUT_S", 3.0)
    servers = cluster.bootstrap
    create = ["topics", "create", "t", "--partitions", "3", "--replication-factor", "3"]
    assert main([*create, "--bootstrap-server", servers]) == 0
    state = cluster_state([node.address for node in cluster.brokers])
    assert state is not None
    first, second = [one for one in (1, 2, 3) if one != state.controller_id]
    left = cluster.nodes[state.controller_id].address
    eventually(lambda: {} if found(left) else {"sound": ALL_WELL}, "sound")
    cluster.kill(first)
    seen = eventually(lambda: found(left), "broker-fenced", "partitions-not-whole", "voter-missing")
    assert seen["broker-fenced"].about == f"broker {first}"
    assert "2 of 3 do, and 2 must" in seen["voter-missing"].what
    cluster.kill(second)
    eventually(lambda: found(left), "no-majority")


def test_two_brokers_that_advertise_one_address(cluster: LocalCluster) -> None:
    one, two = cluster.nodes[1], cluster.nodes[2]
    file = cluster.directory / "node-2/server.properties"
    file.write_text(file.read_text() + f"\nadvertised.listeners=PLAINTEXT://{one.address}\n")
    cluster.stop([2])
    cluster.start([2])
    seen = eventually(lambda: found(two.address), "advertised-another-node")
    assert seen["advertised-another-node"].about == "broker 2"
