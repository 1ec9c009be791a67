"""What a value is, and what the operators make of two of them.

    null          not there, of no use: the result of everything that makes no sense
    true, false
    a number      an integer of 64 bits, else a double; what is neither is null
    a text        at most MOST_CHARACTERS where it is made here
    an array, an object   as JSON has them

Values of different kinds are not equal, and neither is less than the other.
"""

import json
import re
from math import isfinite
from typing import Any, Final

#: Any of None, bool, int, float, str, list[Value], dict[str, Value].
Value = Any

_LEAST, _MOST = -(2**63), 2**63 - 1
#: Of a text that an expression makes. What it reads may be longer.
MOST_CHARACTERS: Final = 2**20
#: Of an array or object that is written as text.
_MOST_LEVELS: Final = 100
_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?")


def within_range(number: int | float) -> int | float | None:
    """As an integer of 64 bits if it is a small enough one, as a finite double, or null."""
    if isinstance(number, int):
        if _LEAST <= number <= _MOST:
            return number
        try:
            return float(number)
        except OverflowError:
            return None
    return number if isfinite(number) else None


def is_number(value: Value) -> bool:
    """True and false are Python's integers, too."""
    kind = type(value)
    return kind is int or kind is float


# --- comparing ---


def are_equal(left: Value, right: Value) -> bool:
    try:
        if left != right:  # at C's speed: what is equal here is equal there
            return False
        return isinstance(left, str) or left is None or _have_equal_kinds(left, right)
    except RecursionError:
        return _have_equal_kinds(left, right)


def _have_equal_kinds(left: Value, right: Value) -> bool:
    """Python's True is equal to 1. Also of what is so deep that Python cannot compare it."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if one is other:
            continue
        if is_number(one):
            if not is_number(other) or one != other:
                return False
        elif type(one) is not type(other):
            return False
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            waiting += [
                (a, b)
                for a, b in zip(one, other, strict=True)
                if type(a) is not type(b) or _is_many(a) or a != b
            ]
        elif isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            waiting += [(one[name], other[name]) for name in one]
        elif one != other:
            return False
    return True


def _is_many(value: Value) -> bool:
    return type(value) is list or type(value) is dict


def is_less(left: Value, right: Value) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and left < right
    return is_number(left) and is_number(right) and bool(left < right)


def is_at_most(left: Value, right: Value) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and left <= right
    return is_number(left) and is_number(right) and bool(left <= right)


def is_in(value: Value, container: Value) -> bool:
    """An element of an array, a name of an object."""
    if isinstance(container, dict):
        return isinstance(value, str) and value in container
    if not isinstance(container, list):
        return False
    if type(value) is bool:
        return any(one is value for one in container)
    if is_number(value):
        return any(one == value and type(one) is not bool for one in container)
    if _is_many(value):
        return any(are_equal(value, one) for one in container)
    return value in container


# --- arithmetic ---


def add(left: Value, right: Value) -> Value:
    if isinstance(left, str):
        if not isinstance(right, str) or len(left) + len(right) > MOST_CHARACTERS:
            return None
        return left + right
    return within_range(left + right) if is_number(left) and is_number(right) else None


def subtract(left: Value, right: Value) -> Value:
    return within_range(left - right) if is_number(left) and is_number(right) else None


def multiply(left: Value, right: Value) -> Value:
    return within_range(left * right) if is_number(left) and is_number(right) else None


def divide(left: Value, right: Value) -> Value:
    if not is_number(left) or not is_number(right) or not right:
        return None
    try:
        return within_range(left / right)
    except OverflowError:
        return None


def remainder(left: Value, right: Value) -> Value:
    if not is_number(left) or not is_number(right) or not right:
        return None
    return within_range(left % right)


def minus(value: Value) -> Value:
    return within_range(-value) if is_number(value) else None


# --- texts ---


def json_of(text: str) -> Value:
    """What a text says as JSON; null if it says nothing. The last of equal names counts."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def member(value: Value, name: str, index: int) -> Value:
    """`index` is what `name` is as one, or -1."""
    found: Value
    if isinstance(value, dict):
        found = value.get(name)
    elif isinstance(value, list) and 0 <= index < len(value):
        found = value[index]
    else:
        return None
    return within_range(found) if is_number(found) else found


def number_of(value: Value) -> Value:
    """What a text says as a number, in JSON's way of writing it."""
    if is_number(value):
        return value
    if not isinstance(value, str) or _NUMBER.fullmatch(value) is None:
        return None
    is_whole = value.lstrip("-").isdigit()
    return within_range(int(value) if is_whole else float(value))


def text_of(value: Value) -> str | None:
    """A text as it is, anything else as JSON, null as null."""
    if value is None or isinstance(value, str):
        return value
    if not _can_be_written(value):
        return None
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written if len(written) <= MOST_CHARACTERS else None


def bytes_of(value: Value) -> bytes | None:
    """As a record carries it."""
    text = text_of(value)
    # JSON's \ud800 is a text that UTF-8 has no bytes for.
    return None if text is None else text.encode(errors="replace")


def _can_be_written(value: Value) -> bool:
    """Neither too deep nor too long, as far as can be told without writing it."""
    left = MOST_CHARACTERS
    level = [value]
    for _ in range(_MOST_LEVELS):
        left -= len(level)
        below: list[Value] = []
        for one in level:
            kind = type(one)
            if kind is str:
                left -= len(one)
            elif kind is list:
                below += one
            elif kind is dict:
                below += one.values()
                left -= sum(map(len, one))
            elif is_number(one) and within_range(one) != one:
                return False
        if not below or left - len(below) < 0:
            return left >= 0 and not below
        level = below
    return False
