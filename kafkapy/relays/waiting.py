"""Which records are due next, of any number that wait, in bounded memory.

    entries:   the soonest ones ............ horizon | beyond: in the log only
               a heap of at most 2 * `most`          | found again by a pass over the log

The log has everything, so nothing else is written anywhere. What is due after the horizon is
forgotten, and when few are left a pass over what waits collects the next ones into another
`Waiting`, which is joined (`join`). A million that wait are read a million / `most` times at most.

A cancellation is dealt with where it stands in the log: what it drops is before it, so it is here
already, or beyond the horizon, and then the pass that finds the record finds it too.
"""

from collections.abc import Sequence
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Final

from kafkapy.relays.progress import NOTHING, offset_of

_LONG_KEY: Final = 24
_DIGEST: Final = 16


class Waiting:
    """`after`: only entries behind it belong here. `horizon` None: there is nothing beyond."""

    __slots__ = ("_after", "_by_key", "_dropped", "_heap", "_most", "horizon")

    def __init__(self, most: int, after: int = NOTHING) -> None:
        self.horizon: int | None = None
        self._most = most
        self._after = after
        self._heap: list[int] = []
        self._by_key: dict[bytes, int | list[int]] = {}
        self._dropped: set[int] = set()

    def __len__(self) -> int:
        return len(self._heap) - len(self._dropped)

    def add(self, entry: int, key: bytes | None) -> None:
        if entry <= self._after or (self.horizon is not None and entry > self.horizon):
            return
        heappush(self._heap, entry)
        if key is not None:
            _put(self._by_key, _identity(key), entry)
        if len(self._heap) > 2 * self._most:
            self._forget_the_latest()

    def cancel(self, key: bytes) -> None:
        """What came before with that key is dropped."""
        found = self._by_key.pop(_identity(key), None)
        if isinstance(found, int):
            self._dropped.add(found)
        elif found is not None:
            self._dropped.update(found)

    def first(self) -> int | None:
        """The entry that is due next."""
        heap, dropped = self._heap, self._dropped
        while heap and heap[0] in dropped:
            dropped.discard(heappop(heap))
        return heap[0] if heap else None

    def pop(self) -> int:
        """What `first` said. Its key is told once the record was read (`gone`)."""
        return heappop(self._heap)

    def put_back(self, entries: Sequence[int]) -> None:
        """They were popped and did not leave."""
        for entry in entries:
            heappush(self._heap, entry)

    def gone(self, entry: int, key: bytes | None) -> None:
        if key is None:
            return
        identity = _identity(key)
        found = self._by_key.get(identity)
        if found == entry:
            del self._by_key[identity]
        elif isinstance(found, list) and entry in found:
            found.remove(entry)
            if not found:
                del self._by_key[identity]

    @property
    def needs_pass(self) -> bool:
        """Few are left, and there are more beyond."""
        return self.horizon is not None and len(self._heap) <= self._most // 4

    @property
    def lowest_offset(self) -> int | None:
        """Of those that are here."""
        return min(map(offset_of, self._heap), default=None)

    def join(self, later: "Waiting") -> None:
        """What a pass found behind our horizon."""
        self._heap += later._heap
        heapify(self._heap)
        self._dropped |= later._dropped
        for identity, entries in later._by_key.items():
            for entry in (entries,) if isinstance(entries, int) else entries:
                _put(self._by_key, identity, entry)
        self.horizon = later.horizon

    def _forget_the_latest(self) -> None:
        kept = sorted(one for one in self._heap if one not in self._dropped)
        self._dropped.clear()
        if len(kept) <= self._most:
            self._heap = kept
            return
        del kept[self._most :]
        horizon = self.horizon = kept[-1]
        by_key: dict[bytes, int | list[int]] = {}
        for identity, entries in self._by_key.items():
            for entry in (entries,) if isinstance(entries, int) else entries:
                if entry <= horizon:
                    _put(by_key, identity, entry)
        self._heap, self._by_key = kept, by_key


def _put(by_key: dict[bytes, int | list[int]], identity: bytes, entry: int) -> None:
    found = by_key.get(identity)
    if found is None:
        by_key[identity] = entry
    elif isinstance(found, int):
        by_key[identity] = [found, entry]
    else:
        found.append(entry)


def _identity(key: bytes) -> bytes:
    return key if len(key) <= _LONG_KEY else blake2b(key, digest_size=_DIGEST).digest()
