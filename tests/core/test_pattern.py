"""Patterns: RE2's syntax, whole names, and never more than linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.pattern import Pattern, PatternRefused


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("foo", ["foo"], ["foo1", "xfoo", ""]),
        ("foo.*", ["foo", "foo-1", "foo\t"], ["fo", "foo\n"]),
        ("(?s)foo.*", ["foo\n"], ["fo"]),
        ("a|b|", ["a", "b", ""], ["ab"]),
        ("(a|bc)+", ["a", "abc", "bcbc"], ["", "ac"]),
        ("a{2,3}", ["aa", "aaa"], ["a", "aaaa"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("x{a}", ["x{a}"], ["x"]),
        ("[a-c-]+", ["a-b", "cc"], ["d"]),
        ("[]a]+", ["]a"], ["b"]),
        ("[^a-c]+", ["xyz"], ["xay"]),
        ("[[:digit:][:upper:]_]+", ["A1_"], ["a"]),
        ("[[:^digit:]]", ["a"], ["1"]),
        (r"\d+\.\w*\s?", ["12.ab", "1. "], ["12x"]),
        (r"[\d.]+", ["1.2"], ["a"]),
        (r"\Qa.b+\E+", ["a.b++"], ["axb+"]),
        (r"\x41\x{1F600}", ["A\U0001f600"], ["A"]),
        ("(?i)tOpIc-[a-c]", ["TOPIC-B"], ["topics"]),
        ("a(?i:b)c", ["aBc", "abc"], ["ABc"]),
        ("((?i)a)b", ["Ab"], ["AB"]),
        ("(?P<name>a)(?<other>b)(?:c)", ["abc"], ["ab"]),
        ("^a$", ["a"], ["b"]),
        (r"\Aa\z", ["a"], ["b"]),
        (r"a\b-\bb", ["a-b"], ["a--b"]),
        (r"a\Bb", ["ab"], ["a-b"]),
        ("a*?b+?", ["b", "aabb"], ["a"]),
        ("(a*)*", ["", "aaa"], ["b"]),
        ("(|a)+", ["", "aa"], ["b"]),
    ],
)
def test_a_pattern_means_the_whole_name(pattern: str, yes: list[str], no: list[str]) -> None:
    compiled = Pattern(pattern)
    assert all(compiled.matches(name) for name in yes)
    assert not any(compiled.matches(name) for name in no)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a",
        "a)",
        "[a",
        "[b-a]",
        "[[:nope:]]",
        "*a",
        "a**",
        "a{3,2}",
        "a{1001}",
        r"(a)\1",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?>a)",
        "(?P<1>a)",
        "a\\",
        r"\q",
        r"\pL",
        r"\x4",
        r"\x{110000}",
        "(" * 200 + ")" * 200,
        "((a{1000}){1000}){1000}",
        "(((){1000}){1000}){1000}",
    ],
)
def test_what_re2_does_not_take_is_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        Pattern(pattern)


def test_a_pattern_that_would_make_python_backtrack_for_ever_is_quick() -> None:
    assert not Pattern("(a+)+b").matches("a" * 2000)
    assert Pattern("(a|aa)*").matches("a" * 2000)


_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$", r"\b", "(?:)"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=8,
)


@given(_PATTERNS, st.text("ab-", max_size=6))
def test_it_agrees_with_python_where_both_take_a_pattern(pattern: str, name: str) -> None:
    assert Pattern(pattern).matches(name) == (re.fullmatch(pattern, name) is not None)


@given(st.text("ab()[]{}*+?|\\^$.,12Qd:-", max_size=12), st.text("ab1", max_size=4))
def test_no_text_whatever_does_worse_than_be_refused(pattern: str, name: str) -> None:
    try:
        compiled = Pattern(pattern)
    except PatternRefused:
        return
    compiled.matches(name)
