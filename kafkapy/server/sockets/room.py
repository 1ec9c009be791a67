"""How many connections there is room for: `max.connections`, as Apache Kafka counts it.

    listener.name.<listener>.max.connections   on that listener
    max.connections                            on all of a broker's listeners; on all of a
                                               controller's as many again

Whoever comes to a full node is sent away. Other brokers are not, where they have a listener to
themselves (inter.broker.listener.name): whoever on another listener was silent longest goes for
them. Of that listener only its own bound holds.

However many these allow, some descriptors are kept back from connections (disk/open_files.py).
"""

from collections.abc import Callable, Collection
from itertools import chain
from typing import Final, Protocol

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.server.sockets.connection import Connection

_KEY: Final = "max.connections"


class Accepting(Protocol):
    """A listener, as far as it is looked at here."""

    @property
    def name(self) -> str: ...

    @property
    def connections(self) -> Collection[Connection]: ...


class Room:
    """Of the listeners of one role; `listeners` grows as they begin to accept."""

    def __init__(self, config: BrokerConfig) -> None:
        self.listeners: list[Accepting] = []
        # Which descriptor a connection may have at most, where there is a limit.
        self.most_descriptors: Callable[[], int] | None = None
        self._config = config

    def refusal(self, listener: Accepting) -> str | None:
        """Why the next one does not come in there; None: it may."""
        own = self._own_bound(listener.name)
        if own is not None and len(listener.connections) >= own:
            return f"{_KEY} of the listener are open"
        if self._excess > 0 and not self._is_of_brokers_alone(listener):
            return f"{_KEY} are open"
        return None

    def is_out_of_descriptors(self, listener: Accepting, descriptor: int) -> bool:
        """Whether a connection that got this one takes it from those that are kept back."""
        return (
            self.most_descriptors is not None
            and descriptor > self.most_descriptors()
            and not self._is_of_brokers_alone(listener)
        )

    def make(self, listener: Accepting) -> None:
        """For the next one there, which may come in: others go that were silent longest."""
        excess = self._excess
        if excess > 0 and self._is_of_brokers_alone(listener):
            others = (one.connections for one in self.listeners if one is not listener)
            silent = sorted(chain.from_iterable(others), key=lambda one: one.last_used)
            for connection in silent[:excess]:
                connection.close(f"{_KEY} are open, and another broker needs one")

    @property
    def _excess(self) -> int:
        """By how many it is too many with the next one."""
        count = sum(len(one.connections) for one in self.listeners)
        return count + 1 - self._config.max_connections

    def _is_of_brokers_alone(self, listener: Accepting) -> bool:
        is_theirs = listener.name == self._config.listening.inter_broker_name
        return is_theirs and len(self.listeners) > 1

    def _own_bound(self, listener: str) -> int | None:
        key = f"listener.name.{listener.lower()}.{_KEY}"
        if not any(key in layer for layer in self._config.layers):
            return None
        bound = self._config.listener_value(listener, _KEY)
        assert isinstance(bound, int), bound
        return bound
