"""Bounds on what is replicated, for replicas that somebody moves (KIP-73).

    leader.replication.throttled.rate       bytes a second that this broker sends
    follower.replication.throttled.rate     bytes a second that it fetches
    <side>.replication.throttled.replicas   of a topic: whose bytes count and wait,
                                            as <partition>:<broker>, or * for all

A replica that is in sync never waits: its bytes are counted, and others wait for them.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from kafkapy.core.byte_rate import NO_LIMIT, ByteRate
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock

LEADER: Final = "leader.replication.throttled.replicas"
FOLLOWER: Final = "follower.replication.throttled.replicas"
_ALL: Final = "*"

# A topic's settings that were altered.
ConfigsOf = Callable[[str], Mapping[str, str | None]]


class ReplicationThrottle:
    """One side of it, on one broker. `limit` and `configs_of` say what holds now."""

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        key: str,
        limit: Callable[[], int],
        configs_of: ConfigsOf,
    ) -> None:
        self._node_id = node_id
        self._clock = clock
        self._key = key
        self._limit = limit
        self._configs_of = configs_of
        self._rate = ByteRate()

    def holds(self, partition: TopicPartition) -> bool:
        """Whether its bytes count."""
        if self._limit() == NO_LIMIT:
            return False
        value = self._configs_of(partition.topic).get(self._key)
        if not value:
            return False
        named = _named(value, self._node_id)
        return named is None or partition.partition in named

    def record(self, size: int) -> None:
        self._rate.record(size, self._clock.now())

    def wait_ms(self) -> int:
        """How long what is to wait has to wait by now."""
        self._rate.limit = self._limit()
        return self._rate.wait_ms(self._clock.now())

    @property
    def is_exceeded(self) -> bool:
        return self.wait_ms() > 0


@lru_cache(maxsize=1024)
def _named(value: str, node_id: int) -> frozenset[int] | None:
    """The partitions of which this node's replica is named; None is all of them."""
    if value.strip() == _ALL:
        return None
    pairs = [one.split(":") for one in value.split(",")]
    return frozenset(int(index) for index, broker in pairs if int(broker) == node_id)
