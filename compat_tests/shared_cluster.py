"""Three nodes in place of one: the same tests, with three replicas of everything.

    pytest compat_tests --nodes 3                 every client against a cluster
    pytest compat_tests --nodes 3 --disturbed     the nodes but the first are restarted meanwhile

Tests know one address, that of the first node, so that one stays. The others stop, hand over
what they lead and coordinate, come back and are filled, one after the other, again and again.
There is one broker more than replicas then, so that there are always as many as tests count on.
"""

import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from compat_tests.clusters import BROKER, Cluster, Node, of
from compat_tests.waiting import NeverHappened, wait_for
from kafkapy.broker.config.replicated import of_all_topics

_SYNC_PATIENCE_S = 60.0
_REST_S = 2.0
# In force while nodes go and come, and no test waits for it.
_NO_REBALANCE = {"auto.leader.rebalance.enable": "false"}


class SharedCluster:
    """A `targets.Server` of several nodes."""

    def __init__(
        self,
        kind: str,
        directory: Path,
        nodes: int,
        properties: Mapping[str, str],
        *,
        is_disturbed: bool = False,
    ) -> None:
        members = of(kind, nodes)
        if is_disturbed:
            members.append(Node(nodes + 1, kind, BROKER))
        self.cluster = Cluster(
            directory,
            members,
            {**properties, **of_all_topics(nodes), **_NO_REBALANCE},
            heap="512m",
        )
        self.data = self.cluster.data(1)
        self._disturber = Disturber(self.cluster) if is_disturbed else None

    @property
    def bootstrap(self) -> str:
        return self.cluster.address(1)

    @property
    def pid(self) -> int:
        return self.cluster.pid(1)

    def start(self) -> None:
        self.cluster.start()
        wait_for("all nodes are brokers", self._is_whole)
        if self._disturber is not None:
            self._disturber.start()

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        try:
            if self._disturber is not None:
                self._disturber.end()
        finally:
            self.cluster.close()

    def revive(self, node_id: int) -> None:
        """Until it has all that it missed."""
        self.cluster.start([node_id])
        wait_for("all replicas are in sync", self._is_in_sync, timeout_s=_SYNC_PATIENCE_S)

    def _is_in_sync(self) -> bool:
        return all_in_sync(AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}))

    def _is_whole(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return len(admin.list_topics(timeout=5).brokers) == len(self.cluster.nodes)
        except KafkaException:
            return False


class Disturber(threading.Thread):
    """Restarts all nodes but the first in turn, each when everything is in sync again."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.restarts = 0
        self._failures: list[str] = []
        self._cluster = cluster
        self._ends = threading.Event()
        self._admin: AdminClient | None = None

    def run(self) -> None:
        self._admin = AdminClient({"bootstrap.servers": self._cluster.address(1), "log_level": 0})
        while True:
            for node_id in list(self._cluster.nodes)[1:]:
                if self._ends.wait(_REST_S):
                    return
                # Nodes die with the thread that started them, so it goes on, whatever happens.
                try:
                    self._restart(node_id)
                except (NeverHappened, RuntimeError) as failure:
                    self._failures.append(f"{time.strftime('%X')} node {node_id}: {failure}")

    def _restart(self, node_id: int) -> None:
        self._cluster.stop([node_id])
        self._cluster.start([node_id])
        wait_for("all replicas are in sync", self._is_in_sync, timeout_s=_SYNC_PATIENCE_S)
        self.restarts += 1

    def end(self) -> None:
        """Fails the run if a node did not come back: its tests may not have needed it."""
        self._ends.set()
        self.join()
        print(f"\n{self.restarts} restarts of nodes meanwhile")
        if self._failures:
            raise AssertionError("\n".join(self._failures))

    def _is_in_sync(self) -> bool:
        assert self._admin is not None
        return self._ends.is_set() or all_in_sync(self._admin)


def all_in_sync(admin: AdminClient) -> bool:
    """Every replica of every partition, as its leader sees it."""
    try:
        metadata = admin.list_topics(timeout=5)
    except KafkaException:
        return False
    return all(
        len(partition.isrs) == len(partition.replicas)
        for topic in metadata.topics.values()
        for partition in topic.partitions.values()
    )
