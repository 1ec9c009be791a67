"""A line of JAAS, as `sasl.jaas.config` holds it:

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker" password="secret" user_alice="another" ;

One login module and its options. What goes wrong is said without any value: they are secrets.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kafkapy.core.data import dataclass

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/
    |(?P<mark>[=;])
    |"(?P<double>(?:\\.|[^"\\\n])*)"
    |'(?P<single>(?:\\.|[^'\\\n])*)'
    |(?P<word>[^\s=;"']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class BadJaas(ValueError):
    """Not a line of JAAS; the sentence has no secret in it."""


@dataclass(frozen=True, slots=True)
class Jaas:
    module: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> Jaas:
    tokens = list(_tokens(text))
    if len(tokens) < 3 or tokens[-1] != (True, ";"):
        raise BadJaas("it must be <login module> required <name>=<value> ... ;")
    (_, module), (_, flag), *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise BadJaas("the word after the login module must be required.")
    if len(rest) % 3 or (True, ";") in rest:
        raise BadJaas("it must have one login module, with options <name>=<value>.")
    options: dict[str, str] = {}
    for at in range(0, len(rest), 3):
        (name_is_mark, name), equals, (value_is_mark, value) = rest[at : at + 3]
        if name_is_mark or value_is_mark or equals != (True, "="):
            raise BadJaas("an option is <name>=<value>, quoted if it is not plain letters.")
        options[name] = value
    return Jaas(module, options)


def _tokens(text: str) -> Iterator[tuple[bool, str]]:
    """(whether it is a mark, the text)"""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise BadJaas("a quote is not closed.")
        at = found.end()
        kind = found.lastgroup
        if kind == "mark":
            yield True, found[kind]
        elif kind == "word":
            yield False, found[kind]
        elif kind is not None:
            yield False, _ESCAPE.sub(_escaped, found[kind])


def _escaped(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what, 8)) if what[0] in "01234567" else _LETTERS.get(what, what)
