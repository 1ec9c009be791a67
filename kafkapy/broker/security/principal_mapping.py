"""The rules that make principals of certificates' names (`ssl.principal.mapping.rules`, KIP-371).

    RULE:^CN=(.*?),OU=Service.*$/$1/L     pattern, what it becomes, L or U for its case
    DEFAULT                               the name as it is

The first rule that fits the whole name counts.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/"
    r"(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)
_GROUP: Final = re.compile(r"\\(.)|\$(\d)")


class BadRule(ValueError):
    pass


class NoRule(Exception):
    """No rule fits this name: nobody is let in by it."""


class _Rule(NamedTuple):
    pattern: "re.Pattern[str] | None"
    replacement: str
    case: str


class PrincipalMapping:
    def __init__(self, rules: str) -> None:
        self._rules = tuple(_parsed(rules.strip() or "DEFAULT"))

    def name_of(self, subject: str) -> str:
        for pattern, replacement, case in self._rules:
            if pattern is None:
                return subject
            if pattern.fullmatch(subject) is not None:
                name = pattern.sub(replacement, subject)
                return name.lower() if case == "L" else name.upper() if case == "U" else name
        raise NoRule(f"no rule of ssl.principal.mapping.rules fits {subject}")


def _parsed(text: str) -> Iterator[_Rule]:
    at = 0
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise BadRule("a rule is DEFAULT or RULE:<pattern>/<replacement>/[LU].")
        at = found.end()
        if found["default"]:
            yield _Rule(None, "", "")
            continue
        try:
            pattern = re.compile(found["pattern"].replace("\\/", "/"))
            replacement = _GROUP.sub(_python_group, found["replacement"])
            re.sub(pattern, replacement, "")
        except (re.error, IndexError) as bad:
            raise BadRule(f"a rule cannot be read: {bad}.") from None
        yield _Rule(pattern, replacement, found["case"])


def _python_group(found: re.Match[str]) -> str:
    """Java writes $1 for a group, and \\$ for a dollar."""
    if found[2] is not None:
        return rf"\g<{found[2]}>"
    return "\\\\" if found[1] == "\\" else found[1]
