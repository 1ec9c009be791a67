"""How far one follower is, as its leader knows from its fetches.

A fetch from offset n says: I have everything below n. Caught up is who has it all, or had all
that there was at a moment not longer ago than replica.lag.time.max.ms: a follower that keeps
pace with a busy leader is always a little behind. formats/replication 3.

Who left those in sync has to be heard again first: a broker that died, or that lost a directory,
had everything, too, when it fetched last.
"""

from typing import Final

from kafkapy.core.time import Instant

UNKNOWN: Final = -1
# Longer ago than any lag allows.
NEVER_CAUGHT_UP: Final = Instant(0)


class Progress:
    """`broker_epoch` is that of the life of the follower that fetched last."""

    __slots__ = (
        "_fetched_at",
        "_leader_end_then",
        "broker_epoch",
        "caught_up_at",
        "has_left",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, caught_up_at: Instant) -> None:
        self.log_end_offset = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.broker_epoch = UNKNOWN
        self.caught_up_at = caught_up_at
        self.has_left = False  # those in sync, and was not heard since
        self._leader_end_then = 0
        self._fetched_at = NEVER_CAUGHT_UP

    def fetched(
        self, offset: int, log_start: int, leader_end: int, broker_epoch: int, now: Instant
    ) -> None:
        if offset >= leader_end:
            self.caught_up_at = now
        elif offset >= self._leader_end_then:
            # All that there was when it fetched last: it had caught up then.
            self.caught_up_at = max(self.caught_up_at, self._fetched_at)
        self.log_end_offset = offset
        self.log_start_offset = log_start
        self.broker_epoch = broker_epoch
        self.has_left = False
        self._leader_end_then = leader_end
        self._fetched_at = now

    def was_caught_up(self, at: Instant) -> None:
        self.caught_up_at = max(self.caught_up_at, at)
        self._fetched_at = max(self._fetched_at, at)

    def is_caught_up(self, leader_end: int, now: Instant, max_lag_ms: int) -> bool:
        return self.log_end_offset == leader_end or now - self.caught_up_at <= max_lag_ms
