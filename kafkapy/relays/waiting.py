"""Which records are due next, of any number that wait, in bounded memory.

    entries:   the soonest ones ............ horizon | beyond: in the log only
               in chunks, at most 1.5 * `most`       | found again by a pass over the log

The log has everything, so nothing else is written anywhere. What is due after the horizon is
forgotten, a chunk at a time, and when few are left a pass over what waits collects the next ones
into another `Waiting`, which is joined (`join`). A million that wait are read a million / `most`
times at most. No step takes longer than a chunk needs.

A cancellation is dealt with where it stands in the log: what it drops is before it, so it is here
already, or beyond the horizon, and then the pass that finds the record finds it too.
"""

from bisect import bisect_left, bisect_right, insort
from hashlib import blake2b
from typing import Final

from kafkapy.relays.progress import NOTHING

_LONG_KEY: Final = 24
_DIGEST: Final = 16
# Entries of a chunk before it becomes two.
_MOST_IN_CHUNK: Final = 1_000


class Waiting:
    """`after`: only entries behind it belong here. `horizon` None: there is nothing beyond."""

    __slots__ = ("_after", "_chunks", "_count", "_firsts", "_most", "_most_in_chunk", "horizon")

    def __init__(self, most: int, after: int = NOTHING) -> None:
        self.horizon: int | None = None
        self._most = most
        self._most_in_chunk = max(1, min(_MOST_IN_CHUNK, most // 4))
        self._after = after
        self._chunks: list[_Chunk] = []
        # Not above the first entry of each chunk, and above all of the chunk before.
        self._firsts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, entry: int, key: bytes | None) -> None:
        if entry <= self._after or (self.horizon is not None and entry > self.horizon):
            return
        if not self._chunks:
            self._chunks.append(_Chunk([], {}))
            self._firsts.append(entry)
        at = max(bisect_right(self._firsts, entry) - 1, 0)
        self._firsts[at] = min(self._firsts[at], entry)
        chunk = self._chunks[at]
        insort(chunk.entries, entry)
        self._count += 1
        if key is not None:
            _put(chunk.by_key, _identity(key), entry)
        if len(chunk.entries) > self._most_in_chunk:
            self._split(at)
        while self._count > self._most * 3 // 2 and len(self._chunks) > 1:
            self._forget_the_latest()

    def cancel(self, key: bytes) -> None:
        """What came before with that key is dropped."""
        identity = _identity(key)
        for at in range(len(self._chunks) - 1, -1, -1):
            found = self._chunks[at].by_key.pop(identity, None)
            if found is not None:
                for entry in (found,) if isinstance(found, int) else found:
                    self._remove(at, entry)
                self._drop_if_empty(at)

    def first(self) -> int | None:
        """The entry that is due next."""
        return self._chunks[0].entries[0] if self._chunks else None

    def soonest(self, most: int, end: int) -> list[int]:
        """So many before `end`, in their order. They stay until they are `gone`."""
        found: list[int] = []
        for chunk in self._chunks:
            found += chunk.entries[: min(most - len(found), bisect_left(chunk.entries, end))]
            if len(found) >= most or chunk.entries[-1] >= end:
                break
        return found

    def gone(self, entry: int, key: bytes | None) -> None:
        """`key` None: it had none, or nobody knows any more."""
        at = bisect_right(self._firsts, entry) - 1
        if at < 0:
            return
        by_key = self._chunks[at].by_key
        identity = None if key is None else _identity(key)
        found = None if identity is None else by_key.get(identity)
        if isinstance(found, list) and entry in found:
            found.remove(entry)
        if identity is not None and (not found or found == entry):
            by_key.pop(identity, None)
        self._remove(at, entry)
        self._drop_if_empty(at)

    @property
    def needs_pass(self) -> bool:
        """Few are left, and there are more beyond."""
        return self.horizon is not None and self._count <= self._most // 4

    def join(self, later: "Waiting") -> None:
        """What a pass found behind our horizon."""
        self._chunks += later._chunks
        self._firsts += later._firsts
        self._count += later._count
        self.horizon = later.horizon

    def _remove(self, at: int, entry: int) -> None:
        entries = self._chunks[at].entries
        place = bisect_left(entries, entry)
        if place < len(entries) and entries[place] == entry:
            del entries[place]
            self._count -= 1

    def _drop_if_empty(self, at: int) -> None:
        if not self._chunks[at].entries:
            del self._chunks[at], self._firsts[at]

    def _split(self, at: int) -> None:
        chunk = self._chunks[at]
        middle = len(chunk.entries) // 2
        later = _Chunk(chunk.entries[middle:], {})
        first = later.entries[0]
        earlier = _Chunk(chunk.entries[:middle], {})
        for identity, entries in chunk.by_key.items():
            for entry in (entries,) if isinstance(entries, int) else entries:
                _put((earlier if entry < first else later).by_key, identity, entry)
        self._chunks[at : at + 1] = (earlier, later)
        self._firsts.insert(at + 1, first)

    def _forget_the_latest(self) -> None:
        self._count -= len(self._chunks.pop().entries)
        self._firsts.pop()
        self.horizon = self._chunks[-1].entries[-1]


class _Chunk:
    """Entries in their order, and those of each key."""

    __slots__ = ("by_key", "entries")

    def __init__(self, entries: list[int], by_key: dict[bytes, int | list[int]]) -> None:
        self.entries = entries
        self.by_key = by_key


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
