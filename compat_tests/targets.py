"""The two servers that a test can run against, started the same way.

A test never asks which one it has: the same assertions hold for both.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from compat_tests.oracle import NODE_PROPERTIES, ApacheKafka
from compat_tests.processes import Process
from compat_tests.waiting import answers_kafka, free_port, wait_for

APACHE = "apache"
KAFKAPY = "kafkapy"
TARGETS = (APACHE, KAFKAPY)

# What both targets run with: periodic work is due often, so that a test that waits for
# retention, compaction or an expired transaction waits for a moment.
TEST_PROPERTIES = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.cleaner.backoff.ms": "300",
    "log.segment.delete.delay.ms": "500",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.max.timeout.ms": "60000",
}

_ADDRESS = re.compile(rb"127\.0\.0\.1:(\d+)")


class Server(Protocol):
    """A running broker of either kind."""

    data: Path

    @property
    def bootstrap(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> None: ...

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None: ...


class Kafkapy:
    """`kafkapy serve` as a process of its own; started again it keeps its port and data."""

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str],
        *,
        command: Sequence[str] = (sys.executable, "-m", "kafkapy"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.data = directory / "data"
        self._properties = {**NODE_PROPERTIES, **properties}
        self._command = command
        self._environment = environment
        self._port = 0
        self._process: Process | None = None

    @property
    def bootstrap(self) -> str:
        assert self._port, "not started"
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self._port:
            self._port = free_port()
        command = [*self._command, "serve", "--data", str(self.data)]
        command += ["--listen", f"127.0.0.1:{self._port}"]
        for key, value in self._properties.items():
            command += ["--set", f"{key}={value}"]
        log = self.directory / "server.log"
        self._process = Process(
            command, log=log, stdout=subprocess.PIPE, environment=self._environment
        )
        self._port = self._announced_port()
        wait_for("kafkapy answers", lambda: answers_kafka("127.0.0.1", self._port))

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.stop(how=how)
            self._process = None

    def _announced_port(self) -> int:
        """The port in the one line that it prints once it serves."""
        assert self._process is not None
        said = b""
        for line in self._process.stdout:
            said += line
            if (found := _ADDRESS.search(line)) is not None:
                return int(found.group(1))
        status = self._process.stop()
        log = self._process.log_tail()
        raise RuntimeError(f"kafkapy ended at its start ({status}): {said.decode()}\n{log}")


def server(target: str, directory: Path, properties: Mapping[str, str] | None = None) -> Server:
    """A server of that kind, not yet started, with the properties that all tests share."""
    merged = {**TEST_PROPERTIES, **(properties or {})}
    if target == APACHE:
        return ApacheKafka(directory, properties=merged)
    assert target == KAFKAPY, target
    return Kafkapy(directory, merged)
