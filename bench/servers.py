"""The targets: kafkapy as installed, Apache Kafka 4.3.1, and kfake in memory.

Each is a process of its own on a loopback port, its output in `server.log` beside its data.
"""

import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import installed
from bench.row import APACHE, KAFKAPY, KFAKE
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
    make: Callable[[Path, Mapping[str, str]], Server]
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


def log_tail(server: Server, lines: int = 25) -> str:
    log = server.directory / "server.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


def targets(revision: str | None) -> dict[str, Target]:
    """By name, in the order of the table. `revision`: kafkapy of that commit, not as it is."""

    def kafkapy(directory: Path, properties: Mapping[str, str]) -> Server:
        found = installed.kafkapy(revision)
        return Kafkapy(directory, properties, command=found.command, environment=found.environment)

    def apache(directory: Path, properties: Mapping[str, str]) -> Server:
        return ApacheKafka(directory, properties=properties, heap="1g", jvm_options=_JVM_OPTIONS)

    def kfake(directory: Path, properties: Mapping[str, str]) -> Server:
        return Kfake(directory)

    rows = (
        Target(KAFKAPY, "kafkapy", kafkapy, lambda: None),
        Target(APACHE, f"Apache Kafka {KAFKA_VERSION}", apache, why_not),
        Target(KFAKE, "kfake (in memory)", kfake, _why_no_kfake),
    )
    return {row.name: row for row in rows}


def _why_no_kfake() -> str | None:
    if shutil.which("go") is None:
        return "no go on the PATH"
    try:
        go_program(_KFAKE)
    except (Unavailable, RuntimeError, subprocess.TimeoutExpired) as failed:
        return f"kfake cannot be built: {str(failed)[-300:]}"
    return None
