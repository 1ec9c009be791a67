"""`kafkapy cluster`: a cluster of processes from the command line."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.cli.local.local_cluster import LocalCluster, LocalNode
from kafkapy.cli.main import main

Capture = pytest.CaptureFixture[str]
Run = Callable[..., int]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cluster"
    if (tmp_path / "cluster").exists():
        cluster = LocalCluster.open(tmp_path / "cluster")
        for node_id in cluster.nodes:
            if cluster.pid(node_id) is not None:
                cluster.kill(node_id)


@pytest.fixture
def run(directory: Path) -> Run:
    return lambda *words: main(["cluster", *words, "--dir", str(directory)])


def rows(run: Run, capfd: Capture) -> dict[int, dict[str, Any]]:
    capfd.readouterr()
    assert run("status", "--json") == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return {row["node"]: row for row in found}


def test_a_cluster_from_up_to_down(run: Run, capfd: Capture) -> None:
    assert run("up", "--nodes", "3", "--base-port", "0") == 0
    assert "bootstrap servers: 127.0.0.1:" in capfd.readouterr().out
    assert [row["process"] for row in rows(run, capfd).values()] == ["runs"] * 3
    before = {node: row["pid"] for node, row in rows(run, capfd).items()}
    assert run("roll") == 0
    told = rows(run, capfd)
    assert {row["broker"] for row in told.values()} == {"active"}
    assert sum(row["controller"] for row in told.values()) == 1
    assert all(row["pid"] != before[node] for node, row in told.items())
    assert run("kill", "2") == 0
    assert rows(run, capfd)[2]["process"] == "down"
    assert run("pause", "3") == 0
    assert rows(run, capfd)[3]["process"] == "paused"
    assert run("down") == 0
    assert [row["process"] for row in rows(run, capfd).values()] == ["down"] * 3


def test_a_cluster_of_one_is_up_again_with_its_data(run: Run, capfd: Capture) -> None:
    assert run("up", "--nodes", "1", "--base-port", "0") == 0
    port = rows(run, capfd)[1]["address"]
    assert run("restart", "1") == 0
    assert run("down") == 0
    assert run("up", "--nodes", "2") == 1
    assert "stays as it is" in capfd.readouterr().err
    assert run("up") == 0
    assert rows(run, capfd)[1]["address"] == port


def test_where_one_node_does_not_start_none_is_left_running(
    run: Run, directory: Path, capfd: Capture
) -> None:
    """They would end a moment later, when they say that they serve and nobody hears it; who asks
    for the cluster again meanwhile is told that all is well."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        cluster = LocalCluster.make(directory, brokers=3, base_port=0)
        properties = directory / "node-2" / "server.properties"
        text = properties.read_text()
        port = str(cluster.nodes[2].broker_port)
        properties.write_text(text.replace(port, str(taken.getsockname()[1])))
        assert run("up") == 1
        said = capfd.readouterr().err
        assert f"node 2 said (its settings: {properties})" in said
        assert "Address already in use" in said
        assert [row["process"] for row in rows(run, capfd).values()] == ["down"] * 3
    properties.write_text(text)
    assert run("up") == 0
    assert [row["process"] for row in rows(run, capfd).values()] == ["runs"] * 3


def test_what_cannot_be_is_said_in_a_line(run: Run, directory: Path, capfd: Capture) -> None:
    assert run("status") == 1
    assert "make one: kafkapy cluster up" in capfd.readouterr().err
    directory.mkdir()
    (directory / "something").touch()
    assert run("up") == 1
    assert "holds something else" in capfd.readouterr().err
    (directory / "something").unlink()
    assert run("up", "--nodes", "1", "--set", "num.partitions=none", "--base-port", "0") == 1
    assert "num.partitions" in capfd.readouterr().err
    assert run("kill", "9") == 1
    assert "there is no node 9" in capfd.readouterr().err


def test_roles_and_ports(tmp_path: Path) -> None:
    def nodes(brokers: int, controllers: int = 0, base_port: int = 9092) -> list[LocalNode]:
        made = LocalCluster.make(
            tmp_path / str(brokers),
            brokers=brokers,
            controllers=controllers,
            base_port=base_port,
        )
        return list(made.nodes.values())

    both, broker, controller = "broker,controller", "broker", "controller"
    assert [(one.roles, one.broker_port, one.controller_port) for one in nodes(brokers=4)] == [
        (both, 9092, 9192),
        (both, 9093, 9193),
        (both, 9094, 9194),
        (broker, 9095, 0),
    ]
    assert [
        (one.roles, one.broker_port, one.controller_port)
        for one in nodes(brokers=2, controllers=1, base_port=5000)
    ] == [(broker, 5000, 0), (broker, 5001, 0), (controller, 0, 5102)]
    opened = LocalCluster.open(tmp_path / "4")
    assert opened.bootstrap == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094,127.0.0.1:9095"
