"""Addresses as people read and type them."""

from typing import NamedTuple


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return shown(self.host, self.port)


def shown(host: str, port: int) -> str:
    """HOST:PORT, or [HOST]:PORT for IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
