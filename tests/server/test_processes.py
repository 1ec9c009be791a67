"""Real processes: they elect, register, lose one of them and get it back."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkapy.cli.local.cluster_state import ClusterState, cluster_state
from kafkapy.cli.local.local_cluster import LocalCluster
from kafkapy.cli.main import Failed

PATIENCE_S = 30.0
# A silent node is noticed soon, and elections are short.
QUICK = {
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "100",
    "controller.quorum.fetch.timeout.ms": "500",
    "controller.quorum.request.timeout.ms": "500",
}


@contextmanager
def ended(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """No process outlives the test."""
    try:
        yield cluster
    finally:
        for node_id in cluster.nodes:
            if cluster.pid(node_id) is not None:
                cluster.kill(node_id)


def state_when(
    cluster: LocalCluster, is_so: Callable[[ClusterState], bool], but: int | None = None
) -> ClusterState:
    """As told by any node but one."""
    give_up_at = time.monotonic() + PATIENCE_S
    addresses = [node.address for node in cluster.brokers if node.node_id != but]
    pause = threading.Event()
    state = None
    while time.monotonic() < give_up_at:
        state = cluster_state(addresses)
        if state is not None and is_so(state):
            return state
        pause.wait(0.02)
    logs = "\n".join(cluster.said(node_id, 20) for node_id in cluster.nodes)
    raise AssertionError(f"it never happens; last seen {state}\n{logs}")


@pytest.mark.parametrize("controllers", [0, 3], ids=["combined", "separate"])
def test_the_active_controller_dies_and_comes_back(tmp_path: Path, controllers: int) -> None:
    made = LocalCluster.make(
        tmp_path / "c", brokers=3, controllers=controllers, base_port=0, settings=QUICK
    )
    with ended(made) as cluster:
        cluster.start(cluster.nodes, PATIENCE_S)
        first = state_when(cluster, lambda state: state.active == {1, 2, 3})
        cluster.kill(first.controller_id)
        left = {1, 2, 3} - {first.controller_id}
        then = state_when(cluster, lambda state: state.active == left, first.controller_id)
        assert then.controller_id != first.controller_id
        assert then.epoch > first.epoch
        cluster.start([first.controller_id], PATIENCE_S)
        state_when(cluster, lambda state: state.active == {1, 2, 3})
        cluster.stop(cluster.nodes, PATIENCE_S)
        for node_id in cluster.nodes:
            assert "stopped cleanly" in cluster.said(node_id), cluster.said(node_id)


def test_a_paused_controller_is_replaced_and_follows_when_it_wakes(tmp_path: Path) -> None:
    made = LocalCluster.make(tmp_path / "c", brokers=3, base_port=0, settings=QUICK)
    with ended(made) as cluster:
        cluster.start(cluster.nodes, PATIENCE_S)
        first = state_when(cluster, lambda state: state.active == {1, 2, 3})
        paused = first.controller_id
        cluster.tell(paused, signal.SIGSTOP)
        then = state_when(cluster, lambda state: state.active == {1, 2, 3} - {paused}, paused)
        assert then.controller_id != paused
        cluster.tell(paused, signal.SIGCONT)
        after = state_when(cluster, lambda state: state.active == {1, 2, 3})
        assert after.epoch >= then.epoch


def test_a_node_without_a_majority_says_whom_it_waits_for_and_ends_when_told(
    tmp_path: Path,
) -> None:
    made = LocalCluster.make(tmp_path / "c", brokers=3, base_port=0)
    with ended(made) as cluster:
        os.close(cluster.spawn(1))
        wanted = f"2@127.0.0.1:{cluster.node(2).controller_port} refused"
        give_up_at = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        while wanted not in cluster.said(1):
            assert time.monotonic() < give_up_at, cluster.said(1)
            pause.wait(0.02)
        cluster.stop([1], PATIENCE_S)
        assert "stopped cleanly" in cluster.said(1)


def test_a_node_of_another_cluster_ends_with_the_reason(tmp_path: Path) -> None:
    made = LocalCluster.make(tmp_path / "c", brokers=3, base_port=0)
    with ended(made) as cluster:
        meta = cluster.home(3) / "data" / "meta.properties"
        meta.write_text(meta.read_text().replace(cluster.cluster_id, "AnotherClustersId00000"))
        cluster.start([1, 2], PATIENCE_S)
        with pytest.raises(Failed, match="directories are of cluster AnotherClustersId00000"):
            cluster.start([3], PATIENCE_S)
        assert cluster.pid(1) is not None
        assert cluster.pid(2) is not None
