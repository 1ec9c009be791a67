"""How far a relay is: what it commits beside what it sends, a few numbers however much waits.

    offsets  0 ............... lowest ............ scanned ...
             all over          some wait           nobody has looked yet

    of what was scanned, over is what is due up to the frontier: entries are (due, offset)

Records leave in the order of their entries, so one frontier says of every scanned record whether
it has left. A record that is scanned later and due before the frontier leaves with the step that
scans it. Only when the wall clock was set back may a new record be due before the frontier and yet
not now: then the offsets from there on get a frontier of their own (`begin_section`), until it has
caught up with the one before.
"""

from typing import Final, NamedTuple

from kafkapy.relays.rule import AT_ONCE

_OFFSET_BITS: Final = 64
_OFFSET_MASK: Final = (1 << _OFFSET_BITS) - 1
#: Before every entry.
NOTHING: Final = -1
_FORMAT: Final = "1"
# Clocks that are set back more often than that before records catch up let some go early.
MOST_SECTIONS: Final = 32


def entry_of(due: int, offset: int) -> int:
    """One number for both, ordered as they are."""
    return due << _OFFSET_BITS | offset


def due_of(entry: int) -> int:
    return entry >> _OFFSET_BITS


def offset_of(entry: int) -> int:
    return entry & _OFFSET_MASK


class Section(NamedTuple):
    """Offsets below `end`, as far as no section before has them; `frontier`: an entry."""

    end: int
    frontier: int


class Progress(NamedTuple):
    """`sections`: the last ends at `scanned`; their frontiers go down."""

    lowest: int
    sections: tuple[Section, ...]

    @property
    def scanned(self) -> int:
        return self.sections[-1].end

    @property
    def frontier(self) -> int:
        """For what is scanned next."""
        return self.sections[-1].frontier

    def is_over(self, due: int, offset: int) -> bool:
        """Whether that record has left (or was dropped)."""
        if offset >= self.scanned:
            return False
        if due == AT_ONCE:
            return True
        for section in self.sections:
            if offset < section.end:
                return entry_of(due, offset) <= section.frontier
        raise AssertionError("the last section ends at `scanned`")

    def scan_to(self, offset: int) -> "Progress":
        *before, last = self.sections
        return self._replace(sections=(*before, last._replace(end=offset)))

    def begin_section(self) -> "Progress":
        """What is scanned from here on has a frontier of its own."""
        if len(self.sections) >= MOST_SECTIONS:
            return self
        return self._replace(sections=(*self.sections, Section(self.scanned, NOTHING)))

    def left(self, entry: int) -> "Progress":
        """Everything that waits up to `entry` has left."""
        sections: list[Section] = []
        for section in reversed(self.sections):
            raised = section._replace(frontier=max(section.frontier, entry))
            if not sections or sections[-1].frontier < raised.frontier:
                sections.append(raised)
        return self._replace(sections=tuple(reversed(sections)))

    def to_text(self) -> str:
        numbers = [self.lowest]
        for section in self.sections:
            numbers += (section.end, section.frontier)
        return " ".join((_FORMAT, *map(str, numbers)))


def start_at(offset: int) -> Progress:
    return Progress(offset, (Section(offset, NOTHING),))


def from_text(text: str) -> Progress | None:
    """None if somebody else wrote it."""
    version, *words = text.split() or ("",)
    if version != _FORMAT or len(words) < 3 or not len(words) % 2:
        return None
    try:
        lowest, *numbers = map(int, words)
    except ValueError:
        return None
    ends, frontiers = numbers[::2], numbers[1::2]
    return Progress(lowest, tuple(map(Section, ends, frontiers)))
