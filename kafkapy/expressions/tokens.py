"""Text -> tokens. One pattern, no token of which can begin in two ways: time is the text's length.

A path's member (`.name`, `.0`, `.'any name'`) is one token, so that `.0.1` is two members and
no number.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: What a topic's setting holds is kept by every node, and read by people.
MAX_LENGTH: Final = 4096

_PATTERN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    | (?P<member>\.[ ]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|'(?:[^']|'')*'|"(?:[^"]|"")*"))
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<sign><=|>=|!=|<>|==|[=<>+\-*/%(),])""",
    re.VERBOSE,
)


class InvalidExpression(ValueError):
    """`position` is the character (from 0) at which it is wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"at character {position + 1}: {message}")
        self.position = position


class Token(NamedTuple):
    kind: str  # member, number, name, text, sign; end
    text: str
    position: int


def tokens_of(expression: str) -> Iterator[Token]:
    if len(expression) > MAX_LENGTH:
        raise InvalidExpression(f"longer than {MAX_LENGTH} characters", MAX_LENGTH)
    position = 0
    while position < len(expression):
        found = _PATTERN.match(expression, position)
        if found is None:
            raise InvalidExpression(_what_is_wrong(expression[position]), position)
        kind = str(found.lastgroup)
        if kind != "space":
            yield Token(kind, found.group(), position)
        position = found.end()
    yield Token("end", "", position)


def unquoted(text: str) -> str:
    """What stands between the quotes; a quote in it is written twice."""
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def _what_is_wrong(char: str) -> str:
    if char in "'\"":
        return "a text that does not end"
    if char == ".":
        return "a name, an index or a quoted name has to follow the dot"
    return f"{char!r} means nothing here"
