"""What clients have used, held against their quotas.

A node has one; `None` stands in its place while the metadata has no quota of any client, so that
whoever asks pays for one comparison (node/base.py).

    client (principal, client id) --> Account --> Rate   of each kind that it has a quota of,
                                                         shared as KIP-55 says

A connection holds its client's account, so that a request of somebody well below his quota costs
an addition (`Rate.use`) and no look-up. Whenever quotas change, all accounts are void, and
whoever holds one asks for another.
"""

from collections.abc import Callable, Hashable
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.quotas.limits import (
    CONSUMED,
    MOST_FOUND,
    MUTATIONS,
    PRODUCED,
    REQUEST_TIME,
    Limit,
    Limits,
)
from kafkapy.broker.quotas.rates import Bucket, Rate
from kafkapy.broker.requests.request import Peer
from kafkapy.core.seams import Clock
from kafkapy.core.time import Instant

# Of the names of all clients that have an account, before all ask for theirs anew.
MOST_CHARACTERS_OF_ALL: Final = 8 * 1024 * 1024
# What is measured of so many before those that used nothing lately are forgotten.
MOST_MEASURED: Final = 10_000
_SECOND_MS: Final = 1000
PERCENT_OF_A_SECOND: Final = 100.0  # what a request quota counts in


class Measured:
    """One kind of an account: what was used, by all who share it, and the bound."""

    __slots__ = ("bound", "most_wait_ms", "rate")

    def __init__(self, rate: Rate, bound: float, most_wait_ms: int) -> None:
        self.rate = rate
        self.bound = bound
        self.most_wait_ms = most_wait_ms

    def charge(self, used: float, now: Instant) -> int:
        """`used` more of it; how long the client is to be throttled for, in milliseconds."""
        rate = self.rate
        rate.record(used, now)
        wait_ms = rate.wait_ms(self.bound, now)
        if wait_ms > 0:
            return min(wait_ms, self.most_wait_ms)
        rate.spare(self.bound)
        return 0

    def give_back(self, used: float, now: Instant) -> None:
        """It was charged and has not been used."""
        self.rate.record(-used, now)


class Account:
    """Of one client. None: as much as it likes. `most_fetched` is what one answer may hold at
    most: all that may be consumed in the time that is measured."""

    __slots__ = (
        "client_id",
        "consumed",
        "is_void",
        "most_fetched",
        "principal",
        "produced",
        "time",
    )

    def __init__(
        self,
        principal: str,
        client_id: str,
        produced: Measured | None,
        consumed: Measured | None,
        time: Measured | None,
        most_fetched: int | None,
    ) -> None:
        self.principal = principal
        self.client_id = client_id
        self.produced = produced
        self.consumed = consumed
        self.time = time
        self.most_fetched = most_fetched
        self.is_void = False

    def takes_produce(self, size: int, seconds: float, now: Instant) -> bool:
        """Whether this is charged hereby; else somebody has to look (charging.py)."""
        if self.is_void:
            return False
        produced, time = self.produced, self.time
        if produced is not None and not produced.rate.fits(size, now):
            return False
        if time is not None:
            percent = seconds * PERCENT_OF_A_SECOND
            if not time.rate.fits(percent, now):
                return False
            time.rate.use(percent, now)
        if produced is not None:
            produced.rate.use(size, now)
        return True


class ClientQuotas:
    def __init__(self, config: BrokerConfig, limits: Limits, clock: Clock) -> None:
        # How often clients were told to wait, and how long in all.
        self.throttled_count = 0
        self.throttled_ms = 0
        # Seconds; whether anybody's time has a quota, so that somebody has to look at it.
        self.ticks: Callable[[], float] = clock.ticks
        self.has_time = False
        # How far `Clock.now` is ahead of `Clock.wall`, as was last seen.
        self.ahead_ms = 0
        self._clock = clock
        self._config = config
        self._limits = limits
        self._accounts: dict[tuple[str, str], Account] = {}
        self._characters = 0  # of their keys
        self._rates: dict[tuple[str, Hashable], Rate] = {}
        self._most_rates = MOST_MEASURED
        self._buckets: dict[Hashable, tuple[Bucket, float]] = {}

    def follow(self, limits: Limits) -> None:
        """From the next request on, of open connections too."""
        self._limits = limits
        self.has_time = limits.has_any_of_time
        self._void_accounts()
        for rate in self._rates.values():
            rate.settle()

    # --- bytes and time ---

    def account(self, peer: Peer, client_id: str | None) -> Account:
        """The peer holds it, until it is void or the next request is another client's."""
        name = client_id or ""
        known: Account | None = peer.account
        if (
            known is not None
            and not known.is_void
            and known.client_id == name
            and known.principal == peer.principal
        ):
            return known
        found = peer.account = self._account(peer.principal, name)
        return found

    def look_at_clocks(self) -> Instant:
        """What time it is; and by how much the clocks differ, for those who read only one."""
        now = self._clock.now()
        self.ahead_ms = now - self._clock.wall()
        return now

    # --- mutations ---

    def mutations_left(self, peer: Peer, client_id: str | None, now: Instant) -> float:
        """Partitions that may be made or deleted now; below 0: a debt."""
        limit = self._limits.of_client(MUTATIONS, peer.principal, client_id or "")
        return float("inf") if limit is None else self._bucket(limit, now).left(limit.bound, now)

    def mutate(self, peer: Peer, client_id: str | None, count: int, now: Instant) -> int:
        """`count` partitions were; how long to throttle."""
        limit = self._limits.of_client(MUTATIONS, peer.principal, client_id or "")
        if limit is None:
            return 0
        bucket = self._bucket(limit, now)
        bucket.use(count, limit.bound, now)
        return bucket.wait_ms(limit.bound, now)

    # --- what is measured ---

    @property
    def _window_ms(self) -> int:
        return self._config.quota_window_size_seconds * _SECOND_MS

    def _account(self, principal: str, client_id: str) -> Account:
        key = (principal, client_id)
        known = self._accounts.get(key)
        if known is not None:
            return known
        characters = len(principal) + len(client_id)
        if (
            len(self._accounts) >= MOST_FOUND
            or self._characters + characters > MOST_CHARACTERS_OF_ALL
        ):
            self._void_accounts()
        if len(self._rates) >= self._most_rates:
            self._forget_idle_rates()
        produced = self._measured(PRODUCED, principal, client_id)
        consumed = self._measured(CONSUMED, principal, client_id)
        time = self._measured(REQUEST_TIME, principal, client_id)
        most_fetched = None
        if consumed is not None:
            seconds = max(self._config.quota_window_num - 1, 1) * self._window_ms / _SECOND_MS
            most_fetched = int(min(consumed.bound * seconds, 2**31 - 1))
        account = Account(principal, client_id, produced, consumed, time, most_fetched)
        self._accounts[key] = account
        self._characters += characters
        return account

    def _void_accounts(self) -> None:
        for account in self._accounts.values():
            account.is_void = True
        self._accounts = {}
        self._characters = 0

    def _measured(self, kind: str, principal: str, client_id: str) -> Measured | None:
        limit = self._limits.of_client(kind, principal, client_id)
        if limit is None:
            return None
        # Time is not paid back by waiting longer than it is measured in.
        most_wait_ms = self._window_ms if kind == REQUEST_TIME else 2**31 - 1
        return Measured(self._rate(kind, limit), limit.bound, most_wait_ms)

    def _rate(self, kind: str, limit: Limit) -> Rate:
        key = (kind, limit.shared_by)
        rate = self._rates.get(key)
        if rate is None:
            rate = self._rates[key] = Rate(self._config.quota_window_num, self._window_ms)
        return rate

    def _forget_idle_rates(self) -> None:
        """An account would go on with one that is forgotten beside its successor: it is void."""
        now = self._clock.now()
        left = {key: one for key, one in self._rates.items() if not one.is_idle(now)}
        if len(left) < len(self._rates):
            self._rates = left
            self._void_accounts()
        # Looking at all of them for each new one would cost more than they do.
        self._most_rates = max(MOST_MEASURED, 2 * len(left))

    def _bucket(self, limit: Limit, now: Instant) -> Bucket:
        known = self._buckets.get(limit.shared_by)
        if known is not None:
            return known[0]
        if len(self._buckets) >= MOST_MEASURED:
            self._buckets = {
                key: (bucket, bound)
                for key, (bucket, bound) in self._buckets.items()
                if not bucket.is_full(bound, now)
            }
        config = self._config
        window_ms = config.controller_quota_window_size_seconds * _SECOND_MS
        bucket = Bucket(config.controller_quota_window_num, window_ms)
        self._buckets[limit.shared_by] = (bucket, limit.bound)
        return bucket
