"""What an expression says about a record."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.expressions import bytes_of, compile_expression
from kafkapy.expressions.values import MOST_CHARACTERS, are_equal
from kafkapy.protocol.batches.records import Headers, Record

ORDER = {
    "region": "eu",
    "amount": 12.5,
    "paid": True,
    "lines": [{"sku": "a-1", "count": 3}, {"sku": "b-2", "count": 1}],
    "note": None,
    "with space": 1,
    "inner": '{"deep": [1, 2]}',
}
HEADERS: Headers = (
    ("type", b"old"),
    ("type", b"created"),
    ("x-try", b"2"),
    ("none", None),
    ("data", b'{"a": {"b": 5}}'),
)


def said(text: str, value: bytes | None = None, key: bytes | None = b"user-7") -> Any:
    body = json.dumps(ORDER).encode() if value is None else value
    record = Record(41, 1_700_000_000_000, key, body, HEADERS)
    return compile_expression(text).evaluate(record, 3, "orders")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("value.region", "eu"),
        ("value.region is 'eu' and value.amount > 10", True),
        ("value.lines.0.sku", "a-1"),
        ("value.lines.2.sku", None),
        ("value.'with space'", 1),
        ("value.inner.deep.1", 2),
        ("value.note is null and value.nothing is null", True),
        ("value.paid", True),
        ("value.paid = 1", False),
        ("value.lines.1 = object('count', 1, 'sku', 'b-2')", True),
        ("value.lines.0.count in (1, 3)", True),
        ("'eu' in array('us', value.region)", True),
        ("'region' in value.inner", False),
        ("'type' in headers", True),
        ("headers.type", "created"),
        ("headers.'x-try' = 2", False),
        ("number(headers.'x-try') = 2", True),
        ("headers.none", None),
        ("headers.data.a.b", 5),
        ("key like 'user-*'", True),
        ("key like '*er*7'", True),
        ("key like 'user-7*7'", False),
        ("key like 'user'", False),
        ("key like '*'", True),
        ("headers.none like '*'", False),
        ("'a*c' like 'a\\*c' and not 'abc' like 'a\\*c'", True),
        ("offset = 41 and partition = 3 and topic = 'orders'", True),
        ("timestamp >= 1700000000000", True),
        ("7 / 2", 3.5),
        ("7 / 0", None),
        ("7 % 4", 3),
        ("7 % 0", None),
        ("1 + 'a'", None),
        ("'a' + 'b'", "ab"),
        ("true + 1", None),
        ("-value.region", None),
        ("9223372036854775807 + 1", 9223372036854775808.0),
        ("1e308 * 10", None),
        ("'b' > 'a' and not 'b' > 1 and not 1 > null", True),
        ("not value.region", True),
        ("value.region and true", False),
        ("lower('EU') = value.region", True),
        ("length(value.lines)", 2),
        ("length(1)", None),
        ("contains(key, 'ser') and starts_with(key, 'us') and ends_with(key, '-7')", True),
        ("contains(value.nothing, 'a')", False),
        ("number('1_000')", None),
        ("number('-1.5e2')", -150.0),
        ("text(value.lines.0)", '{"sku":"a-1","count":3}'),
        ("text(value.nothing)", None),
        ("coalesce(value.nothing, headers.none, 'x')", "x"),
        ("if(value.paid, 'yes', 'no')", "yes"),
        ("'orders.' + value.region", "orders.eu"),
        ("object('id', key, 2, 3)", {"id": "user-7"}),
    ],
)
def test_expressions_say(text: str, result: object) -> None:
    found = said(text)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"no json",
        b"\xff\xfe",
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"a": NaN}',
        b"1e999",
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 400 + b"}",
        b"\xef\xbb\xbf{}",
        b'"\\ud800"',
        b'{"a": "\\ud800"}',
    ],
)
@pytest.mark.parametrize("text", ["value.a", "value.a + 1", "text(value.a)", "value.a = value.a"])
def test_no_value_makes_an_expression_raise(text: str, value: bytes) -> None:
    """Deep, endless, broken, out of every range."""
    bytes_of(said(text, value))


def test_a_tombstone_is_null_and_bytes_of_another_kind_are_not() -> None:
    record = Record(0, 0, b"k", None)
    assert compile_expression("value is null").holds(record, 0, "t")
    assert said("value is null", b"\xff\x00") is False
    assert said("key is null", key=None) is True


def test_texts_that_are_made_stay_bounded() -> None:
    half = b"x" * (MOST_CHARACTERS // 2 + 1)
    assert said("value + 'y'", half) is not None
    assert said("value + value", half) is None
    assert said("text(array(value, value))", half) is None
    deep = b"[" * 150 + b"]" * 150
    assert said("text(array(value.0))", deep) is None


def test_a_pattern_of_many_stars_takes_the_time_of_its_text() -> None:
    """What makes a matcher that goes back take years."""
    assert said("value like '" + "*a" * 500 + "*b'", b"a" * 300_000) is False


def test_a_result_as_a_record_carries_it() -> None:
    assert bytes_of(None) is None
    assert bytes_of("grün") == "grün".encode()
    assert bytes_of("\ud800") == b"?"
    assert bytes_of({"a": [1, 2.5, True, None]}) == b'{"a":[1,2.5,true,null]}'


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_equal_is_what_json_calls_equal(one: Any, other: Any) -> None:
    """Python finds True equal to 1, and 0.0 equal to False."""

    def kinded(value: Any) -> Any:
        if isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, list):
            return [kinded(part) for part in value]
        if isinstance(value, dict):
            return {name: kinded(part) for name, part in value.items()}
        return value

    assert are_equal(one, other) == (kinded(one) == kinded(other))
    assert are_equal(one, one)


SIMPLE = "value key headers timestamp offset value.a value.a.0 headers.h null true 1 2.5 'a'"
OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "=", "<", ">=", "and", "or", "in"])
EXPRESSIONS = st.recursive(
    st.sampled_from(SIMPLE.split()),
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "/", "%", "=", "<", ">=", "and", "or", "in"]),
            inner,
        ).map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"),
        inner.map(lambda one: f"not ({one})"),
        inner.map(lambda one: f"-({one})"),
        inner.map(lambda one: f"text({one})"),
        inner.map(lambda one: f"number({one})"),
        inner.map(lambda one: f"length({one})"),
        inner.map(lambda one: f"({one}) like '*a'"),
        inner.map(lambda one: f"array({one}).0"),
    ),
    max_leaves=6,
)


@given(
    EXPRESSIONS,
    st.none() | st.binary(max_size=20) | JSON.map(lambda value: json.dumps(value).encode()),
    st.lists(st.tuples(st.sampled_from("hab"), st.none() | st.binary(max_size=5)), max_size=3),
)
def test_every_expression_gives_the_same_value_again_and_never_raises(
    text: str, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    record = Record(5, 1000, b"key", value, tuple(headers))
    expression = compile_expression(text)
    first = expression.evaluate(record, 0, "t")
    assert are_equal(first, expression.evaluate(record, 0, "t"))
    bytes_of(first)
