"""What a node may ask of the world outside of its cluster: a small file at a URL, off the loop.

Given to the node as its disk and its network are (`server/web.py`); where there is no such world
it is `no_fetch`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafkapy.broker.config.security.tls import Store


class FetchRequest(NamedTuple):
    url: str
    trusted: "Store"
    """Whom to believe that it is the one asked; empty: whom the system does."""
    connect_timeout_ms: int
    read_timeout_ms: int
    """Of all of it, once connected."""
    most_bytes: int
    body: bytes | None = None
    """Of a POST; None: it is a GET."""
    headers: tuple[tuple[str, str], ...] = ()
    """Secrets may be among them."""

    def __repr__(self) -> str:
        return f"FetchRequest({self.url!r})"


Fetched = Callable[[bytes | OSError], None]
Fetch = Callable[[FetchRequest, Fetched], None]


def no_fetch(request: FetchRequest, then: Fetched) -> None:
    then(OSError("nothing is fetched here"))
