"""No expression takes long, whatever it is asked about, and what it took is told."""

import json
from typing import Any

import pytest

from kafkapy.expressions import InvalidExpression, work
from kafkapy.expressions import functions as all_functions
from kafkapy.expressions.compiled import Expression
from kafkapy.expressions.fields import Fields
from kafkapy.expressions.functions import Function
from kafkapy.protocol.batches.records import Headers, Record

MEGABYTE = 1_000_000
HALF = MEGABYTE // 2
TEXT = b"a" * MEGABYTE
NUMBERS = b"[" + b"1," * HALF + b"1]"
EMPTY = b"[" + b"[]," * (MEGABYTE // 6) + b"[]]"
DEEP = b"[" + (b"[" * 80 + b"]" * 80 + b",") * (HALF // 161) + b"1]"
DOUBLES = b"[" + b"1.2345678901234567e-300," * (HALF // 24) + b"1]"
IN_A_TEXT = json.dumps({"x": NUMBERS.decode()}).encode()
MANY_HEADERS = (("", b""),) * 400_000
OTHER_HEADERS = tuple((f"{number:x}", b"") for number in range(140_000))


def of(member: bytes) -> bytes:
    return b'{"x":' + member + b',"y":' + member + b"}"


def record(value: bytes | None = None, key: bytes | None = None, headers: Headers = ()) -> Record:
    return Record(0, 0, key, value, headers)


def found_late(size: int, places: int) -> Record:
    """Whoever searches naively compares all of the key at each of so many places."""
    return record(b"a" * size, b"a" * (size - places - 2) + b"ba")


# Each is asked as often as an expression can be long.
ADVERSARIES = {
    "a header of no UTF-8": ("headers.a is 'b'", record(headers=(("a", b"\xff" * MEGABYTE),))),
    "many headers": ("headers.a is 'b'", record(headers=MANY_HEADERS)),
    "in many headers": ("'a' in headers", record(headers=MANY_HEADERS)),
    "headers of other names": ("'a' in headers", record(headers=OTHER_HEADERS)),
    "headers as text": ("text(headers) is 'a'", record(headers=OTHER_HEADERS)),
    "headers compared": ("headers is object('a', headers)", record(headers=OTHER_HEADERS)),
    "a header's JSON": ("headers.h.0.b is 2", record(headers=(("h", NUMBERS),))),
    "texts compared": ("value is key", record(TEXT[2:] + b"c", TEXT[2:] + b"b")),
    "a text in a list": ("value in (key)", record(TEXT[2:] + b"c", TEXT[2:] + b"b")),
    "wide texts compared": ("value < key", record(TEXT + "€".encode(), TEXT)),
    "capitals": ("upper(value) is 'a'", record(TEXT)),
    "foreign capitals": ("upper(value) is 'a'", record("\u0390".encode() * HALF)),
    "foreign small letters": ("lower(value) is 'a'", record("\u0130".encode() * HALF)),
    "searching": ("contains(value, 'ab')", record(TEXT)),
    "searching at the last places": ("contains(value, key)", found_late(HALF, 1_500)),
    "searching a short text": ("contains(value, key)", record(b"a" * 29_999, b"a" * 97 + b"ba")),
    "like": ("value like '*ab*'", record(TEXT)),
    "longer like": ("value like '*" + "a" * 900 + "ba*'", record(b"a" * 2_499)),
    "joining": ("(value + 'x') is 'a'", record(TEXT)),
    "joining wide letters": ("(value + '\U0001f600') is 'a'", record(TEXT)),
    "long numbers": ("value.0 is 1", record(b"[" + (b"9" * 4299 + b",") * 230 + b"1]")),
    "a number of a megabyte": ("value.0 is 1", record(b"[0." + b"1" * MEGABYTE + b"]")),
    "numbers by name": ("number(value) is 1", record(b"1" * MEGABYTE)),
    "JSON": ("value.x is 1", record(of(EMPTY))),
    "deep JSON": ("value.x is 1", record(of(DEEP))),
    "JSON without an end": ("value.0 is 1", record(b"[" * MEGABYTE)),
    "JSON in a text": ("value.x.0 is 2", record(IN_A_TEXT)),
    "a number in an array": ("2 in value.x", record(of(NUMBERS))),
    "true in an array": ("true in value.x", record(of(NUMBERS))),
    "an array in an array": ("value.x in value.y", record(of(EMPTY))),
    "numbers compared": ("2 in (value.x, value.y)", record(of(NUMBERS))),
    "arrays compared": ("not (value.x is value.y)", record(of(EMPTY))),
    "deep arrays compared": ("not (value.x is value.y)", record(of(DEEP[:100_002] + b"]" * 80))),
    "deepest arrays compared": (
        "not (value.x is value.y)",
        record(of(b"[" * 400 + b"]" * 400)),
    ),
    "arrays made": (
        "array(value.x, value.y) is array(value.y, value.y, 1)",
        record(of(NUMBERS)),
    ),
    "numbers written": ("text(value.x) is 'a'", record(of(NUMBERS))),
    "doubles written": ("text(value.x) is 'a'", record(of(DOUBLES))),
    "written again": ("length(text(object('a', value.x))) is 1", record(of(NUMBERS))),
}


def as_often_as_it_goes(text: str) -> Expression:
    for often in range(300, 0, -1):
        try:
            return Expression(" or ".join([text] * often))
        except InvalidExpression:
            continue
    raise AssertionError(text)


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


@pytest.mark.parametrize("name", ADVERSARIES)
def test_what_an_evaluation_takes_is_bounded_and_told(name: str, seen: list[Fields]) -> None:
    """All that it is allowed, and decoding each byte once."""
    text, one = ADVERSARIES[name]
    expression = as_often_as_it_goes(text)
    assert expression.holds(one, 0, "t") in (True, False)
    decoding = MEGABYTE + 2 * work.A_HEADER * len(one.headers)
    assert 0 < seen[0].work <= work.MOST + decoding


class Decoded(bytes):
    """Counts how often it is."""

    times = 0

    def decode(self, *arguments: Any, **more: Any) -> str:
        type(self).times += 1
        return super().decode(*arguments, **more)


@pytest.mark.parametrize("text", ["headers.a is 'b'", "key is 'b'", "value is 'b'", "value.a is 1"])
def test_each_part_of_a_record_is_decoded_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoded, "times", 0)
    data = Decoded(b"\xff")
    as_often_as_it_goes(text).holds(record(data, data, (("a", data),)), 0, "t")
    assert Decoded.times == 1


def test_headers_that_nobody_asks_for_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoded, "times", 0)
    headers = (("a", Decoded(b"no")), ("b", Decoded(b"no")), ("a", Decoded(b"yes")))
    assert Expression("headers.a is 'yes'").holds(record(headers=headers), 0, "t")
    assert Decoded.times == 1


def test_what_goes_beyond_the_bound_is_null_and_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    real = all_functions.FUNCTIONS["text"]

    def counted(value: Any) -> Any:
        nonlocal calls
        calls += 1
        return real.of(value)

    monkeypatch.setitem(all_functions.FUNCTIONS, "text", Function(counted, 1, 1, real.may))
    some = record(of(b"[" + b"1," * 30_000 + b"1]"))
    assert not as_often_as_it_goes("text(value.x) is 'a'").holds(some, 0, "t")
    assert 1 <= calls <= work.MOST // (30_000 * work.WRITTEN_MEMBER)
    assert not Expression("text(value.x) is null").holds(record(of(b"1")), 0, "t")
    many = record(of(NUMBERS))
    assert Expression("text(value.x) is null").holds(many, 0, "t")
    assert Expression("text(value.x) is 'a' or lower('A') is null").holds(many, 0, "t")


def test_a_megabyte_of_json_is_read_and_looked_through() -> None:
    """What a record may be by default, without any bound in its way."""
    value = json.dumps({"tags": ["some tag"] * 60_000, "text": "a" * 200_000}).encode()
    assert len(value) > 900_000
    text = (
        "value.tags.3 is 'some tag' and not ('other' in value.tags) and length(value.tags) is 60000"
        " and not contains(value.text, 'b') and upper(value.text) like 'A*A'"
        " and not contains(value, 'q')"
    )
    assert Expression(text).holds(record(value), 0, "t")


@pytest.mark.parametrize(
    "text", ["contains(value, 'x')", "length(text(value.x)) is 1", "2 in value.x", "value.x.0 is 1"]
)
def test_an_operation_on_a_record_of_4_kb_takes_little_of_it(text: str, seen: list[Fields]) -> None:
    for value in (b'{"x":[' + b"1," * 2_040 + b"1]}", b'{"x":[' + b"0.1," * 1_020 + b"1]}"):
        Expression(text).holds(record(value), 0, "t")
    assert all(0 < one.work < work.MOST // 40 for one in seen)


def test_texts_of_any_size_are_not_searched_without_end() -> None:
    """Batches unpack to hundreds of megabytes."""
    huge = record(b"a" * 40 * MEGABYTE)
    assert Expression("value.x is null and upper(value) is null").holds(huge, 0, "t")
    assert Expression("not contains(value, 'b')").holds(huge, 0, "t")


def test_what_it_took_is_told_to_who_gives_way_to_others() -> None:
    expression = as_often_as_it_goes("contains(value, 'ab')")
    expression.holds(record(b"a"), 0, "t")
    little = expression.cost_us
    expression.holds(record(TEXT), 0, "t")
    assert expression.cost_us >= 50_000 > 500 > little


def test_headers_are_walked_before_anybody_asks_about_them() -> None:
    expression = Expression("offset is 1")
    expression.holds(record(headers=MANY_HEADERS), 0, "t")
    assert expression.cost_us >= len(MANY_HEADERS)
