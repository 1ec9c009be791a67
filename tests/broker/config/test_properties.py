"""server.properties as java.util.Properties reads it."""

import pytest

from kafkapy.broker.config.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a\t=\tb", {"a": "b"}),
        ("  a=b", {"a": "b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("# a=b\n! c=d\n   # e=f", {}),
        ("a=b # no comment", {"a": "b # no comment"}),
        ("", {}),
    ],
)
def test_a_line_is_a_key_a_separator_and_a_value(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b,\\\n  # c", {"a": "b,# c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a=\\\n\\\nb", {"a": "b"}),
    ],
)
def test_an_odd_number_of_backslashes_continues_the_line(
    text: str, expected: dict[str, str]
) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a=\t\n\r\f", {"a": "\t\n\r\f"}),
        (r"a=\u00e9\u20AC", {"a": "é€"}),
        (r"a=\ud83d\ude00", {"a": "😀"}),
        (r"a\=b=c", {"a=b": "c"}),
        (r"a\ b=c", {"a b": "c"}),
        (r"a\:b:c", {"a:b": "c"}),
        (r"path=C:\\kafka\\logs", {"path": "C:\\kafka\\logs"}),
        (r"a=\q", {"a": "q"}),
        ("a=\\ b", {"a": " b"}),
    ],
)
def test_escapes_stand_for_characters(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected
