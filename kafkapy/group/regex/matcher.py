"""Match whole names with a DFA that is built as it is used.

A state is the set of instructions that may come next, with what assertions need to know
of the character before. A step from a state by a character is worked out once and kept;
when too many states are kept all are dropped, so memory is bounded and time stays linear.

`work` counts what was done, so that whoever matches many names can do it in slices.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from kafkapy.group.regex.nodes import WORD
from kafkapy.group.regex.parse import InvalidRegex, parse
from kafkapy.group.regex.program import Assert, Fork, Match, Program, Take, assemble

MAX_STATES: Final = 1_000
_END: Final = ""


class _State(NamedTuple):
    """`before` is None at the start, else whether the character before is of a word."""

    pending: frozenset[int]
    before: bool | None


class TopicRegex:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.work = 0
        self._program: Program = assemble(parse(pattern))
        self._start = _State(frozenset((self._program.start,)), None)
        self._steps: dict[_State, dict[str, _State]] = {}
        self._accepts: dict[_State, bool] = {}

    def matches(self, name: str) -> bool:
        state = self._start
        steps = self._steps
        self.work += len(name) + 1
        for char in name:
            after = steps.get(state)
            known = None if after is None else after.get(char)
            state = self._step(state, char) if known is None else known
            if not state.pending:
                return False
        accepts = self._accepts.get(state)
        if accepts is None:
            accepts = self._accepts[state] = self._can_end(state)
        return accepts

    def _step(self, state: _State, char: str) -> _State:
        if len(self._steps) >= MAX_STATES:
            self._steps.clear()
            self._accepts.clear()
        pending = frozenset(
            instruction.then
            for instruction in self._reachable(state, char)
            if isinstance(instruction, Take) and char in instruction.chars
        )
        after = _State(pending, char in WORD)
        self._steps.setdefault(state, {})[char] = after
        return after

    def _can_end(self, state: _State) -> bool:
        return any(isinstance(one, Match) for one in self._reachable(state, _END))

    def _reachable(self, state: _State, following: str) -> list[Take | Match]:
        """What can be next without taking a character, at this place."""
        instructions = self._program.instructions
        seen = set(state.pending)
        waiting = list(seen)
        found: list[Take | Match] = []
        while waiting:
            instruction = instructions[waiting.pop()]
            targets: tuple[int, ...]
            match instruction:
                case Take() | Match():
                    found.append(instruction)
                    continue
                case Fork(first, second):
                    targets = (first, second)
                case Assert(kind, then):
                    targets = (then,) if _holds(kind, state.before, following) else ()
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        self.work += len(seen)
        return found


def _holds(kind: str, before: bool | None, following: str) -> bool:
    match kind:
        case "^":
            return before is None
        case "$":
            return following == _END
        case _:
            is_edge = bool(before) != (following in WORD and following != _END)
            return is_edge == (kind == "b")


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> TopicRegex:
    """Kept between uses: what was worked out for one look stands for the next."""
    return TopicRegex(pattern)


__all__ = ["InvalidRegex", "TopicRegex", "compile_regex"]
