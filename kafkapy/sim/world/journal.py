"""The Journal seam, and the trace of a run: what happened, as one hash and the last lines.

Two runs of one seed have the same hash; where they part, the last lines say. Everything
that crosses a seam goes in: journal lines, changes of the disk, requests and answers.
"""

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from kafkapy.core.seams import Clock

_LAST_LINES: Final = 400


class Notes(Protocol):
    def note(self, what: str, *facts: object, data: bytes = b"") -> None: ...


class Trace:
    """A hash over all lines, and the last of them as text."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        # Hears every line: who or what, and the rest.
        self.on_line: Callable[[str, str], None] | None = None
        self.last: deque[str] = deque(maxlen=_LAST_LINES)
        self._clock = clock
        self._hash = blake2b(digest_size=16)

    def note(self, what: str, *facts: object, data: bytes = b"") -> None:
        """`data` is hashed and not shown."""
        self.count += 1
        told = " ".join(map(str, facts))
        line = f"{self._clock.now()} {what} {told}"
        self._hash.update(line.encode())
        if data:
            self._hash.update(data)
        self.last.append(line)
        if self.on_line is not None:
            self.on_line(what, told)

    def of(self, who: str) -> "NotesOf":
        return NotesOf(self, who)

    def digest(self) -> str:
        return self._hash.hexdigest()


class NotesOf:
    """What one of several does, in the trace that they share."""

    def __init__(self, trace: Trace, who: str) -> None:
        self._trace = trace
        self._who = who

    def note(self, what: str, *facts: object, data: bytes = b"") -> None:
        self._trace.note(self._who, what, *facts, data=data)


class Line(NamedTuple):
    level: str
    event: str
    facts: dict[str, object]

    def __str__(self) -> str:
        told = " ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.level} {self.event} {told}".rstrip()


class RecordingJournal:
    """Keeps every line of this life of the node; `who` says whose they are in the trace."""

    def __init__(self, trace: Trace, who: str = "journal") -> None:
        self.lines: list[Line] = []
        self.on_line: Callable[[Line], None] | None = None
        self._trace = trace
        self._who = who

    def info(self, event: str, **facts: object) -> None:
        self._add(Line("info", event, facts))

    def warning(self, event: str, **facts: object) -> None:
        self._add(Line("warning", event, facts))

    def error(self, event: str, **facts: object) -> None:
        self._add(Line("error", event, facts))

    def said(self, event: str) -> list[Line]:
        return [line for line in self.lines if line.event == event]

    def _add(self, line: Line) -> None:
        self.lines.append(line)
        self._trace.note(self._who, line)
        if self.on_line is not None:
            self.on_line(line)
