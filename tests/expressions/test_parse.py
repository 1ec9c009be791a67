"""Text -> nodes: what binds how, and where it is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.expressions import InvalidExpression, compile_expression
from kafkapy.expressions.parse import MAX_DEPTH, MAX_NODES, parse
from kafkapy.expressions.tokens import MAX_LENGTH
from kafkapy.protocol.batches.records import Record

RECORD = Record(7, 1_700_000_000_000, b"k", b"v")


def result(text: str) -> object:
    return compile_expression(text).evaluate(RECORD, 3, "orders")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("true or true and false", "true or (true and false)"),
        ("not true or true", "(not true) or true"),
        ("not 1 = 2", "not (1 = 2)"),
        ("1 + 2 * 3 = 7", "(1 + (2 * 3)) = 7"),
        ("10 - 3 - 2", "(10 - 3) - 2"),
        ("-2 * 3", "(-2) * 3"),
        ("partition not in (1, 2)", "not (partition in (1, 2))"),
        ("TRUE AND Not false", "true and not false"),
        ("partition is not null", "partition != null"),
        ("\"it's\" == 'it''s'", "true"),
        ("key <> 'k' or key like 'k*'", "true"),
    ],
)
def test_what_binds_how(text: str, same: str) -> None:
    assert result(text) == result(same)


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 0, "expected a value, found the end"),
        ("value.a =", 9, "expected a value, found the end"),
        ("value.a = 'eu", 10, "a text that does not end"),
        ("value.a = 1 2", 12, "expected an operator or the end, found '2'"),
        ("1 < partition < 3", 14, "expected an operator or the end, found '<'"),
        ("(true", 5, "expected ')', found the end"),
        ("valeu.a = 1", 0, "there is no field 'valeu'"),
        ("upper()", 0, "upper() takes 1 argument, not 0"),
        ("if(true, 1)", 0, "if() takes 3 arguments, not 2"),
        ("coalesce()", 0, "coalesce() takes at least 1 arguments, not 0"),
        ("object('a')", 0, "object() takes names and values in turn"),
        ("sleep(5)", 0, "there is no function 'sleep'"),
        ("key like key", 9, "expected a pattern in quotes, found 'key'"),
        ("key not = 1", 8, "expected 'like' or 'in', found '='"),
        ("value. = 1", 5, "a name, an index or a quoted name has to follow the dot"),
        ("a; b", 1, "';' means nothing here"),
        ("value[0]", 5, "'[' means nothing here"),
        ("1e999", 0, "1e999 is no number that can be kept"),
        ("(" * (MAX_DEPTH + 1), MAX_DEPTH, f"nested deeper than {MAX_DEPTH}"),
        ("not " * 1000 + "true", 4 * (MAX_DEPTH - 1), f"nested deeper than {MAX_DEPTH}"),
        ("- " * 1000 + "1", 2 * (MAX_DEPTH - 1), f"nested deeper than {MAX_DEPTH}"),
        ("1+" * MAX_NODES + "1", MAX_NODES, f"more than {MAX_NODES} parts"),
        (" " * (MAX_LENGTH + 1), MAX_LENGTH, f"longer than {MAX_LENGTH} characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, position: int, why: str) -> None:
    with pytest.raises(InvalidExpression) as raised:
        parse(text)
    assert raised.value.position == position
    assert str(raised.value).startswith(f"at character {position + 1}: {why}")


@given(st.text(alphabet="valuekey.'\"()=<>!+-*/%, 019andornotinislike", max_size=60))
def test_any_text_is_an_expression_or_invalid(text: str) -> None:
    try:
        expression = compile_expression(text)
    except InvalidExpression as invalid:
        assert 0 <= invalid.position <= len(text)
    else:
        expression.evaluate(RECORD, 3, "orders")


def test_the_longest_chains_and_the_deepest_brackets_fit_the_stack() -> None:
    many = MAX_NODES // 2 - 2
    assert result("0" + "+1" * many) == many
    assert result("1=1" + " and 1" * many) is False
    assert result("value" + ".a" * many) is None
    deep = MAX_DEPTH - 1
    assert result("(not (1+1*-(" * (deep // 5) + "1" + ")))" * (deep // 5)) is not None
    assert result("array(" * deep + "1" + ")" * deep) is not None
