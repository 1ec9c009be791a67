"""Three nodes of either server behind a proxy, and what can be done to them.

Every address that anybody is told is a door of the proxy (proxy.py), the controllers' too.
Timeouts are the defaults of the server: what is measured is what users would see.
"""

import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from compat_tests import clusters
from compat_tests.chaos.asking import ClusterState, cluster_state
from compat_tests.chaos.proxy import CLIENTS, HELD, SLOW
from compat_tests.clusters import APACHE, of
from compat_tests.oracle import CLUSTER_ID
from compat_tests.processes import Process
from compat_tests.waiting import wait_for
from kafkapy.broker.config.replicated import of_all_topics
from kafkapy.server.sockets.free_ports import free_ports

NODES: Final = 3
WHOLE_PATIENCE_S: Final = 120.0

# Internal topics as in production: three replicas, two of which must have a record.
REPLICATED: Final = {
    **of_all_topics(NODES),
    # A transaction that its writer left is ended soon.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Cluster(clusters.Cluster):
    def __init__(
        self, directory: Path, server: str, properties: Mapping[str, str] | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        merged = {**REPLICATED, **(properties or {})}
        super().__init__(directory, of(server, NODES), merged, is_quick=False)
        self.server = server
        listeners = [(one, kind) for one in self.nodes for kind in _LISTENERS]
        self._ports = dict(zip(listeners, free_ports(len(listeners)), strict=True))
        self._proxy: Process | None = None
        self._orders: subprocess.Popen[str] | None = None
        self.paused: set[int] = set()

    # -- the way to its nodes

    def settings(self, node_id: int) -> dict[str, str]:
        found = super().settings(node_id)
        found["advertised.listeners"] = found["listeners"]
        found["listeners"] = ",".join(
            f"{kind}://127.0.0.1:{self._ports[node_id, kind]}" for kind in _LISTENERS
        )
        return found

    def _door(self, node_id: int, kind: str) -> int:
        address = self.controller_address if kind == "CONTROLLER" else self.address
        return int(address(node_id).rpartition(":")[2])

    def start(self, node_ids: "Iterable[int] | None" = None) -> None:
        if self._orders is None:
            self._start_proxy()
        super().start(None if node_ids is None else list(node_ids))

    def spawn(self, node_id: int) -> None:
        super().spawn(node_id)
        self.paused.discard(node_id)
        self._order(pids={one: self.pid(one) for one in self.running})

    def _start_proxy(self) -> None:
        doors = [(one, self._door(one, kind), port) for (one, kind), port in self._ports.items()]
        command = [sys.executable, "-m", "compat_tests.chaos.proxy", json.dumps(doors)]
        with (self.directory / "proxy.log").open("ab") as log:
            self._orders = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def _order(self, **what: Any) -> None:
        assert self._orders is not None
        assert self._orders.stdin is not None
        assert self._orders.stdout is not None
        print(json.dumps(what), file=self._orders.stdin, flush=True)
        if self._orders.stdout.readline() != "done\n":
            raise RuntimeError("the proxy ended: " + (self.directory / "proxy.log").read_text())

    def close(self) -> None:
        super().close()
        if self._orders is not None:
            self._orders.communicate()  # its stdin ends, and so does it
            self._orders = None

    # -- what is done to them

    def pause(self, node_id: int) -> None:
        self.paused.add(node_id)
        self.send(node_id, signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        self.send(node_id, signal.SIGCONT)
        self.paused.discard(node_id)

    def cut_off(self, node_id: int, *, hears: bool = False) -> None:
        """Nobody hears it; nor does it hear anybody, unless it does."""
        silent = [(node_id, other) for other in self._others(node_id)]
        if not hears:
            silent += [(other, node_id) for other in self._others(node_id)]
        self._order(links=[[*pair, HELD, 0.0] for pair in silent])

    def cut_between(self, one: int, other: int) -> None:
        """These two do not reach each other; all others reach both."""
        self._order(links=[[one, other, HELD, 0.0], [other, one, HELD, 0.0]])

    def slow_down(self, node_id: int, delay_s: float) -> None:
        pairs = [(node_id, other) for other in self._others(node_id)]
        pairs += [(other, one) for one, other in pairs]
        self._order(links=[[*pair, SLOW, delay_s] for pair in pairs])

    def heal(self) -> None:
        self._order(links=[])

    def break_connections(self, node_id: int) -> None:
        self._order(cut=[[node_id, other] for other in self._others(node_id)])

    def _others(self, node_id: int) -> list[int]:
        return [CLIENTS, *(one for one in self.nodes if one != node_id)]

    def fill_disk(self, node_id: int) -> None:
        """No file of its process grows beyond what the largest is now."""
        sizes = [one.stat().st_size for one in self.data(node_id).rglob("*.log")]
        _, hard = resource.prlimit(self.pid(node_id), resource.RLIMIT_FSIZE)
        limit = min(size for size in sizes if size) if any(sizes) else 0
        resource.prlimit(self.pid(node_id), resource.RLIMIT_FSIZE, (limit, hard))

    def empty_disk(self, node_id: int) -> None:
        """Of a node that is down: it comes back as on a new machine."""
        shutil.rmtree(self.data(node_id))

    # -- how it is

    def state(self) -> ClusterState | None:
        return cluster_state(self.address(one) for one in self.running if one not in self.paused)

    def wait_until_whole(self) -> ClusterState:
        """All three are there, every partition is led, all replicas are in sync."""

        def whole() -> ClusterState | None:
            found = self.state()
            if found is None or found.active != set(self.nodes) or not found.is_whole:
                return None
            return found

        return wait_for("whole", whole, timeout_s=WHOLE_PATIENCE_S, every_s=0.1)

    # -- files

    def _format(self, configuration: Path) -> None:
        if self.server == APACHE:
            super()._format(configuration)
            return
        command = [sys.executable, "-m", "kafkapy", "format"]
        command += ["--cluster-id", CLUSTER_ID, "--config", str(configuration)]
        subprocess.run(command, check=True, capture_output=True)


_LISTENERS: Final = ("PLAINTEXT", "CONTROLLER")
