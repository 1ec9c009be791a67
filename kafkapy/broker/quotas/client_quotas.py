"""What clients have used, held against their quotas.

A node has one; `None` stands in its place while the metadata has no quota of any client, so that
whoever asks pays for one comparison (node/base.py).
"""

from collections.abc import Hashable
from typing import Final, TypeVar

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.quotas.limits import CONSUMED, MUTATIONS, REQUEST_TIME, Limit, Limits
from kafkapy.broker.quotas.rates import Bucket, Rate
from kafkapy.broker.requests.request import Peer
from kafkapy.core.time import Instant

Measured = TypeVar("Measured", Rate, Bucket)

# What is measured of so many before those that used nothing lately are forgotten.
MOST_MEASURED: Final = 10_000
_SECOND_MS: Final = 1000


class ClientQuotas:
    def __init__(self, config: BrokerConfig, limits: Limits) -> None:
        self.limits = limits
        # How often clients were told to wait, and how long in all.
        self.throttled_count = 0
        self.throttled_ms = 0
        self._config = config
        self._rates: dict[tuple[str, Hashable], Rate] = {}
        self._buckets: dict[Hashable, tuple[Bucket, float]] = {}

    # --- bytes and time ---

    def charge(self, kind: str, peer: Peer, client_id: str, used: float, now: Instant) -> int:
        """`used` more of it; how long the client is to be throttled for, in milliseconds."""
        limit = self._limit(kind, peer, client_id)
        if limit is None:
            return 0
        rate = self._rate(kind, limit, now)
        rate.record(used, now)
        wait_ms = rate.wait_ms(limit.bound, now)
        # Time is not paid back by waiting longer than it is measured in.
        return min(wait_ms, self._window_ms) if kind == REQUEST_TIME else wait_ms

    def give_back(self, kind: str, peer: Peer, client_id: str, used: float, now: Instant) -> None:
        """It was charged and has not been used."""
        limit = self._limit(kind, peer, client_id)
        if limit is not None:
            self._rate(kind, limit, now).record(-used, now)

    def most_fetched(self, peer: Peer, client_id: str | None) -> int | None:
        """What one answer may hold at most: all that may be consumed in the time that is
        measured. None: as much as it likes."""
        limit = self._limit(CONSUMED, peer, client_id or "")
        if limit is None:
            return None
        seconds = max(self._config.quota_window_num - 1, 1) * self._config.quota_window_size_seconds
        return int(min(limit.bound * seconds, 2**31 - 1))

    # --- mutations ---

    def mutations_left(self, peer: Peer, client_id: str | None, now: Instant) -> float:
        """Partitions that may be made or deleted now; below 0: a debt."""
        limit = self._limit(MUTATIONS, peer, client_id or "")
        return float("inf") if limit is None else self._bucket(limit, now).left(limit.bound, now)

    def mutate(self, peer: Peer, client_id: str | None, count: int, now: Instant) -> int:
        """`count` partitions were; how long to throttle."""
        limit = self._limit(MUTATIONS, peer, client_id or "")
        if limit is None:
            return 0
        bucket = self._bucket(limit, now)
        bucket.use(count, limit.bound, now)
        return bucket.wait_ms(limit.bound, now)

    # --- what is measured ---

    @property
    def _window_ms(self) -> int:
        return self._config.quota_window_size_seconds * _SECOND_MS

    def _limit(self, kind: str, peer: Peer, client_id: str) -> Limit | None:
        return self.limits.of_client(kind, peer.principal, client_id)

    def _rate(self, kind: str, limit: Limit, now: Instant) -> Rate:
        key = (kind, limit.shared_by)
        rate = self._rates.get(key)
        if rate is None:
            if len(self._rates) >= MOST_MEASURED:
                self._rates = {k: one for k, one in self._rates.items() if not one.is_idle(now)}
            rate = self._rates[key] = Rate(self._config.quota_window_num, self._window_ms)
        return rate

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
