"""Waiting for a condition, never for a time: every wait is bounded and says what it missed."""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kafkapy.server.sockets.free_ports import free_ports

T = TypeVar("T")

# What a busy two-core machine may need for something that takes a moment on a quiet one.
PATIENCE_S = 45.0


class NeverHappened(AssertionError):
    """The condition did not come true in time."""


def wait_for(
    what: str,
    condition: Callable[[], T | None],
    *,
    timeout_s: float = PATIENCE_S,
    every_s: float = 0.05,
) -> T:
    """Call `condition` until it gives something true, and return that."""
    give_up_at = time.monotonic() + timeout_s
    pause = threading.Event()
    while not (found := condition()):
        if time.monotonic() > give_up_at:
            raise NeverHappened(f"{what}: not within {timeout_s:g} s; last seen: {found!r}")
        pause.wait(every_s)
    return found


def free_port() -> int:
    """A loopback port that nobody else is given, for servers that do not say theirs."""
    (port,) = free_ports(1)
    return port


def answers_kafka(host: str, port: int) -> bool:
    """True when a broker there answers ApiVersions, so: accepts and works on requests."""
    request = struct.pack(">hhih", 18, 0, 1, 5) + b"probe"
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def directory_size(directory: Path) -> int:
    """Bytes of the files under a directory whose files come and go."""
    size = 0
    for path, _, names in os.walk(directory):
        for name in names:
            try:
                size += (Path(path) / name).stat().st_size
            except FileNotFoundError:
                continue
    return size
