"""Clusters on loopback whose nodes may be Apache Kafka, kafkapy, or some of each.

    cluster = Cluster(tmp_path, [Node(1, APACHE, "controller"), Node(2, KAFKAPY, "broker")])
    cluster.start()

All nodes are formatted with one cluster id, know the same voters, and keep their ports and
data over restarts. A node is there when it answers requests (of brokers: once it is unfenced).
"""

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from compat_tests.installation import require
from compat_tests.oracle import CLUSTER_ID, NODE_PROPERTIES, java, run_tool
from compat_tests.processes import Process
from compat_tests.targets import APACHE, KAFKAPY
from compat_tests.waiting import answers_kafka, wait_for
from kafkapy.server.sockets.free_ports import free_ports

BROKER, CONTROLLER, COMBINED = "broker", "controller", "broker,controller"
METADATA = "__cluster_metadata-0"
_START_PATIENCE_S = 90.0

# On one machine: elections are short, and who is silent is noticed soon.
QUICK = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "300",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


class Node(NamedTuple):
    node_id: int
    server: str
    roles: str = COMBINED


class Cluster:
    """`properties` are for all nodes."""

    def __init__(
        self,
        directory: Path,
        nodes: Iterable[Node],
        properties: Mapping[str, str] | None = None,
        *,
        heap: str = "256m",
        base_port: int = 0,
        outlives_us: bool = False,
        is_quick: bool = True,
        jvm_options: Sequence[str] = (),
    ) -> None:
        """Without a base port free ones are taken; unless quick, timeouts are the defaults."""
        self.directory = directory
        self.nodes = {node.node_id: node for node in nodes}
        quick = QUICK if is_quick else {}
        self._properties = {**NODE_PROPERTIES, **quick, **(properties or {})}
        self._heap = heap
        self._jvm_options = jvm_options
        self._outlives_us = outlives_us
        self._processes: dict[int, Process] = {}
        ports = iter(
            [base_port + one for one in range(2 * len(self.nodes))]
            if base_port
            else free_ports(2 * len(self.nodes))
        )
        self._broker_ports = {one: next(ports) for one in self.nodes}
        self._controller_ports = {one: next(ports) for one in self.nodes}

    # -- who is who

    @property
    def voters(self) -> list[int]:
        return [one.node_id for one in self.nodes.values() if CONTROLLER in one.roles]

    @property
    def brokers(self) -> list[int]:
        return [one.node_id for one in self.nodes.values() if BROKER in one.roles]

    @property
    def bootstrap(self) -> str:
        return ",".join(map(self.address, self.brokers))

    @property
    def controllers(self) -> str:
        """What tools call --bootstrap-controller."""
        return ",".join(f"127.0.0.1:{self._controller_ports[one]}" for one in self.voters)

    def address(self, node_id: int) -> str:
        """A broker's, for clients."""
        return f"127.0.0.1:{self._broker_ports[node_id]}"

    def controller_address(self, node_id: int) -> str:
        return f"127.0.0.1:{self._controller_ports[node_id]}"

    def home(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}"

    def data(self, node_id: int) -> Path:
        return self.home(node_id) / "data"

    def log(self, node_id: int) -> str:
        return (self.home(node_id) / "server.log").read_text(errors="replace")

    def metadata(self, node_id: int) -> dict[int, bytes]:
        """The batches of its metadata log, by their base offset; what a snapshot replaced is
        gone."""
        found = {}
        for path in (self.data(node_id) / METADATA).glob("*.log"):
            data, at = path.read_bytes(), 0
            while at + 12 <= len(data) and (size := int.from_bytes(data[at + 8 : at + 12], "big")):
                found[int.from_bytes(data[at : at + 8], "big")] = data[at : at + 12 + size]
                at += 12 + size
        return found

    @property
    def running(self) -> list[int]:
        return [node_id for node_id, one in self._processes.items() if one.is_running]

    def pid(self, node_id: int) -> int:
        return self._processes[node_id].pid

    # -- life and death

    def start(self, node_ids: Sequence[int] | None = None) -> None:
        """All at once: a quorum needs a majority before any of its brokers answers."""
        wanted = list(self.nodes) if node_ids is None else node_ids
        for node_id in wanted:
            self.spawn(node_id)
        for node_id in wanted:
            self.wait_for(node_id)

    def spawn(self, node_id: int) -> None:
        home = self.home(node_id)
        home.mkdir(parents=True, exist_ok=True)
        configuration = home / "server.properties"
        settings = self.settings(node_id)
        configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        is_apache = self.nodes[node_id].server == APACHE
        if not (self.data(node_id) / "meta.properties").exists():
            self._format(configuration)
        command = (self._apache if is_apache else self._kafkapy)(configuration)
        self._processes[node_id] = Process(
            command,
            log=home / "server.log",
            outlives_us=self._outlives_us,
        )

    def wait_for(self, node_id: int) -> None:
        process = self._processes[node_id]

        def is_ready() -> bool:
            if not process.is_running:
                raise RuntimeError(f"node {node_id} ended at its start:\n{process.log_tail(40)}")
            is_broker = BROKER in self.nodes[node_id].roles
            ports = self._broker_ports if is_broker else self._controller_ports
            return answers_kafka("127.0.0.1", ports[node_id])

        wait_for(f"node {node_id} answers", is_ready, timeout_s=_START_PATIENCE_S, every_s=0.1)

    def kill(self, node_id: int) -> None:
        self.stop([node_id], how=signal.SIGKILL)

    def send(self, node_id: int, signal_number: signal.Signals) -> None:
        os.kill(self.pid(node_id), signal_number)

    def stop(
        self, node_ids: Iterable[int] | None = None, *, how: signal.Signals = signal.SIGTERM
    ) -> None:
        for node_id in list(self._processes) if node_ids is None else node_ids:
            self._processes.pop(node_id).stop(how=how)

    def close(self) -> None:
        """Whatever still runs, at once: Apache Kafka's nodes would wait for one another."""
        self.stop(how=signal.SIGKILL)

    def settings(self, node_id: int) -> dict[str, str]:
        roles = self.nodes[node_id].roles
        listeners = []
        if BROKER in roles:
            listeners.append(f"PLAINTEXT://{self.address(node_id)}")
        if CONTROLLER in roles:
            listeners.append(f"CONTROLLER://{self.controller_address(node_id)}")
        return {
            "process.roles": roles,
            "node.id": str(node_id),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners),
            "controller.quorum.voters": ",".join(
                f"{one}@{self.controller_address(one)}" for one in self.voters
            ),
            "log.dirs": str(self.data(node_id)),
            **self._properties,
        }

    def _apache(self, configuration: Path) -> list[str]:
        runtime, *options = java(require(), archive="server", heap=self._heap)
        return [runtime, *self._jvm_options, *options, "kafka.Kafka", str(configuration)]

    def _kafkapy(self, configuration: Path) -> list[str]:
        return [sys.executable, "-m", "kafkapy", "serve", "--config", str(configuration)]

    def _format(self, configuration: Path) -> None:
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(configuration)]
        done = run_tool("kafka-storage", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"not formatted with {configuration}: {done.stderr}")


def of(server: str, nodes: int, controllers: int = 0) -> list[Node]:
    """`nodes` brokers that are controllers too, or beside so many controllers."""
    roles = BROKER if controllers else COMBINED
    brokers = [Node(one, server, roles) for one in range(1, nodes + 1)]
    return brokers + [
        Node(one, server, CONTROLLER) for one in range(nodes + 1, nodes + controllers + 1)
    ]


__all__ = ["APACHE", "BROKER", "COMBINED", "CONTROLLER", "KAFKAPY", "Cluster", "Node", "of"]
