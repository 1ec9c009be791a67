"""Tables for people, JSON for programs. Ids print in both as Kafka prints them."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from kafkapy.kraft.uuids import uuid_to_text


def show(rows: Sequence[dict[str, Any]], *, as_json: bool, empty: str = "nothing") -> None:
    """One JSON object a line, or a table with the first row's names as its head."""
    if as_json:
        for row in rows:
            print(json.dumps(row, default=_text))
        return
    if not rows:
        print(empty)
        return
    heads = list(rows[0])
    cells = [[_cell(row[head]) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[at]) for line in cells)) for at, head in enumerate(heads)]
    print_line(zip([head.upper() for head in heads], widths, strict=True))
    for line in cells:
        print_line(zip(line, widths, strict=True))


def print_line(columns: Iterable[tuple[str, int]]) -> None:
    print("  ".join(text.ljust(width) for text, width in columns).rstrip())


def tell(line: str) -> None:
    """To who still listens; whoever serves goes on all the same."""
    try:
        print(line, flush=True)
    except OSError:
        discard_output()


def discard_output() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return "-" if value is None else _text(value)


def _text(value: Any) -> str:
    return uuid_to_text(value) if isinstance(value, UUID) else str(value)


class Progress:
    """A counter on the terminal, rewritten in place; silent where nobody looks."""

    def __init__(self, what: str, every: int = 10_000) -> None:
        self.count = 0
        self._what = what
        self._every = every
        self._is_shown = sys.stderr.isatty()

    def step(self, by: int = 1) -> None:
        before, self.count = self.count, self.count + by
        if self._is_shown and before // self._every != self.count // self._every:
            sys.stderr.write(f"\r{self.count:,} {self._what}")
            sys.stderr.flush()

    def done(self) -> None:
        if self._is_shown and self.count >= self._every:
            sys.stderr.write(f"\r{self.count:,} {self._what}\n")
