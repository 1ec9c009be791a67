"""The targets: kafkapy as installed, Apache Kafka 4.3.1, kfake in memory, and the limit.

Each is a process of its own on a loopback port, its output in `server.log` beside its data; of
several nodes, a process each (nodes.py).
"""

import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import installed, nodes
from bench.load import kload
from bench.nodes import Limit, Nodes
from bench.row import APACHE, KAFKAPY, KFAKE, LIMIT
from compat_tests.installation import KAFKA_VERSION, Unavailable, why_not
from compat_tests.oracle import ApacheKafka
from compat_tests.processes import Process
from compat_tests.programs import go_program
from compat_tests.targets import Kafkapy
from compat_tests.waiting import answers_kafka, free_port, wait_for

_KFAKE = Path(__file__).parent / "peers" / "kfake"
# What Kafka's own start script (kafka-run-class.sh) gives the JVM, and its default heap.
_JVM_OPTIONS = (
    "-server",
    "-Xms1g",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


class Server(Protocol):
    """A broker of any kind; started again it keeps its data."""

    directory: Path
    data: Path

    @property
    def bootstrap(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> None: ...

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None: ...


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    title: str
    # Where its data goes, its properties, and how many nodes it has.
    make: Callable[[Path, Mapping[str, str], int], Server]
    # The reason that it cannot be had here, or None.
    why_not: Callable[[], str | None]


class Kfake:
    """franz-go's broker: everything in memory, nothing on disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data"
        self._port = 0
        self._process: Process | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def start(self) -> None:
        program = go_program(_KFAKE)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._port = self._port or free_port()
        log = self.directory / "server.log"
        self._process = process = Process([*program, str(self._port)], log=log)

        def is_ready() -> bool:
            if not process.is_running:
                raise RuntimeError(f"kfake ended at its start:\n{process.log_tail()}")
            return answers_kafka("127.0.0.1", self._port)

        wait_for("kfake answers", is_ready, every_s=0.001)

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.stop(how=how)
            self._process = None


def addresses(server: Server) -> Sequence[str]:
    """Of each of its nodes."""
    return server.addresses if isinstance(server, Nodes | Limit) else [server.bootstrap]


def pids(server: Server) -> Sequence[int]:
    return server.pids if isinstance(server, Nodes | Limit) else [server.pid]


def log_tail(server: Server, lines: int = 25) -> str:
    logs = [server.directory / "server.log", *sorted(server.directory.glob("node-*/server.log"))]
    there = [log.read_text(errors="replace").splitlines() for log in logs if log.exists()]
    return "\n".join("\n".join(text[-lines:]) for text in there)


def targets(revision: str | None) -> dict[str, Target]:
    """By name, in the order of the table. `revision`: kafkapy of that commit, not as it is."""

    def kafkapy(directory: Path, properties: Mapping[str, str], count: int) -> Server:
        found = installed.kafkapy(revision)
        if count > 1:
            return nodes.of_kafkapy(directory, count, properties, found)
        return Kafkapy(directory, properties, command=found.command, environment=found.environment)

    def apache(directory: Path, properties: Mapping[str, str], count: int) -> Server:
        if count > 1:
            return nodes.of_apache(directory, count, properties, _JVM_OPTIONS)
        port = _first_port(properties)
        return ApacheKafka(
            directory, properties=properties, port=port, heap="1g", jvm_options=_JVM_OPTIONS
        )

    def kfake(directory: Path, properties: Mapping[str, str], count: int) -> Server:
        assert count == 1, "kfake has no replicas"
        return Kfake(directory)

    def limit(directory: Path, properties: Mapping[str, str], count: int) -> Server:
        return Limit(directory, count)

    rows = (
        Target(KAFKAPY, "kafkapy", kafkapy, lambda: None),
        Target(APACHE, f"Apache Kafka {KAFKA_VERSION}", apache, why_not),
        Target(KFAKE, "kfake (in memory)", kfake, _why_no_kfake),
        Target(LIMIT, "the limit", limit, kload.why_not),
    )
    return {row.name: row for row in rows}


def _first_port(properties: Mapping[str, str]) -> int | None:
    """Of a row that has listeners of its own; None: any."""
    listeners = properties.get("listeners")
    return None if listeners is None else int(listeners.partition(",")[0].rpartition(":")[2])


def _why_no_kfake() -> str | None:
    if shutil.which("go") is None:
        return "no go on the PATH"
    try:
        go_program(_KFAKE)
    except (Unavailable, RuntimeError, subprocess.TimeoutExpired) as failed:
        return f"kfake cannot be built: {str(failed)[-300:]}"
    return None
