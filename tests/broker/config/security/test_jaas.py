from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.config.security.jaas import PLAIN_MODULE, BadJaas, Jaas, parse_jaas


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{PLAIN_MODULE} required;", {}),
        (f'{PLAIN_MODULE} required user_a="a" user_b="b c";', {"user_a": "a", "user_b": "b c"}),
        (f"{PLAIN_MODULE} REQUIRED username='a' b=c-d_e ;", {"username": "a", "b": "c-d_e"}),
        (f'{PLAIN_MODULE} required\n // who\n user_a = "x=y;z" /* all */ ;', {"user_a": "x=y;z"}),
        (f'{PLAIN_MODULE} required p="quo\\"te\\\\ \\101";', {"p": 'quo"te\\ A'}),
    ],
)  # fmt: skip
def test_a_line_as_kafkas_documentation_writes_it(text: str, options: dict[str, str]) -> None:
    assert parse_jaas(text) == Jaas(PLAIN_MODULE, options)


@pytest.mark.parametrize(
    "text",
    ["", ";", "a", "a required", "a b;", "a required c;", "a required c=;", "a required =c;",
     'a required c="secret', "a required c=d; e required;", "a required c d e;"],
)  # fmt: skip
def test_what_is_no_line_is_refused_without_its_secrets(text: str) -> None:
    with pytest.raises(BadJaas) as raised:
        parse_jaas(text)
    assert "secret" not in str(raised.value)


@given(st.text())
def test_any_text_is_a_line_or_bad(text: str) -> None:
    with suppress(BadJaas):
        parse_jaas(text)


@given(st.text())
def test_any_value_can_be_quoted(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert parse_jaas(f'm required v="{quoted}";').options == {"v": value}
