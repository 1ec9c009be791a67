"""A member program as the test sees it: what it owns now, and what it has read."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from compat_tests.processes import Process

Partition = tuple[str, int]


@dataclass(frozen=True)
class Kind:
    """One client speaking one protocol: how its program is started, and what it can do.

    `is_cooperative`  it keeps partitions in a rebalance
    `returns`         a static member that closes keeps its place for a session
    """

    name: str
    command: Callable[[], list[str]]
    protocol: str = "classic"
    is_cooperative: bool = True
    returns: bool = True
    environment: Mapping[str, str] | None = None


class Read(NamedTuple):
    partition: Partition
    offset: int
    value: str


@dataclass
class Tenure:
    """From the moment a partition was assigned to a member until it was revoked."""

    partition: Partition
    reads: list[Read] = field(default_factory=list)


_numbers = count()


class Member:
    """One process. Its lines are read by a thread as they come."""

    def __init__(self, kind: Kind, order: Mapping[str, Any], directory: Path) -> None:
        self.name = f"{kind.name}-{next(_numbers)}"
        self.owned: set[Partition] = set()
        self.tenures: list[Tenure] = []
        self.commits: list[tuple[Partition, int]] = []
        self.revoked: list[set[Partition]] = []
        self.assigned: list[set[Partition]] = []
        self.failures: list[str] = []
        self.violations: list[str] = []
        self.is_closed = False
        self._current: dict[Partition, Tenure] = {}
        self._process = Process(
            [*kind.command(), json.dumps(dict(order))],
            log=directory / f"{self.name}.log",
            stdout=subprocess.PIPE,
            environment={**os.environ, **(kind.environment or {})},
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"<{self.name} owns {sorted(self.owned)}, {self.failures[-2:]} {self.log_tail()}>"

    # What is done to it

    def close(self) -> None:
        """It closes its consumer and ends: a dynamic member leaves the group."""
        self._stop()
        assert self.is_closed, f"{self.name} did not close: {self.log_tail()}"

    def kill(self) -> None:
        """SIGKILL: nobody says goodbye."""
        self._stop(how=signal.SIGKILL)
        self.owned = set()

    def _stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """What it said last is heard before its pipe is closed."""
        self._process.end(how=how)
        self._reader.join()
        self._process.stop()

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    # What it told

    def reads(self) -> Iterator[Read]:
        for tenure in list(self.tenures):
            yield from list(tenure.reads)

    def has_read(self, partition: Partition, value: str) -> bool:
        return any(read.partition == partition and read.value == value for read in self.reads())

    def log_tail(self) -> str:
        return self._process.log_tail(6)

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def _listen(self) -> None:
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._hear(json.loads(line))

    def _hear(self, said: dict[str, Any]) -> None:
        match said:
            case {"e": "assigned", "partitions": partitions}:
                self._gain({(topic, number) for topic, number in partitions})
            case {"e": "revoked", "partitions": partitions}:
                self._lose({(topic, number) for topic, number in partitions})
            case {"e": "record", "t": topic, "p": number, "o": offset, "v": value}:
                read = Read((topic, number), offset, value)
                if read.partition in self._current:
                    self._current[read.partition].reads.append(read)
                else:
                    self.violations.append(f"reads what it does not own: {read}")
            case {"e": "committed", "offsets": offsets}:
                self.commits += [((topic, number), offset) for topic, number, offset in offsets]
            case {"e": "failed", "why": why}:
                self.failures.append(why)
            case {"e": "closed"}:
                self.is_closed = True
            case _:
                self.violations.append(f"says {said}")

    def _gain(self, partitions: set[Partition]) -> None:
        for partition in partitions - self.owned:
            tenure = self._current[partition] = Tenure(partition)
            self.tenures.append(tenure)
        self.owned |= partitions
        self.assigned.append(partitions)

    def _lose(self, partitions: set[Partition]) -> None:
        for partition in partitions & self.owned:
            del self._current[partition]
        self.owned -= partitions
        self.revoked.append(partitions)
