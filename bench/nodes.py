"""Servers of several nodes on loopback: clusters of kafkapy and of Apache Kafka, and limits.

Every setting is at its default but where the nodes are: combined nodes, as `kafkapy cluster up`
and the compose file start them. The first node stands for all where one address is asked for.
"""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.installed import Installed
from bench.load import kload
from compat_tests import clusters
from compat_tests.installation import require
from compat_tests.oracle import java
from compat_tests.processes import Process
from compat_tests.waiting import free_port, wait_for

_LIMIT = Path(__file__).parent / "peers" / "limit" / "limit.c"
# clusters.py has shorter ones, for tests.
_DEFAULTS = {
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "1000",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
}


class Nodes:
    """Nodes 1, 2, ... of one cluster, a process each."""

    def __init__(self, directory: Path, cluster: clusters.Cluster) -> None:
        self.directory = directory
        self.cluster = cluster
        self.data = cluster.data(1)

    @property
    def addresses(self) -> Sequence[str]:
        return [self.cluster.address(one) for one in self.cluster.nodes]

    @property
    def pids(self) -> Sequence[int]:
        return [self.cluster.pid(one) for one in self.cluster.running]

    @property
    def bootstrap(self) -> str:
        return self.addresses[0]

    @property
    def pid(self) -> int:
        return self.pids[0]

    def start(self) -> None:
        self.cluster.start()

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        # All at once: one that is told to stop hands over to the others first.
        self.cluster.stop(how=signal.SIGKILL)


class _Kafkapy(clusters.Cluster):
    """Of the installed package, compiled."""

    installed: Installed

    def _kafkapy(self, configuration: Path) -> list[str]:
        environment = [f"{key}={value}" for key, value in self.installed.environment.items()]
        command = [*self.installed.command, "serve", "--config", str(configuration)]
        return ["env", "--ignore-environment", *environment, *command]


class _Apache(clusters.Cluster):
    jvm_options: Sequence[str] = ()

    def _apache(self, configuration: Path) -> list[str]:
        runtime, *options = java(require(), archive="server", heap=self._heap)
        return [runtime, *options, *self.jvm_options, "kafka.Kafka", str(configuration)]


def of_kafkapy(
    directory: Path, nodes: int, properties: Mapping[str, str], installed: Installed
) -> Nodes:
    members = clusters.of(clusters.KAFKAPY, nodes)
    cluster = _Kafkapy(directory, members, {**_DEFAULTS, **properties})
    cluster.installed = installed
    return Nodes(directory, cluster)


def of_apache(
    directory: Path, nodes: int, properties: Mapping[str, str], jvm_options: Sequence[str]
) -> Nodes:
    members = clusters.of(clusters.APACHE, nodes)
    cluster = _Apache(directory, members, {**_DEFAULTS, **properties}, heap="1g")
    cluster.jvm_options = jvm_options
    return Nodes(directory, cluster)


class Limit:
    """bench/peers/limit: one that leads, and a follower for each further node."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self.directory = directory
        self.data = directory / "data"
        self._ports = [free_port() for _ in range(nodes)]
        self._processes: list[Process] = []

    @property
    def addresses(self) -> Sequence[str]:
        return [self.bootstrap]

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def pids(self) -> Sequence[int]:
        return [process.pid for process in self._processes]

    @property
    def pid(self) -> int:
        return self.pids[-1]

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        leader, *followers = self._ports
        for port in followers:
            self._run(port, [])
        self._run(leader, followers)

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        for process in self._processes:
            process.stop(how=how)
        self._processes.clear()

    def _run(self, port: int, followers: Sequence[int]) -> None:
        file = self.data / f"{port}.records"
        command = [kload.program(_LIMIT), str(port), str(file), *map(str, followers)]
        process = Process(command, log=self.directory / "server.log")
        self._processes.append(process)

        def is_there() -> bool:
            if not process.is_running:
                raise RuntimeError(f"limit ended at its start:\n{process.log_tail()}")
            return kload.listens(port)

        wait_for("limit listens", is_there, every_s=0.001)
