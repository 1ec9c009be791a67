"""Tells a hook what can be read of one partition that could not before.

the high watermark moves ──> noted ──> the end of the turn ──> told, all of the turn as one
"""

from contextlib import suppress

from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.turn import Turn
from kafkapy.hooks.api import Append, Place
from kafkapy.hooks.guarded import Guarded, HookFailed


class AppendTeller:
    """Watches while it is not closed."""

    def __init__(self, partition: Partition, hook: Guarded, turn: Turn) -> None:
        self.hook = hook
        self._partition = partition
        self._place = Place(*partition.topic_partition)
        self._turn = turn
        self._told = partition.log.high_watermark
        self._bytes = 0
        self._is_noted = self._is_closed = False
        partition.watchers[self] = 0

    def close(self) -> None:
        self._tell()
        self._is_closed = True
        self._partition.watchers.pop(self, None)

    def on_more(self, mark: int, count_bytes: int) -> None:
        self._bytes += count_bytes
        if not self._is_noted:
            self._is_noted = True
            self._turn.at_end(self._tell)

    def _tell(self) -> None:
        self._is_noted = False
        end = self._partition.log.high_watermark
        first, size = self._told, self._bytes
        self._told, self._bytes = end, 0
        if end <= first or self._is_closed:
            return
        with suppress(HookFailed):  # the journal has it; it is written all the same
            self.hook(self._place, Append(first, end, size))
