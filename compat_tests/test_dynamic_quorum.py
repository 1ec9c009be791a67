"""Voters that come and go (KIP-853), by Apache Kafka's own tools: among kafkapy's nodes, and from
an Apache Kafka quorum to one of kafkapy's and back while its broker goes on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.clusters import APACHE, COMBINED, CONTROLLER, KAFKAPY, Cluster, Node
from compat_tests.installation import Unavailable, require
from compat_tests.oracle import CLUSTER_ID, run_tool
from compat_tests.waiting import wait_for

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("peers")]

_DIRECTORY = re.compile(r"^directory.id=(\S+)$", re.MULTILINE)


class DynamicCluster(Cluster):
    """Node 1 is the only voter at first; the others know where to ask."""

    def settings(self, node_id: int) -> dict[str, str]:
        settings = super().settings(node_id)
        del settings["controller.quorum.voters"]
        settings["controller.quorum.bootstrap.servers"] = self.controllers
        return settings

    def _format(self, configuration: Path) -> None:
        is_first = configuration.parent == self.home(1)
        first = "--standalone" if is_first else "--no-initial-controllers"
        done = run_tool(
            "kafka-storage", "format", "-t", CLUSTER_ID, "-c", str(configuration), first
        )
        assert done.returncode == 0, done.stderr

    def directory_id(self, node_id: int) -> str:
        found = _DIRECTORY.search((self.data(node_id) / "meta.properties").read_text())
        assert found is not None, node_id
        return found[1]


@contextmanager
def running(cluster: Cluster) -> Iterator[None]:
    try:
        require()
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        cluster.start()
        yield
    finally:
        cluster.close()


def tool(name: str, *arguments: str) -> str:
    done = run_tool(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def standing(cluster: Cluster, asked: int) -> dict[int, str]:
    """Node -> Leader, Follower or Observer, as this broker tells; {} while nobody leads."""
    done = run_tool(
        "kafka-metadata-quorum", "--bootstrap-server", cluster.address(asked),
        "describe", "--replication",
    )  # fmt: skip
    rows = [line.split() for line in done.stdout.splitlines()[1:] if line.strip()]
    return {int(row[0]): row[-1] for row in rows} if done.returncode == 0 else {}


def add(cluster: Cluster, node_id: int, asked: int) -> None:
    properties = cluster.home(node_id) / "server.properties"
    tool(
        "kafka-metadata-quorum", "--bootstrap-server", cluster.address(asked),
        "--command-config", str(properties), "add-controller",
    )  # fmt: skip


def remove(cluster: DynamicCluster, node_id: int, asked: int) -> None:
    tool(
        "kafka-metadata-quorum", "--bootstrap-server", cluster.address(asked),
        "remove-controller", "--controller-id", str(node_id),
        "--controller-directory-id", cluster.directory_id(node_id),
    )  # fmt: skip


def create(cluster: Cluster, name: str, asked: int) -> None:
    tool(
        "kafka-topics", "--bootstrap-server", cluster.address(asked), "--create",
        "--topic", name, "--partitions", "3",
    )  # fmt: skip


def topics(cluster: Cluster, asked: int) -> set[str]:
    told = tool("kafka-topics", "--bootstrap-server", cluster.address(asked), "--list")
    return set(told.split())


def test_the_quorum_moves_to_kafkapy_and_back(tmp_path: Path) -> None:
    """One broker of Apache Kafka's, whose controllers become kafkapy's, and Apache's again."""
    nodes = [Node(1, APACHE, COMBINED), Node(2, KAFKAPY, CONTROLLER)]
    cluster = DynamicCluster(tmp_path, nodes)
    with running(cluster):
        create(cluster, "theirs", 1)
        add(cluster, 2, asked=1)
        assert standing(cluster, 1) == {1: "Leader", 2: "Follower"}
        remove(cluster, 1, asked=1)
        wait_for("ours leads", lambda: standing(cluster, 1) == {2: "Leader", 1: "Observer"})
        create(cluster, "ours", 1)
        add(cluster, 1, asked=1)
        remove(cluster, 2, asked=1)
        wait_for("theirs leads", lambda: standing(cluster, 1) == {1: "Leader", 2: "Observer"})
        create(cluster, "theirs-again", 1)
        assert topics(cluster, 1) == {"theirs", "ours", "theirs-again"}


def test_kafkas_tools_make_a_static_quorum_of_ours_a_dynamic_one(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, [Node(one, KAFKAPY, COMBINED) for one in (1, 2, 3)])
    with running(cluster):
        at = ("--bootstrap-server", cluster.address(1))

        def is_raised() -> bool:
            """Not before every voter has told the leader of itself."""
            upgrade = ("upgrade", "--feature", "kraft.version=1")
            return run_tool("kafka-features", *at, *upgrade).returncode == 0

        wait_for("kraft.version is raised", is_raised, timeout_s=60)
        assert "FinalizedVersionLevel: 1" in next(
            line
            for line in tool("kafka-features", *at, "describe").splitlines()
            if "kraft.version" in line
        )
        told = tool("kafka-metadata-quorum", *at, "describe", "--status")
        assert told.count("directoryId") == 3, told
        create(cluster, "after", 2)
