"""Who may connect: how many from one address, and how many in a second.

    max.connections.per.ip, .overrides    one too many is closed
    connection_creation_rate of an ip     one too many is closed, after a moment in which its
                                          client waits instead of coming again (KIP-612)
    max.connection.creation.rate          of the node or of a listener: the next wait at the door

One for all listeners of a node; the shell asks it for each connection, and HTTP does
(kafkapy/http/serving/door.py).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.quotas.limits import Limits
from kafkapy.broker.quotas.rates import Rate
from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.core.seams import Callback, Clock
from kafkapy.core.time import later

_RATE: Final = "max.connection.creation.rate"
_NO_LIMIT: Final = 2**31 - 1
_SECOND_MS: Final = 1000
# Rates of so many addresses before those from which nobody came lately are forgotten.
_MOST_RATES: Final = 10_000


class TurnedAway(NamedTuple):
    """Why, and how long to keep it waiting before it is closed."""

    reason: str
    wait_ms: int = 0


class Door:
    def __init__(self, config: BrokerConfig, clock: Clock, limits: Callable[[], Limits]) -> None:
        self._config = config
        self._clock = clock
        self._limits = limits
        self._inside: Counter[str] = Counter()
        # By listener; "" is the whole node.
        self._of_listeners: dict[str, Rate] = {}
        self._of_addresses: dict[str, Rate] = {}
        self._overrides = ("", dict[str, int]())

    def wait_ms(self, listener: str) -> int:
        """Before the next may come in by that listener."""
        now = self._clock.now()
        waits = [0]
        for name, bound in self._bounds(listener):
            rate = self._of_listeners.get(name)
            if bound < _NO_LIMIT and rate is not None:
                waits.append(rate.wait_ms(max(bound, 1), now))
        return min(max(waits), self._window_ms)

    def call_in(self, wait_ms: int, then: Callback) -> None:
        self._clock.call_at(later(self._clock.now(), wait_ms), then)

    def came(self, listener: str, host: str) -> TurnedAway | None:
        """One did; None: it may stay until it `left`."""
        now = self._clock.now()
        for name, bound in self._bounds(listener):
            if bound < _NO_LIMIT:
                rate = self._of_listeners.get(name)
                if rate is None:
                    rate = self._of_listeners[name] = self._rate()
                rate.record(1, now)
        wait_ms = self._too_fast(host)
        if wait_ms:
            return TurnedAway("its address connects too often", wait_ms)
        if self._inside[host] >= self._most_from(host):
            return TurnedAway("max.connections.per.ip are open from its address")
        self._inside[host] += 1
        return None

    def left(self, host: str) -> None:
        self._inside[host] -= 1
        if not self._inside[host]:
            del self._inside[host]

    def _bounds(self, listener: str) -> tuple[tuple[str, int], ...]:
        config = self._config
        of_listener = config.listener_value(listener, _RATE)
        assert isinstance(of_listener, int), of_listener
        return ("", config.max_connection_creation_rate), (listener, of_listener)

    def _too_fast(self, host: str) -> int:
        bound = self._limits().of_address(host)
        if bound is None:
            return 0
        now = self._clock.now()
        rate = self._of_addresses.get(host)
        if rate is None:
            if len(self._of_addresses) >= _MOST_RATES:
                left = {k: one for k, one in self._of_addresses.items() if not one.is_idle(now)}
                self._of_addresses = left
            rate = self._of_addresses[host] = self._rate()
        rate.record(1, now)
        wait_ms = rate.wait_ms(bound, now)
        if wait_ms:
            rate.record(-1, now)  # it does not come in
        return min(wait_ms, self._window_ms)

    def _most_from(self, host: str) -> int:
        text = self._config.max_connections_per_ip_overrides
        if self._overrides[0] != text:
            self._overrides = (text, dict(overrides_of(text)))
        return self._overrides[1].get(host, self._config.max_connections_per_ip)

    def _rate(self) -> Rate:
        return Rate(self._config.quota_window_num, self._window_ms)

    @property
    def _window_ms(self) -> int:
        return self._config.quota_window_size_seconds * _SECOND_MS


def overrides_of(text: str) -> Mapping[str, int]:
    """Of `10.0.0.1:5,::1:7`. ValueError if it has something else: a name, say, which means
    another address wherever it is looked up."""
    found = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        host, _, count = part.rpartition(":")
        found[canonical_host(str(ip_address(host.strip("[]"))))] = int(count)
    return found
