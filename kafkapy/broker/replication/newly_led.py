"""Partitions that this node leads anew, and whose followers may not know it yet.

A follower has one fetch under way at its leader, which may be parked for half a second: it
cannot name a partition that it learns of meanwhile. So a new leader answers the parked fetches of
those it waits for, again and again for a moment, until they have asked for what is new: nothing
is acknowledged by all before.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.replication.progress import UNKNOWN
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later

# When followers are hurried, counted from the last partition that was led anew: they hear of it
# from the metadata about when we do.
_AFTER_MS: Final = (2, 5, 10, 20, 40, 80, 160)


class NewlyLed:
    """`hurry(replicas)` answers what they have parked here."""

    def __init__(self, clock: Clock, hurry: Callable[[set[int]], None]) -> None:
        self._clock = clock
        self._hurry = hurry
        self._partitions: set[Partition] = set()
        self._timer: Timer | None = None
        self._step = 0

    def add(self, partition: Partition) -> None:
        self._partitions.add(partition)
        self._step = 0
        self._arm()

    def close(self) -> None:
        self._partitions.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        clock = self._clock
        self._timer = clock.call_at(later(clock.now(), _AFTER_MS[self._step]), self._look)

    def _look(self) -> None:
        self._timer = None
        waited_for: set[int] = set()
        for partition in list(self._partitions):
            unheard = _unheard(partition)
            waited_for |= unheard
            if not unheard:
                self._partitions.discard(partition)
        if waited_for:
            self._hurry(waited_for)
        self._step += 1
        if self._partitions and self._step < len(_AFTER_MS):
            self._arm()
        else:
            self._partitions.clear()


def _unheard(partition: Partition) -> set[int]:
    """In sync by agreement, and silent since this node leads."""
    followers = partition.followers
    if followers is None:
        return set()
    return {
        replica
        for replica, progress in followers.progress.items()
        if progress.log_end_offset == UNKNOWN and replica in followers.agreed
    }
