"""What a transactional id is supposed to do, in the plainest words: no records, no states.

One id at a time. A producer holds a pass (producer id, epoch). A pass is good until a newer
one is issued. Ending a transaction in v2 issues a new pass to the same producer; taking over
or fencing issues one that nobody holds yet.
"""

from dataclasses import dataclass, field

from kafkapy.core.ids import TopicPartition

LAST_EPOCH = 32_766
# What a transaction without partitions owes: the news that there was nothing to do.
NOTHING = TopicPartition("", -1)


@dataclass
class Twin:
    producer_id: int = -1
    epoch: int = -1
    # A pass that may still be exchanged for the current one: its holder's answer was lost.
    retry: tuple[int, int] | None = None
    timeout_ms: int = 0
    is_open: bool = False
    started: int = 0
    partitions: set[TopicPartition] = field(default_factory=set)
    owed: set[TopicPartition] | None = None
    will_commit: bool = False
    next_producer_id: int = -1
    last_outcome: bool | None = None
    # Whether the last end issued a new pass, whose answer may have been lost.
    end_bumped: bool = False
    # The last pass of a producer id that ran out of epochs, until anything else happens.
    rotated_from: tuple[int, int] | None = None
    is_known: bool = False

    @property
    def current(self) -> tuple[int, int]:
        return self.producer_id, self.epoch

    def init(self, held: tuple[int, int] | None, fresh: int, timeout_ms: int) -> bool:
        """True if whoever asks gets the current pass."""
        if not self.is_known:
            self.is_known, self.timeout_ms = True, timeout_ms
            self.producer_id, self.epoch = fresh, 0
            return True
        if self.owed is not None:
            return False
        if held is not None and held != self.current and held != self.retry:
            if held[0] == self.producer_id and self.is_open:
                self._fence_v2(fresh)  # whatever its epoch: somebody is using this id
            return False
        if self.is_open:
            self._fence_v2(fresh)
            return False
        self.timeout_ms, self.last_outcome = timeout_ms, None
        if held is not None and held == self.retry:
            return True
        old = self.current
        if self.epoch >= LAST_EPOCH:
            self.producer_id, self.epoch = fresh, 0
        else:
            self.epoch += 1
        self.retry = None if held is None else old
        return True

    def add(self, held: tuple[int, int], partitions: set[TopicPartition], now: int) -> bool:
        if not self.is_known or self.owed is not None or held != self.current:
            return False
        if not self.is_open:
            self.is_open, self.started, self.rotated_from = True, now, None
        self.partitions |= partitions
        return True

    def end_v1(self, held: tuple[int, int], commit: bool) -> bool:
        if not self.is_known or self.owed is not None or held != self.current:
            return False
        if not self.is_open:
            return self.last_outcome is commit
        self.end_bumped = False
        self._prepare(commit)
        return True

    def end_v2(self, held: tuple[int, int], commit: bool, fresh: int) -> bool:
        if not self.is_known or self.owed is not None:
            return False
        if held == self.current:
            if not self.is_open and commit:
                return False
            self._bump(fresh)
            self._prepare(commit)
            return True
        is_retry = self.end_bumped and self._is_one_behind(held) and not self.is_open
        return is_retry and self.last_outcome is commit

    def time_out(self, fresh: int, now: int) -> bool:
        if not self.is_open or self.owed is not None or self.started + self.timeout_ms >= now:
            return False
        self._fence_v2(fresh)
        return True

    def marked(self, partitions: set[TopicPartition]) -> None:
        if self.owed is None:
            return
        self.owed -= partitions
        if not self.owed:
            self.owed, self.last_outcome = None, self.will_commit
            self.partitions = set()
            if self.next_producer_id != -1:
                self.rotated_from = self.producer_id, LAST_EPOCH
                self.producer_id, self.epoch = self.next_producer_id, 0
                self.next_producer_id = -1

    def reload(self) -> None:
        """A new leader owes all markers again, and knows of no lost answers."""
        if self.owed is not None:
            self.owed = set(self.partitions) or {NOTHING}
        self.retry = None

    def _prepare(self, commit: bool) -> None:
        self.owed, self.will_commit, self.is_open = set(self.partitions), commit, False
        self.rotated_from = None
        if not self.owed:
            self.owed = {NOTHING}

    def _fence_v2(self, fresh: int) -> None:
        self._bump(fresh)
        self._prepare(commit=False)

    def _bump(self, fresh: int) -> None:
        self.retry, self.end_bumped = self.current, True
        if self.epoch >= LAST_EPOCH:
            self.next_producer_id = fresh
        self.epoch += 1

    def _is_one_behind(self, held: tuple[int, int]) -> bool:
        return held in (self.rotated_from, (self.producer_id, self.epoch - 1))
