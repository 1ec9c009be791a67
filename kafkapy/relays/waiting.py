"""Which records are due next, of any number that wait, in bounded memory.

    entries:   the soonest ones ............ horizon | beyond: in the log only
               in chunks, at most 1.5 * `most`       | found again by a pass over the log

The log has everything, so nothing else is written anywhere. What is due after the horizon is
forgotten, a chunk at a time, and when few are left a pass over what waits collects the next ones
into another `Waiting`, which is joined (`join`). No step takes longer than a chunk needs.

A cancellation is dealt with where it stands in the log: what it drops is before it, so it is here
already, or beyond the horizon, and then the pass that finds the record finds it too. Nobody looks
for what it drops: it is remembered, each chunk is swept of what was cancelled before anybody asks
it, and with every cancellation one more chunk is swept in turn, so few are remembered for long.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from kafkapy.relays.progress import NOTHING, due_of, entry_of, offset_of

# Entries of a chunk before it becomes two.
_MOST_IN_CHUNK: Final = 1_000
# What stands for a key: so many bytes.
_IDENTITY: Final = 16
_NO_KEY: Final = bytes(_IDENTITY)
# So many cancelled keys are quicker looked for than each of a chunk's among them.
_FEW: Final = 16


class Waiting:
    """`after`: only entries behind it belong here. `horizon` None: there is nothing beyond."""

    __slots__ = (
        "_after",
        "_cancelled",
        "_chunks",
        "_count",
        "_firsts",
        "_most",
        "_most_in_chunk",
        "_swept_to",
        "horizon",
    )

    def __init__(self, most: int, after: int = NOTHING) -> None:
        self.horizon: int | None = None
        self._most = most
        self._most_in_chunk = max(1, min(_MOST_IN_CHUNK, most // 4))
        self._after = after
        self._chunks: list[_Chunk] = []
        # Not above the first entry of each chunk, and above all of the chunk before.
        self._firsts: list[int] = []
        self._count = 0
        self._cancelled = _Cancelled()
        self._swept_to = NOTHING

    def __len__(self) -> int:
        """What was cancelled counts until its chunk is swept."""
        return self._count

    def add(self, entry: int, key: bytes | None) -> None:
        if entry <= self._after or (self.horizon is not None and entry > self.horizon):
            return
        if not self._chunks:
            self._chunks.append(_Chunk(array("Q"), array("Q"), bytearray(), self._cancelled.count))
            self._firsts.append(entry)
        at = max(bisect_right(self._firsts, entry) - 1, 0)
        self._firsts[at] = min(self._firsts[at], entry)
        chunk = self._chunks[at]
        chunk.insert(entry, _NO_KEY if key is None else _identity(key))
        self._count += 1
        if len(chunk) > self._most_in_chunk:
            later = chunk.split()
            self._chunks.insert(at + 1, later)
            self._firsts.insert(at + 1, later[0])
        while self._count > self._most * 3 // 2 and len(self._chunks) > 1:
            self._forget_the_latest()

    def cancel(self, key: bytes, offset: int) -> None:
        """What is before that offset with that key is dropped."""
        self._cancelled.add(_identity(key), offset)
        at = bisect_right(self._firsts, self._swept_to)
        if at < len(self._chunks):
            self._swept_to = self._firsts[at]
            self._sweep(at)
        else:
            self._swept_to = NOTHING
            self._cancelled.all_were_swept()

    def first(self) -> int | None:
        """The entry that is due next."""
        while self._chunks:
            if self._sweep(0):
                return self._chunks[0][0]
        return None

    def soonest(self, most: int, end: int, after: int = NOTHING) -> list[int]:
        """So many behind `after` and before `end`, in their order. They stay until they are
        `gone`."""
        found: list[int] = []
        at = max(bisect_right(self._firsts, after) - 1, 0)
        while at < len(self._chunks) and len(found) < most and self._firsts[at] < end:
            if self._sweep(at):
                found += self._chunks[at].between(after, end, most - len(found))
                at += 1
        return found

    def gone(self, entry: int) -> None:
        at = bisect_right(self._firsts, entry) - 1
        if at >= 0 and self._chunks[at].remove(entry):
            self._count -= 1
            if not len(self._chunks[at]):
                del self._chunks[at], self._firsts[at]

    @property
    def needs_pass(self) -> bool:
        """Few are left, and there are more beyond."""
        return self.horizon is not None and self._count <= self._most // 4

    def join(self, later: "Waiting") -> None:
        """What a pass found behind our horizon."""
        for identity, offset in later._cancelled.since(0).items():
            self._cancelled.add(identity, offset)
        for chunk in later._chunks:
            chunk.swept_of = 0
        self._swept_to = NOTHING
        self._chunks += later._chunks
        self._firsts += later._firsts
        self._count += later._count
        self.horizon = later.horizon

    def _sweep(self, at: int) -> bool:
        """Whether anything is left; an empty chunk is taken away."""
        chunk = self._chunks[at]
        self._count -= chunk.sweep(self._cancelled)
        if len(chunk):
            return True
        del self._chunks[at], self._firsts[at]
        return False

    def _forget_the_latest(self) -> None:
        self._count -= len(self._chunks.pop())
        self._firsts.pop()
        latest = self._chunks[-1]
        self.horizon = latest[len(latest) - 1]


class _Cancelled:
    """Keys, and where in the log each was cancelled last; the latest are the last ones."""

    __slots__ = ("_found", "_round_began", "count")

    def __init__(self) -> None:
        self.count = 0
        self._found: dict[bytes, tuple[int, int]] = {}
        self._round_began = 0

    def add(self, identity: bytes, offset: int) -> None:
        self.count += 1
        before = self._found.pop(identity, (0, 0))
        self._found[identity] = (max(offset, before[0]), self.count)

    def since(self, count: int) -> dict[bytes, int]:
        """What came after so many."""
        found: dict[bytes, int] = {}
        for identity, (offset, number) in reversed(self._found.items()):
            if number <= count:
                break
            found[identity] = offset
        return found

    def all_were_swept(self) -> None:
        """Each chunk, since this was called last: of all that were there then."""
        for identity, (_, number) in list(self._found.items()):
            if number > self._round_began:
                break
            del self._found[identity]
        self._round_began = self.count


class _Chunk:
    """Entries in their order, 32 bytes each. `swept_of`: of so many cancellations."""

    __slots__ = ("_dues", "_identities", "_offsets", "swept_of")

    def __init__(
        self, dues: "array[int]", offsets: "array[int]", identities: bytearray, swept_of: int
    ) -> None:
        self._dues = dues
        self._offsets = offsets
        self._identities = identities
        self.swept_of = swept_of

    def __len__(self) -> int:
        return len(self._dues)

    def __getitem__(self, place: int) -> int:
        return entry_of(self._dues[place], self._offsets[place])

    def insert(self, entry: int, identity: bytes) -> None:
        place = self._place(entry)
        self._dues.insert(place, due_of(entry))
        self._offsets.insert(place, offset_of(entry))
        at = place * _IDENTITY
        self._identities[at:at] = identity

    def remove(self, entry: int) -> bool:
        place = self._place(entry)
        if place == len(self) or self[place] != entry:
            return False
        self._delete(place)
        return True

    def between(self, after: int, end: int, most: int) -> list[int]:
        first = 0 if after == NOTHING else self._place(after + 1)
        last = min(first + most, self._place(end))
        return list(map(entry_of, self._dues[first:last], self._offsets[first:last]))

    def split(self) -> "_Chunk":
        """Keeps the first half."""
        middle = len(self) // 2
        at = middle * _IDENTITY
        later = _Chunk(
            self._dues[middle:], self._offsets[middle:], self._identities[at:], self.swept_of
        )
        del self._dues[middle:], self._offsets[middle:], self._identities[at:]
        return later

    def sweep(self, cancelled: _Cancelled) -> int:
        """Drops what was cancelled; returns how many."""
        if self.swept_of == cancelled.count:
            return 0
        offsets = cancelled.since(self.swept_of)
        self.swept_of = cancelled.count
        places = self._few(offsets) if len(offsets) <= _FEW else self._many(offsets)
        for place in reversed(places):
            self._delete(place)
        return len(places)

    def _few(self, cancelled: Mapping[bytes, int]) -> list[int]:
        found: list[int] = []
        for identity, offset in cancelled.items():
            at = self._identities.find(identity)
            while at >= 0:
                place, rest = divmod(at, _IDENTITY)
                if not rest and self._offsets[place] < offset:
                    found.append(place)
                at = self._identities.find(identity, at + 1)
        return sorted(found)

    def _many(self, cancelled: Mapping[bytes, int]) -> list[int]:
        keys, found = bytes(self._identities), []
        for place, offset in enumerate(self._offsets):
            at = place * _IDENTITY
            if offset < cancelled.get(keys[at : at + _IDENTITY], NOTHING):
                found.append(place)
        return found

    def _delete(self, place: int) -> None:
        at = place * _IDENTITY
        del self._dues[place], self._offsets[place], self._identities[at : at + _IDENTITY]

    def _place(self, entry: int) -> int:
        """Where it is, or would be."""
        due = due_of(entry)
        place = bisect_left(self._dues, due)
        if place == len(self._dues) or self._dues[place] != due:
            return place
        end = bisect_right(self._dues, due, place)
        return bisect_left(self._offsets, offset_of(entry), place, end)


def _identity(key: bytes) -> bytes:
    """Never that of no key."""
    if len(key) < _IDENTITY:
        return key.ljust(_IDENTITY - 1, b"\0") + _LENGTHS[len(key)]
    return blake2b(key, digest_size=_IDENTITY).digest()


_LENGTHS: Final = tuple(bytes((length + 1,)) for length in range(_IDENTITY))
