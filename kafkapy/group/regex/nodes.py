"""What a regular expression is made of, after parsing."""

from kafkapy.core.data import dataclass

# Topic names are made of these (and no others); a class of characters is a set of them.
ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
WORD = frozenset(char for char in ALPHABET if char.isalnum() or char == "_")
DIGIT = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of these."""

    chars: frozenset[str]


@dataclass(frozen=True, slots=True)
class Assertion:
    """Takes no character: "^" start, "$" end, "b" at a word's edge, "B" not at one."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """At least `least` times, at most `most` (None: any number)."""

    node: "Node"
    least: int
    most: int | None


Node = Chars | Assertion | Sequence | Choice | Repeat
