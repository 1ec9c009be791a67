"""No expression takes long, whatever it is asked about."""

import json
from typing import Any

import pytest

from kafkapy.expressions import InvalidExpression
from kafkapy.expressions import functions as all_functions
from kafkapy.expressions.compiled import Expression
from kafkapy.expressions.fields import MOST_WORK, Fields
from kafkapy.protocol.records import Record

MEGABYTE = 1_000_000
TEXT = b"a" * MEGABYTE
NUMBERS = b"[" + b"1," * (MEGABYTE // 2) + b"1]"
EMPTY = b"[" + b"[]," * (MEGABYTE // 3) + b"[]]"
IN_A_TEXT = json.dumps({"x": NUMBERS.decode()}).encode()


def of(member: bytes) -> bytes:
    return b'{"x":' + member + b',"y":' + member + b"}"


# Each is asked as often as an expression can be long.
ADVERSARIES = [
    ("upper(value) is 'a'", TEXT),
    ("contains(value, 'ab')", TEXT),
    ("value like '*ab*'", TEXT),
    ("(value + 'x') is 'a'", TEXT),
    ("length(text(object('a', value.x))) is 1", of(NUMBERS)),
    ("text(value.x) is 'a'", of(NUMBERS)),
    ("true in value.x", of(NUMBERS)),
    ("2 in (value.x, value.y)", of(NUMBERS)),
    ("not (value.x is value.y)", of(NUMBERS)),
    ("array(value.x, value.y) is array(value.y, value.y, 1)", of(NUMBERS)),
    ("value.x is value.y and false", of(EMPTY)),
    ("value.x in value.y", of(EMPTY)),
    ("value.x.0 is 2", IN_A_TEXT),
    ("headers.h.0.b is 2", b""),
]


def as_often_as_it_goes(text: str) -> Expression:
    for often in range(300, 0, -10):
        try:
            return Expression(" or ".join([text] * often))
        except InvalidExpression:
            continue
    raise AssertionError(text)


def record(value: bytes) -> Record:
    return Record(0, 0, None, value, (("h", NUMBERS),) if not value else ())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Fields]:
    """What evaluations looked at."""
    found: list[Fields] = []
    made = Fields.__init__

    def noted(self: Fields, *arguments: Any) -> None:
        made(self, *arguments)
        found.append(self)

    monkeypatch.setattr(Fields, "__init__", noted)
    return found


@pytest.mark.parametrize(("text", "value"), ADVERSARIES)
def test_what_an_evaluation_looks_at_is_bounded(
    text: str, value: bytes, seen: list[Fields]
) -> None:
    """All that it is allowed, and what one operation on all of a record is beyond that."""
    assert as_often_as_it_goes(text).holds(record(value), 0, "t") in (True, False)
    # Two arrays that are compared count four times the record's length each.
    one_operation = 3 * 4 * (len(value) or len(NUMBERS))
    assert MEGABYTE < seen[0].work <= MOST_WORK + one_operation


def test_what_goes_beyond_the_bound_is_null_and_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    real = all_functions.FUNCTIONS["text"]

    def counted(value: Any) -> Any:
        nonlocal calls
        calls += 1
        return real.of(value)

    monkeypatch.setitem(all_functions.FUNCTIONS, "text", all_functions.Function(counted, 1, 1))
    expression = as_often_as_it_goes("text(value.x) is 'a'")
    assert not expression.holds(record(of(NUMBERS)), 0, "t")
    assert 1 <= calls <= 2
    assert not Expression("text(value.x) is null").holds(record(of(b"1")), 0, "t")
    last = Expression("text(value.x) is 'a' or text(value.x) is 'a' or lower('A') is null")
    assert last.holds(record(of(NUMBERS)), 0, "t")


@pytest.mark.parametrize(
    "text", ["contains(value, 'x')", "length(text(value.x)) is 1", "2 in value.x"]
)
def test_a_record_of_4_kb_is_never_beyond_it(text: str, seen: list[Fields]) -> None:
    """Asked by the longest expression there is."""
    value = of(b"[" + b"1," * 1_000 + b"1]")
    as_often_as_it_goes(text).holds(record(value), 0, "t")
    assert 0 < seen[0].work < MOST_WORK


def test_what_it_took_is_told_to_who_gives_way_to_others() -> None:
    expression = as_often_as_it_goes("contains(value, 'ab')")
    expression.holds(record(b"a"), 0, "t")
    little = expression.cost_us
    expression.holds(record(TEXT), 0, "t")
    assert expression.cost_us >= 50_000 > 100 > little
