"""Nodes -> a program for Thompson's machine.

    Take(chars, next)     one character out of these, then on
    Fork(first, second)   both ways
    Assert(kind, next)    on if the place is right
    Match                 here a match may end

Counted repetitions are written out, which is why the size of a program is bounded.
"""

from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.group.regex.nodes import Assertion, Chars, Choice, Node, Repeat, Sequence
from kafkapy.group.regex.parse import InvalidRegex

MAX_INSTRUCTIONS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Take:
    chars: frozenset[str]
    then: int


@dataclass(frozen=True, slots=True)
class Fork:
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Assert:
    kind: str
    then: int


@dataclass(frozen=True, slots=True)
class Match:
    pass


Instruction = Take | Fork | Assert | Match


@dataclass(frozen=True, slots=True)
class Program:
    instructions: tuple[Instruction, ...]
    start: int


def assemble(node: Node) -> Program:
    """Built from the end: every instruction knows what comes after it."""
    assembler = _Assembler()
    match = assembler.add(Match())
    start = assembler.emit(node, match)
    return Program(tuple(assembler.instructions), start)


class _Assembler:
    def __init__(self) -> None:
        self.instructions: list[Instruction] = []

    def add(self, instruction: Instruction) -> int:
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise InvalidRegex("the expression is too large")
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def emit(self, node: Node, then: int) -> int:
        match node:
            case Chars(chars):
                return self.add(Take(chars, then))
            case Assertion(kind):
                return self.add(Assert(kind, then))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self.emit(part, then)
                return then
            case Choice(options):
                first = self.emit(options[-1], then)
                for option in reversed(options[:-1]):
                    first = self.add(Fork(self.emit(option, then), first))
                return first
            case Repeat(repeated, least, most):
                return self._repeat(repeated, least, most, then)

    def _repeat(self, node: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = self.add(Fork(then, then))
            self.instructions[loop] = Fork(self.emit(node, loop), then)
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self.add(Fork(self.emit(node, then), end))
        for _ in range(least):
            then = self.emit(node, then)
        return then
