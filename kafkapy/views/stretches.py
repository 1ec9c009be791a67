"""What a partition's view shows, by offset, as far as it was evaluated and is remembered.

    source     | batch | batch | batch | batch | batch |   ...   | batch |
    pieces     |  nothing of it   | data  | data  |  nothing  |
    stretches  |----------------------|---------------|         not known: |-------|

A piece is a batch of which something is shown, or a run of offsets of which nothing is. Pieces that
follow one another without a gap are a stretch, which is what is remembered or forgotten as one.

`take` gives a fetch what is known from its offset on. A stretch stands for a piece of the source's
log (its `origin`): one that the log has not any more is not used.
"""

from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import Final, NamedTuple

from kafkapy.views.batch import skipped
from kafkapy.views.memory import Memory

# A stretch is what is forgotten at once: small enough to matter little, large enough to be few.
STRETCH_BYTES: Final = 64 * 1024
# Python's objects around a piece, and around a stretch.
_PIECE_BYTES: Final = 200
_STRETCH_OVERHEAD: Final = 500


class Piece(NamedTuple):
    """Offsets from `first` to before `end`. `data`: the batch; None: nothing is shown."""

    first: int
    end: int
    leader_epoch: int
    data: bytes | None
    is_control: bool = False


class Taken(NamedTuple):
    """`batches` from the offset asked for to before `reached`. `size` is 0 if no record is in
    them: then nobody has to hear of it yet."""

    batches: list[bytes]
    size: int
    reached: int


class Stretch:
    __slots__ = ("anchor", "end", "first", "forget", "origin", "pieces", "size")

    def __init__(self, piece: Piece, origin: object, forget: Callable[["Stretch"], None]) -> None:
        self.first = piece.first
        self.end = piece.end
        self.anchor = piece.end - 1
        self.origin = origin
        self.pieces = [piece]
        self.size = _STRETCH_OVERHEAD + _size(piece)
        self.forget = lambda: forget(self)

    def add(self, piece: Piece) -> None:
        last = self.pieces[-1]
        if piece.data is None and last.data is None and piece.leader_epoch == last.leader_epoch:
            self.pieces[-1] = last._replace(end=piece.end)
        else:
            self.pieces.append(piece)
            self.size += _size(piece)
        self.end = piece.end


class Stretches:
    """`origin_of` says which part of the log an offset is in, as it is now."""

    def __init__(self, memory: Memory, origin_of: Callable[[int], object]) -> None:
        self._memory = memory
        self._origin_of = origin_of
        self._firsts: list[int] = []
        self._stretches: list[Stretch] = []

    def end_of_known(self, offset: int) -> int:
        """Up to where everything is known from `offset` on."""
        while (found := self._find(offset)) is not None:
            offset = found.end
        return offset

    def add(self, piece: Piece, origin: object) -> None:
        """What follows what is known, or stands alone; nothing of it is known."""
        before = self._find(piece.first - 1)
        if (
            before is not None
            and before.end == piece.first
            and before.origin is origin
            and before.size < STRETCH_BYTES
        ):
            before.add(piece)
            self._memory.use(before)
            return
        at = bisect_right(self._firsts, piece.first)
        stretch = Stretch(piece, origin, self._forget)
        self._firsts.insert(at, piece.first)
        self._stretches.insert(at, stretch)
        self._memory.use(stretch)

    def take(self, offset: int, upper: int, max_bytes: int, *, at_least_one: bool) -> Taken:
        """Whole batches from `offset` on, that begin below `upper`, up to `max_bytes` together;
        more if the first alone has more and there is to be one. Where nothing is shown at the end
        of what is known, a batch without records says so."""
        batches: list[bytes] = []
        size = 0
        has_records = is_full = False
        left_out: Piece | None = None
        while offset < upper and not is_full and (stretch := self._find(offset)) is not None:
            self._memory.use(stretch)
            pieces = stretch.pieces
            at = bisect_right(pieces, offset, key=attrgetter("first")) - 1
            for piece in pieces[at:]:
                if piece.first >= upper:
                    break
                if piece.data is None:
                    left_out = piece
                else:
                    is_full = size + len(piece.data) > max_bytes and (size > 0 or not at_least_one)
                    if is_full:
                        break
                    batches.append(piece.data)
                    size += len(piece.data)
                    has_records = has_records or not piece.is_control
                    left_out = None
                offset = min(piece.end, upper)
        if left_out is not None:
            batches.append(skipped(left_out.first, offset, left_out.leader_epoch))
        return Taken(batches, size if has_records else 0, offset)

    def clear(self) -> None:
        for stretch in self._stretches:
            self._memory.drop(stretch)
        self._firsts.clear()
        self._stretches.clear()

    def _find(self, offset: int) -> Stretch | None:
        at = bisect_right(self._firsts, offset) - 1
        if at < 0:
            return None
        stretch = self._stretches[at]
        if offset >= stretch.end:
            return None
        if self._origin_of(stretch.anchor) is not stretch.origin:
            self._memory.drop(stretch)
            self._forget(stretch)
            return None
        return stretch

    def _forget(self, stretch: Stretch) -> None:
        at = bisect_right(self._firsts, stretch.first) - 1
        if at >= 0 and self._stretches[at] is stretch:
            del self._firsts[at], self._stretches[at]


def _size(piece: Piece) -> int:
    return _PIECE_BYTES + (0 if piece.data is None else len(piece.data))
