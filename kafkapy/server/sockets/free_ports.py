"""Ports that nobody has now, for nodes that must know one another's before any of them listens.

Between the choice of a port and the first `listen`, and while its node is down, nothing on the
machine says that it is taken. So whoever was given a port holds a lock on one byte of a file, the
byte of that number, for as long as the process lives: tests that run side by side never get each
other's.
"""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_HOST: Final = "127.0.0.1"
# Below those that the kernel gives to connections: one of them could take it while its node is
# down.
_FROM, _TO = 15_000, 32_000
_TRIES: Final = 2000


class NoFreePorts(Exception):
    pass


class Reserved:
    """Ports of this process, that no other one is given while it lives."""

    def __init__(self, path: Path) -> None:
        # Never closed: closing any descriptor of a file ends all locks of the process on it.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._ours: set[int] = set()

    def reserve(self, port: int) -> bool:
        if port in self._ours:
            return False
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False  # another process's
        self._ours.add(port)
        return True

    def release(self, port: int) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, port)
        self._ours.discard(port)

    def release_all(self, but: Collection[int] = ()) -> None:
        for port in self._ours.difference(but):
            self.release(port)


@cache
def _reserved() -> Reserved | None:
    """None where there is no place for the file: then ports are only free, not reserved."""
    with suppress(OSError):
        return Reserved(Path(tempfile.gettempdir()) / f"kafkapy-ports-{os.getuid()}")
    return None


def free_ports(count: int) -> list[int]:
    found = list[int]()
    _add_free_ports(found, count)
    reserved = _reserved()
    if len(found) < count and reserved is not None:
        # A process that lives for thousands of clusters: what it had before may come again.
        reserved.release_all(but=found)
        _add_free_ports(found, count)
    if len(found) < count:
        raise NoFreePorts(f"no {count} free ports from {_FROM} to {_TO}")
    return found


def _add_free_ports(found: list[int], count: int) -> None:
    """Until there are so many, or it has tried often enough."""
    reserved = _reserved()
    for _ in range(_TRIES):
        if len(found) == count:
            break
        port = random.randrange(_FROM, _TO)  # nosec B311
        if port in found or (reserved is not None and not reserved.reserve(port)):
            continue
        if _is_free(port):
            found.append(port)
        elif reserved is not None:
            reserved.release(port)


def _is_free(port: int) -> bool:
    with socket.socket() as taken:
        try:
            taken.bind((_HOST, port))
        except OSError:
            return False
    return True
