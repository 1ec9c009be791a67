"""How far a relay is: what it commits beside what it sends, a few numbers however much waits.

    offsets  0 ............... lowest ............ scanned ...
             all over          some wait           nobody has looked yet

    of what was scanned, over is what is due up to the frontier: entries are (due, offset)

Records leave in the order of their entries, so one frontier says of every scanned record whether
it has left. A record that is scanned later and due before the frontier leaves with the step that
scans it. Only when the wall clock was set back may a new record be due before the frontier and yet
not now: then the offsets from there on get a frontier of their own (`begin_section`), until it has
caught up with the one before.

When a record is due is found out twice: when it is scanned, and when it is looked for again. Both
times the same has to come out, so what was in force when it was scanned is kept beside the
frontiers, as long as something may wait under it (`under`); a rule that is altered counts for what
is scanned from there on.

Everything here is about one target, by its id: another one begins at the log's start.
"""

import json
from typing import Any, Final, NamedTuple

from kafkapy.relays.rule import AT_ONCE, Timing

_OFFSET_BITS: Final = 64
_OFFSET_MASK: Final = (1 << _OFFSET_BITS) - 1
#: Before every entry.
NOTHING: Final = -1
_FORMAT: Final = "2"
# Clocks that are set back more often than that before records catch up let some go early.
MOST_SECTIONS: Final = 32
# Of one timing as text, and of all that are kept: offset.metadata.max.bytes are 4096, and the
# sections need up to 1,900 of them.
MOST_TIMING_TEXT: Final = 900
_MOST_TIMINGS_TEXT: Final = 1_900
_OFFSET_TEXT: Final = 24


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


class Ruled(NamedTuple):
    """In force when the offsets from `begin` on were scanned, up to where the next one begins."""

    begin: int
    timing: Timing


class Progress(NamedTuple):
    """`sections`: the last ends at `scanned`; their frontiers go down. `ruled`: in their order,
    the last one for what comes. `target`: the id of the topic that all this is about. `first`:
    nothing before it was ever looked at for that. `others_from`: what is before it went to a
    topic beside the target already (kafkapy.relay.otherwise, dead letters), if it was to go."""

    lowest: int
    sections: tuple[Section, ...]
    ruled: tuple[Ruled, ...] = ()
    target: str = ""
    first: int = 0
    others_from: int = 0

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

    def under(self, timing: Timing) -> "Progress | None":
        """What is scanned from here on is due by that. None if too much would have to be kept:
        something that waits under another one has to leave first."""
        ruled = [one for one in self.ruled if one.begin < self.scanned]
        if not ruled or ruled[-1].timing != timing:
            ruled.append(Ruled(self.scanned, timing))
        size = sum(len(text_of(one.timing)) + _OFFSET_TEXT for one in ruled)
        if len(ruled) > 1 and size > _MOST_TIMINGS_TEXT:
            return None
        return self._replace(ruled=tuple(ruled))

    def reach(self, lowest: int) -> "Progress":
        """Nothing before that waits."""
        ruled = self.ruled
        while len(ruled) > 1 and ruled[1].begin <= lowest:
            ruled = ruled[1:]
        return self._replace(lowest=lowest, ruled=ruled)

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
        if len(self.sections) == 1:  # as ever, where no clock was set back
            ((end, frontier),) = self.sections
            return self if entry <= frontier else self._replace(sections=(Section(end, entry),))
        sections: list[Section] = []
        for section in reversed(self.sections):
            raised = section._replace(frontier=max(section.frontier, entry))
            if not sections or sections[-1].frontier < raised.frontier:
                sections.append(raised)
        return self._replace(sections=tuple(reversed(sections)))

    def to_text(self) -> str:
        ruled = [(one.begin, *one.timing) for one in self.ruled]
        rest = (self.target, self.first, self.others_from)
        told = json.dumps((self.lowest, self.sections, ruled, *rest), **_SHORT)
        return f"{_FORMAT} {told}"


_SHORT: Final[dict[str, Any]] = {"separators": (",", ":"), "ensure_ascii": False}


def text_of(timing: Timing) -> str:
    return json.dumps(timing, **_SHORT)


def start_at(offset: int, target: str = "") -> Progress:
    return Progress(offset, (Section(offset, NOTHING),), target=target, first=offset)


def from_text(text: str) -> Progress | None:
    """None if somebody else wrote it."""
    version, _, told = text.partition(" ")
    if version != _FORMAT:
        return None
    try:
        lowest, sections, ruled, target, first, others_from = json.loads(told)
        return Progress(
            int(lowest),
            tuple(Section(int(end), int(frontier)) for end, frontier in sections),
            tuple(
                Ruled(int(begin), Timing(int(delay), tuple(map(int, retries)), str(where)))
                for begin, delay, retries, where in ruled
            ),
            str(target),
            int(first),
            int(others_from),
        )
    except (ValueError, TypeError):
        return None
