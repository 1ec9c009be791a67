r"""Reading `server.properties`: Java's properties format.

line     = [key [separator value]]        separator: `=`, `:` or white space
comment  = first visible character `#` or `!`
a line that ends in an odd number of `\` goes on in the next, its indent dropped
escapes  = \t \n \r \f \uXXXX, any other escaped character is itself
"""

import re
from collections.abc import Iterator
from typing import Final

_BLANK: Final = " \t\f"
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_TRAILING_BACKSLASHES: Final = re.compile(r"(\\*)\Z")


def parse_properties(text: str) -> dict[str, str]:
    """The properties in `text`; of a key that comes twice the last one counts."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None, "the pattern also matches nothing"
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None, "the pattern also matches nothing"
        properties[_unescaped(key.group())] = _unescaped(line[separator.end() :])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        pending = ""
        ending = _TRAILING_BACKSLASHES.search(line)
        if ending is not None and len(ending.group(1)) % 2 == 1:
            pending = line[:-1]
            continue
        yield line
    if pending:
        yield pending


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda found: _character(found.group(1)), text)
    # Java's characters are halves of UTF-16; two escapes may make one of ours.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(escaped: str) -> str:
    if len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return _LETTERS.get(escaped, escaped)
