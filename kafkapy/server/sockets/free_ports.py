"""Ports that nobody has now, for nodes that must know one another's before any of them listens."""

import random
import socket
from typing import Final

_HOST: Final = "127.0.0.1"
# Below those that the kernel gives to connections: one of them could take it while its node is
# down.
_FROM, _TO = 15_000, 32_000
_TRIES: Final = 2000


class NoFreePorts(Exception):
    pass


def free_ports(count: int) -> list[int]:
    found: list[int] = []
    for port in random.sample(range(_FROM, _TO), _TRIES):  # nosec B311
        if len(found) == count:
            return found
        with socket.socket() as taken:
            try:
                taken.bind((_HOST, port))
            except OSError:
                continue
        found.append(port)
    raise NoFreePorts(f"no {count} free ports from {_FROM} to {_TO}")
