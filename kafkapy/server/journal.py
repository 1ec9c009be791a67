"""The Journal: one line an event, for a terminal or as JSON.

    12:04:31.337 info   serving                 address=127.0.0.1:9092 node_id=1
    {"time": "2026-11-18T12:04:31.337Z", "level": "info", "event": "serving", ...}

Two dozen events a day, not one a request; so it is written at once and by hand (the
logging libraries cost a third of our start-up time).
"""

import json
import sys
import time
from collections import deque
from datetime import UTC, datetime
from typing import Final, NamedTuple, TextIO

from kafkapy.core.seams import Journal

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# Of one fact: of a trace the end, where it says what happened.
MOST_KEPT: Final = 4000
# Of one fact that is a text: names come from outside. Of a trace both ends.
MOST_SAID: Final = 16_000
_EVENT_COLUMNS: Final = 28


class Lines:
    """Writes events at or above `level` to `out`.

    The disk that is full may be the one with this file, and whoever read the pipe may be gone:
    that keeps nobody from what he was about to do. What could not be said then is counted, and
    told once there is room."""

    def __init__(
        self, out: TextIO | None = None, *, as_json: bool = False, level: str = "info"
    ) -> None:
        self._out = sys.stderr if out is None else out
        self._write = self._write_json if as_json else self._write_text
        self._least = LEVELS[level]
        self._unsaid = 0

    def info(self, event: str, **facts: object) -> None:
        self._say("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._say("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._say("error", event, facts)

    def _say(self, level: str, event: str, facts: dict[str, object]) -> None:
        if LEVELS[level] < self._least:
            return
        try:
            if self._unsaid:
                self._write("warning", "log could not be written", {"events": self._unsaid})
                self._out.flush()
                self._unsaid = 0
            self._write(level, event, {name: _cut(value) for name, value in facts.items()})
            self._out.flush()
        except OSError:
            self._unsaid += 1

    def _write_json(self, level: str, event: str, facts: dict[str, object]) -> None:
        moment = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        line = {"time": moment.replace("+00:00", "Z"), "level": level, "event": event, **facts}
        self._out.write(json.dumps(line, default=str) + "\n")

    def _write_text(self, level: str, event: str, facts: dict[str, object]) -> None:
        moment = datetime.fromtimestamp(time.time()).isoformat(timespec="milliseconds")[11:]
        told = " ".join(f"{name}={_shown(value)}" for name, value in facts.items())
        self._out.write(f"{moment} {level:7} {event:{_EVENT_COLUMNS}} {told}".rstrip() + "\n")


class Noted(NamedTuple):
    """An event as it is remembered; when, by the wall, in ms."""

    wall_ms: int
    level: str
    event: str
    facts: dict[str, str]


class Remembering:
    """Says everything to another journal, and keeps the last events for who asks on this node.

    Any thread may say something, or copy `recent`."""

    def __init__(self, journal: Journal, most: int = 1000) -> None:
        self._journal = journal
        self.recent: deque[Noted] = deque(maxlen=most)

    def info(self, event: str, **facts: object) -> None:
        self._keep("info", event, facts)
        self._journal.info(event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        self._keep("warning", event, facts)
        self._journal.warning(event, **facts)

    def error(self, event: str, **facts: object) -> None:
        self._keep("error", event, facts)
        self._journal.error(event, **facts)

    def _keep(self, level: str, event: str, facts: dict[str, object]) -> None:
        # As text, and not all of it: what a fact was is not held on to.
        told = {name: str(value)[-MOST_KEPT:] for name, value in facts.items()}
        self.recent.append(Noted(time.time_ns() // 1_000_000, level, event, told))


def _cut(value: object) -> object:
    if not isinstance(value, str) or len(value) <= MOST_SAID:
        return value
    half = MOST_SAID // 2
    return f"{value[:half]}...{value[-half:]}"


def _shown(value: object) -> str:
    """What others call themselves does nothing to a terminal, nor to other lines."""
    text = str(value)
    return text if text.isprintable() and " " not in text and text else json.dumps(text)
