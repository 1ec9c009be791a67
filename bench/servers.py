"""The servers under test, and what the kernel says of their processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from compat_tests.oracle import ApacheKafka
from compat_tests.targets import Kafkapy, Server

TARGETS = ("kafkapy", "apache")
_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    cpu_seconds: float
    resident_mb: float


def usage(pid: int) -> Usage:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(fields[21])
    return Usage(
        (int(fields[11]) + int(fields[12])) / _TICKS, pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    )


@contextmanager
def running(target: str, directory: Path, properties: dict[str, str]) -> Iterator[Server]:
    server: Server
    if target == "kafkapy":
        server = Kafkapy(directory / target, properties)
    else:
        server = ApacheKafka(directory / target, properties=properties, heap="1g")
    server.start()
    try:
        yield server
    finally:
        server.stop()


def seconds_to_first_answer(target: str, directory: Path) -> float:
    """From the command to an answered request, in an empty directory, formatting included."""
    began = time.perf_counter()
    with running(target, directory, {}):
        return time.perf_counter() - began


def drive(name: str, given: str) -> str:
    """Run a driver to its end; what it printed."""
    command = [sys.executable, "-m", f"bench.drivers.{name}", given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
