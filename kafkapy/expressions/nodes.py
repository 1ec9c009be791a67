"""What an expression is made of, after parsing. `position` is the character it begins at."""

from typing import Final

from kafkapy.core.data import dataclass

#: What an expression may look at of a record.
ROOTS: Final = ("headers", "key", "value", "timestamp", "offset", "partition", "topic")


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | float | bool | None
    position: int


@dataclass(frozen=True, slots=True)
class Root:
    """One of ROOTS."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`, `of.0`: a member of an object, or of an array by its index."""

    of: "Node"
    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Unary:
    """`not`, or `-`."""

    operator: str
    operand: "Node"
    position: int


@dataclass(frozen=True, slots=True)
class Binary:
    """`and`, `or`, comparisons, `like`, `in` a value, arithmetic."""

    operator: str
    left: "Node"
    right: "Node"
    position: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """`left in (a, b, c)`"""

    left: "Node"
    options: "tuple[Node, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: "tuple[Node, ...]"
    position: int


Node = Literal | Root | Member | Unary | Binary | OneOf | Call
