"""RE2's language over topic names, and nothing that takes longer than the name is long."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.group.regex import InvalidRegex, TopicRegex
from kafkapy.group.regex.matcher import MAX_STATES
from kafkapy.group.regex.nodes import ALPHABET


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("orders", ["orders"], ["orders-1", "xorders", "", "Orders"]),
        ("orders-.*", ["orders-", "orders-eu"], ["orders"]),
        ("a|bc|", ["a", "bc", ""], ["b", "abc"]),
        ("(ab)+c?", ["ab", "ababc"], ["", "abcc"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]),
        ("a{0,2}b", ["b", "ab", "aab"], ["aaab"]),
        ("a{,2}", [], ["a", "aa"]),
        ("x{", [], ["x"]),
        ("a*?b+?c??", ["b", "aabb", "bc"], ["a", "bcc"]),
        ("[a-c]_[^a-c]", ["a_d", "b_-"], ["d_a", "a_a"]),
        ("[]a]", ["a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[\\d_]+", ["1_2"], ["a"]),
        ("[^\\w]", [".", "-"], ["a", "_"]),
        ("[[:alpha:][:digit:]]+", ["a1"], ["_"]),
        ("[[:^digit:]]", ["a", "-"], ["1"]),
        ("\\w+\\.\\d\\D", ["ab.1x"], ["ab-1x", "ab.11"]),
        ("\\s|\\S", ["a"], [""]),
        ("\\pL\\p{Lu}\\P{N}\\p{^L}", ["aBc1", "aB--"], ["abc1"]),
        ("\\p{Latin}\\p{Greek}?", ["a"], ["1"]),
        ("\\x41\\x{62}\\103\\.", ["AbC."], ["ABC."]),
        ("\\Qa.b\\E.c", ["a.bxc"], ["axbxc"]),
        ("\\Qa.", ["a."], ["ab"]),
        ("^a$|^b\\z|\\Ac", ["a", "b", "c"], ["ab"]),
        ("a\\b.b", ["a-b", "a.b"], ["a_b", "aab"]),
        ("a\\B.b", ["a_b", "aab"], ["a-b"]),
        ("(?i)orders-EU", ["ORDERS-eu"], ["order"]),
        ("a(?i:b)c", ["abc", "aBc"], ["abC"]),
        ("a(?i)b(?-i)c", ["aBc"], ["aBC"]),
        ("(?P<name>a)(?<other>b)(?:c)", ["abc"], ["ab"]),
        ("(?s-U:a.)", ["ab"], ["a"]),
        ("\N{GREEK SMALL LETTER ALPHA}?a", ["a"], [""]),
        ("(?:)", [""], ["a"]),
    ],
)
def test_it_means_what_re2_means(pattern: str, matching: list[str], others: list[str]) -> None:
    regex = TopicRegex(pattern)
    assert [name for name in matching if not regex.matches(name)] == []
    assert [name for name in others if regex.matches(name)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)",
        "[a",
        "[",
        "[]",
        "[b-a]",
        "[a-\\d]",
        "[[:nope:]]",
        "*",
        "+a",
        "a|*",
        "a**",
        "a{2}{3}",
        "a{1001}",
        "a{3,2}",
        "\\",
        "\\1",
        "(a)\\1",
        "\\y",
        "\\xZZ",
        "\\x{110000}",
        "\\x",
        "\\p{nope}",
        "\\p",
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?P=name)",
        "(?P<a>x)(?P<a>y)",
        "(?P<>x)",
        "(?P<a",
        "(?",
        "(?z)",
        "(?i",
        "(?-)",
        "(" * 200 + ")" * 200,
        "a" * 20_000,
        "((a{100}){100}){100}",
    ],
)
def test_what_is_not_regular_or_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegex):
        TopicRegex(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)(.*)x", "(a|b)*a(a|b){14}"]
)
def test_patterns_that_stall_others_take_time_in_the_length_of_the_name(pattern: str) -> None:
    regex = TopicRegex(pattern)
    name = "a" * 249
    regex.matches(name)
    learned = regex.work
    for _ in range(100):
        regex.matches(name)
    assert regex.work - learned == 100 * 250


def test_what_is_remembered_is_bounded() -> None:
    regex = TopicRegex("(a|b)*a(a|b){14}")
    for number in range(3_000):
        regex.matches(format(number, "032b").replace("0", "a").replace("1", "b"))
    assert len(regex._steps) <= MAX_STATES


ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", "\\w", "\\d", "(?:a|b)", "1"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text(alphabet="ab-1", max_size=8))
@settings(max_examples=200)
def test_it_agrees_with_pythons_own_where_that_is_safe(pattern: str, name: str) -> None:
    regex: Any = re.compile(pattern, re.ASCII)
    assert TopicRegex(pattern).matches(name) == (regex.fullmatch(name) is not None)


@given(st.text(alphabet="ab()[]{}*+?|\\^$.-:<>P=!iQEdpLx01,", max_size=20))
@settings(max_examples=300)
def test_any_text_is_a_pattern_or_an_invalid_one(text: str) -> None:
    try:
        TopicRegex(text).matches("ab-1")
    except InvalidRegex:
        return


def test_the_alphabet_is_that_of_topic_names() -> None:
    assert len(ALPHABET) == 26 * 2 + 10 + 3
