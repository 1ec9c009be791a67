"""RE2 regular expressions, matched in time linear in the text (Thompson's automaton).

    text --parse--> tree --compile--> instructions --matches--> all states at once, per character

Kafka takes patterns from clients (ListTransactions v2, KIP-848 subscriptions) in the syntax
of RE2/J, and means the whole name. Python's own `re` backtracks: `(a+)+b` against thirty
letters would hold the event loop for minutes. Here a pattern of p instructions against n
characters costs p * n at most, and p is bounded.

Not in RE2, and refused here as there: look-around, back references, atomic groups.
Left out of RE2's syntax: Unicode classes by name (\\pL); they are refused too.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.pattern_syntax import (
    MAX_INSTRUCTIONS,
    Alternatives,
    Anchor,
    Characters,
    Node,
    Parser,
    PatternRefused,
    Repeated,
    Sequence,
)

__all__ = ["Pattern", "PatternRefused"]

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

# One instruction: (test, next states). A test is None for a split, a str for an anchor.
_Test = Callable[[str], bool] | str | None
_Instruction = tuple[_Test, tuple[int, ...]]


class Pattern:
    """`Pattern(text)` raises PatternRefused for what RE2/J would not take."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._program: list[_Instruction] = []
        self._effort = 0
        self._accept = self._emit(None, ())
        self._start = self._compile(Parser(text).parse(), self._accept)

    def matches(self, name: str) -> bool:
        """Whether the whole of `name` matches."""
        states = self._closure({self._start}, name, 0)
        for at, character in enumerate(name):
            reached: set[int] = set()
            for state in states:
                test, following = self._program[state]
                if callable(test) and test(character):
                    reached.update(following)
            if not reached:
                return False
            states = self._closure(reached, name, at + 1)
        return self._accept in states

    # Running

    def _closure(self, states: set[int], name: str, at: int) -> set[int]:
        """All states reachable without reading a character."""
        closed = set(states)
        open_states = list(states)
        while open_states:
            test, following = self._program[open_states.pop()]
            if callable(test) or (test is not None and not _holds(test, name, at)):
                continue
            for state in following:
                if state not in closed:
                    closed.add(state)
                    open_states.append(state)
        return closed

    # Compiling, from the end to the start

    def _emit(self, test: _Test, following: tuple[int, ...]) -> int:
        if len(self._program) >= MAX_INSTRUCTIONS:
            raise PatternRefused("expression is too large")
        self._program.append((test, following))
        return len(self._program) - 1

    def _compile(self, node: Node, following: int) -> int:
        self._effort += 1
        if self._effort > MAX_INSTRUCTIONS:  # repeats of nothing emit nothing, but take time
            raise PatternRefused("expression is too large")
        match node:
            case Characters(test):
                return self._emit(test, (following,))
            case Anchor(kind):
                return self._emit(kind, (following,))
            case Sequence(nodes):
                for part in reversed(nodes):
                    following = self._compile(part, following)
                return following
            case Alternatives(nodes):
                return self._emit(None, tuple(self._compile(one, following) for one in nodes))
            case Repeated(inner, least, most):
                return self._repeat(inner, least, most, following)

    def _repeat(self, inner: Node, least: int, most: int | None, following: int) -> int:
        if most is None:
            loop = self._emit(None, ())
            body = self._compile(inner, loop)
            self._program[loop] = (None, (body, following))
            following = loop
        else:
            end = following
            for _ in range(most - least):
                following = self._emit(None, (self._compile(inner, following), end))
        for _ in range(least):
            following = self._compile(inner, following)
        return following


def _holds(anchor: str, name: str, at: int) -> bool:
    match anchor:
        case "^":
            return at == 0
        case "$":
            return at == len(name)
        case "^m":
            return at == 0 or name[at - 1] == "\n"
        case "$m":
            return at == len(name) or name[at] == "\n"
    before = at > 0 and name[at - 1] in _WORD
    after = at < len(name) and name[at] in _WORD
    return (before != after) == (anchor == "\\b")
