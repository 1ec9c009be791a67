"""What a crash leaves of a file and of a directory: the durable image and some of the rest.

    volatile  what reads see                     crash(rng)
    durable   what survives for certain     -->  volatile := durable + some of the rest

File systems promise no more: `sim/world/disk.py` says what counts as flushed.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Union

from kafkapy.core.seams import Rng
from kafkapy.core.time import Instant

Node = Union["Data", "Directory"]
_EPOCH = Instant(0)


class Image(NamedTuple):
    """A file as it was when a flush began; `order` tells which of two is the newer."""

    order: int
    contents: bytes


@dataclass(slots=True, eq=False)
class Data:
    """The contents of one file, whatever its name."""

    volatile: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    modified_ms: Instant = _EPOCH
    _images: int = 0
    _flushed: int = 0

    def image(self) -> Image:
        self._images += 1
        return Image(self._images, bytes(self.volatile))

    def flush(self, image: Image) -> None:
        """Flushes may end in another order than they began: the newest image stays."""
        if image.order > self._flushed:
            self._flushed = image.order
            self.durable = image.contents

    def flip(self, position: int, bits: int) -> None:
        self.volatile[position] ^= bits
        if position < len(self.durable):
            self.durable = bytes(self.volatile[: len(self.durable)])

    def crash(self, rng: Rng) -> None:
        new, old = bytes(self.volatile), self.durable
        if new == old:
            return
        choice = rng.below(4)
        if choice == 0:
            survived = old
        elif choice == 1:
            survived = new
        else:
            common = _common_length(old, new)
            cut = common + rng.below(len(new) - common + 1)
            survived = new[:cut]
            if choice == 3 and cut < len(new):
                # The size may be there before the data is.
                hole = len(new) - cut
                survived = new[:cut] + bytes(hole if rng.below(2) else 1 + rng.below(hole))
        self.volatile = bytearray(survived)
        self.durable = survived


@dataclass(slots=True, eq=False)
class Directory:
    entries: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    # Changes not flushed, oldest first: names that go, names that come.
    changes: list[tuple[str | None, str | None, Node]] = field(default_factory=list)
    modified_ms: Instant = _EPOCH

    def change(self, gone: str | None, come: str | None, node: Node) -> None:
        self.changes.append((gone, come, node))
        _apply(self.entries, gone, come, node)

    def flush(self) -> None:
        self.durable = dict(self.entries)
        self.changes.clear()

    def crash(self, rng: Rng) -> None:
        survived = rng.below(len(self.changes) + 1)
        for gone, come, node in self.changes[:survived]:
            _apply(self.durable, gone, come, node)
        self.changes.clear()
        self.entries = dict(self.durable)
        for node in self.entries.values():
            node.crash(rng)


def _common_length(old: bytes, new: bytes) -> int:
    if new.startswith(old):
        return len(old)
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new))


def _apply(entries: dict[str, Node], gone: str | None, come: str | None, node: Node) -> None:
    if gone is not None:
        entries.pop(gone, None)
    if come is not None:
        entries[come] = node


def used_bytes(directory: Directory) -> int:
    return sum(
        used_bytes(node) if isinstance(node, Directory) else len(node.volatile)
        for node in directory.entries.values()
    )
