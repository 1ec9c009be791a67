"""RE2's syntax, as far as it can matter for topic names.

    x . [a-z] [^a-z] [[:alpha:]] \\d \\w \\s \\pL \\x41 \\Q...\\E     one character
    xy  x|y  (x)  (?:x)  (?P<name>x)  (?<name>x)  (?i)  (?is-U:x)     structure
    x*  x+  x?  x{n}  x{n,}  x{n,m}, each with a lazy "?" behind      repetition
    ^ $ \\A \\z \\b \\B                                                places

Lazy or greedy makes no difference to whether a whole name matches. Backreferences and
look-around are not regular: RE2 refuses them, and so do we. Characters outside a topic
name's alphabet are valid and match nothing.
"""

import unicodedata
from typing import Final

from kafkapy.group.regex.nodes import (
    ALPHABET,
    DIGIT,
    WORD,
    Assertion,
    Chars,
    Choice,
    Node,
    Repeat,
    Sequence,
)

# RE2's own bound on counted repetition; ours on nesting protects Python's stack.
MAX_REPEAT: Final = 1000
MAX_NESTING: Final = 100
MAX_LENGTH: Final = 10_000

_NOTHING: Final[frozenset[str]] = frozenset()
_CLASSES: Final = {
    "d": DIGIT,
    "D": ALPHABET - DIGIT,
    "w": WORD,
    "W": ALPHABET - WORD,
    "s": _NOTHING,
    "S": ALPHABET,
}
_POSIX: Final = {
    "alnum": frozenset(c for c in ALPHABET if c.isalnum()),
    "alpha": frozenset(c for c in ALPHABET if c.isalpha()),
    "ascii": ALPHABET,
    "blank": _NOTHING,
    "cntrl": _NOTHING,
    "digit": DIGIT,
    "graph": ALPHABET,
    "lower": frozenset(c for c in ALPHABET if c.islower()),
    "print": ALPHABET,
    "punct": frozenset("._-"),
    "space": _NOTHING,
    "upper": frozenset(c for c in ALPHABET if c.isupper()),
    "word": WORD,
    "xdigit": frozenset("0123456789abcdefABCDEF"),
}
_SCRIPTS: Final = {"Latin": frozenset(c for c in ALPHABET if c.isalpha())}
_PLACES: Final = {"A": "^", "z": "$", "b": "b", "B": "B"}
_CONTROL: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class InvalidRegex(ValueError):
    """Not RE2's syntax; the message is RE2's word for what is wrong."""


class _Flags:
    __slots__ = ("ignore_case",)

    def __init__(self, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case


def parse(pattern: str) -> Node:
    if len(pattern) > MAX_LENGTH:
        raise InvalidRegex(f"longer than {MAX_LENGTH} characters")
    parser = _Parser(pattern)
    node = parser.choice(_Flags(), 0)
    if not parser.is_done:
        raise parser.error("unexpected )")
    return node


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._names: set[str] = set()

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._text)

    def error(self, what: str) -> InvalidRegex:
        return InvalidRegex(what)

    # Structure

    def choice(self, flags: _Flags, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise self.error(f"nested deeper than {MAX_NESTING}")
        options = [self._sequence(flags, depth)]
        while self._take("|"):
            options.append(self._sequence(flags, depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, flags: _Flags, depth: int) -> Node:
        parts: list[Node] = []
        while not self.is_done and self._peek() not in "|)":
            if self._take("\\Q"):
                parts += self._quoted(flags)
                continue
            atom = self._atom(flags, depth)
            if atom is not None:
                parts.append(self._repeated(atom))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self, flags: _Flags, depth: int) -> Node | None:
        """None for what only sets flags."""
        char = self._next()
        match char:
            case "(":
                return self._group(flags, depth)
            case "[":
                return Chars(_folded(self._class(), flags))
            case ".":
                return Chars(ALPHABET)
            case "^" | "$":
                return Assertion(char)
            case "*" | "+" | "?":
                raise self.error("missing argument to repetition operator")
            case "\\":
                return self._escape(flags)
        return Chars(_folded(_one(char), flags))

    def _group(self, flags: _Flags, depth: int) -> Node | None:
        inner = _Flags(flags.ignore_case)
        if self._take("?"):
            if self._take("P<") or (self._starts("<") and not self._starts("<=", "<!")):
                self._take("<")
                self._name()
            elif self._set_flags(inner):
                flags.ignore_case = inner.ignore_case
                return None
        node = self.choice(inner, depth + 1)
        if not self._take(")"):
            raise self.error("missing closing )")
        return node

    def _name(self) -> None:
        end = self._text.find(">", self._at)
        name = self._text[self._at : end] if end >= 0 else ""
        if not name.isidentifier() and not (name and set(name) <= WORD):
            raise self.error("invalid named capture")
        if name in self._names:
            raise self.error("duplicate capture group name")
        self._names.add(name)
        self._at = end + 1

    def _set_flags(self, flags: _Flags) -> bool:
        """After "(?": flags up to ":" (False: a group follows) or ")" (True)."""
        is_on = True
        has_letter = False
        while not self.is_done:
            char = self._next()
            if char in "imsU":
                has_letter = True
                if char == "i":
                    flags.ignore_case = is_on
            elif char == "-" and is_on:
                is_on = has_letter = False
            elif char in ":)" and (is_on or has_letter):
                return char == ")"
            else:
                break
        raise self.error("invalid or unsupported Perl syntax")

    def _repeated(self, node: Node) -> Node:
        times = 0
        while not self.is_done:
            bounds = self._bounds()
            if bounds is None:
                return node
            times += 1
            if times > 1:
                raise self.error("invalid nested repetition operator")
            self._take("?")
            node = Repeat(node, *bounds)
        return node

    def _bounds(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        if self._peek() != "{":
            return None
        end = self._text.find("}", self._at)
        least_text, comma, most_text = self._text[self._at + 1 : max(end, 0)].partition(",")
        if not _is_number(least_text) or (most_text and not _is_number(most_text)):
            return None  # a brace that counts nothing is a character like any other
        least = int(least_text[:5])
        most = int(most_text[:5]) if most_text else None if comma else least
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise self.error("invalid repeat count")
        self._at = end + 1
        return least, most

    # Characters

    def _quoted(self, flags: _Flags) -> list[Node]:
        end = self._text.find("\\E", self._at)
        end, after = (len(self._text), len(self._text)) if end < 0 else (end, end + 2)
        quoted, self._at = self._text[self._at : end], after
        return [Chars(_folded(_one(char), flags)) for char in quoted]

    def _escape(self, flags: _Flags) -> Node:
        char = self._peek()
        if char in _PLACES:
            self._at += 1
            return Assertion(_PLACES[char])
        return Chars(_folded(self._escaped_chars(), flags))

    def _escaped_chars(self) -> frozenset[str]:
        """Behind a backslash: a class, or one character."""
        char = self._next("trailing backslash at end of expression")
        if char in _CLASSES:
            return _CLASSES[char]
        if char in "pP":
            found = self._unicode_class()
            return ALPHABET - found if char == "P" else found
        return _one(self._code_point(char))

    def _code_point(self, char: str) -> str:
        """The character that an escape names, by itself or by number."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            return self._hex()
        if char == "0" or (char in "1234567" and self._peeks("01234567")):
            digits = char
            while len(digits) < 3 and self._peeks("01234567"):
                digits += self._next()
            return chr(int(digits, 8))
        if char in _PUNCTUATION:
            return char
        raise self.error("invalid escape sequence")

    def _hex(self) -> str:
        if self._take("{"):
            end = self._text.find("}", self._at)
            digits, self._at = self._text[self._at : max(end, 0)], end + 1
        else:
            digits, self._at = self._text[self._at : self._at + 2], self._at + 2
            if len(digits) < 2:
                raise self.error("invalid escape sequence")
        if not 0 < len(digits) <= 6 or set(digits) - set("0123456789abcdefABCDEF"):
            raise self.error("invalid escape sequence")
        number = int(digits, 16)
        if number > 0x10FFFF:
            raise self.error("invalid escape sequence")
        return chr(number)

    def _unicode_class(self) -> frozenset[str]:
        if self._take("{"):
            end = self._text.find("}", self._at)
            name, self._at = self._text[self._at : max(end, 0)], end + 1
        else:
            name = self._next("invalid character class range")
        is_negated = name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            found = ALPHABET
        elif name in _SCRIPTS:
            found = _SCRIPTS[name]
        elif name in _CATEGORIES:
            found = frozenset(c for c in ALPHABET if unicodedata.category(c).startswith(name))
        elif name.isalpha() and name.istitle() and len(name) > 2:
            found = _NOTHING  # another script: no topic name has letters of it
        else:
            raise self.error("invalid character class range")
        return ALPHABET - found if is_negated else found

    def _class(self) -> frozenset[str]:
        is_negated = self._take("^")
        found: set[str] = set()
        is_first = True
        while is_first or self._peek() != "]":
            if self.is_done:
                raise self.error("missing closing ]")
            is_first = False
            if self._starts("[:"):
                found |= self._posix()
                continue
            low = self._class_part()
            if isinstance(low, frozenset):
                found |= low
                continue
            high = low
            if self._starts("-") and not self._starts("-]"):
                self._at += 1
                part = self._class_part()
                if isinstance(part, frozenset) or part < low:
                    raise self.error("invalid character class range")
                high = part
            found |= {char for char in ALPHABET if low <= char <= high}
        self._at += 1
        return ALPHABET - found if is_negated else frozenset(found)

    def _class_part(self) -> str | frozenset[str]:
        """One character, or a whole class behind a backslash."""
        char = self._next("missing closing ]")
        if char != "\\":
            return char
        if self._peeks("dDwWsSpP"):
            return self._escaped_chars()
        return self._code_point(self._next("missing closing ]"))

    def _posix(self) -> frozenset[str]:
        end = self._text.find(":]", self._at)
        name = self._text[self._at + 2 : max(end, 0)]
        is_negated = name.startswith("^")
        found = _POSIX.get(name.removeprefix("^"))
        if found is None:
            raise self.error("invalid character class range")
        self._at = end + 2
        return ALPHABET - found if is_negated else found

    # Reading

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _peeks(self, chars: str) -> bool:
        return not self.is_done and self._peek() in chars

    def _starts(self, *texts: str) -> bool:
        return self._text.startswith(texts, self._at)

    def _take(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _next(self, missing: str = "unexpected end") -> str:
        if self.is_done:
            raise self.error(missing)
        self._at += 1
        return self._text[self._at - 1]


_CATEGORIES: Final = frozenset(
    major + minor
    for major, minors in {
        "L": "ultmo",
        "M": "nce",
        "N": "dlo",
        "P": "cdseifo",
        "S": "mcko",
        "Z": "slp",
        "C": "cfos",
    }.items()
    for minor in ("", *minors)
)


def _one(char: str) -> frozenset[str]:
    return frozenset(char) & ALPHABET


def _folded(chars: frozenset[str], flags: _Flags) -> frozenset[str]:
    if not flags.ignore_case:
        return chars
    both = {char.lower() for char in chars} | {char.upper() for char in chars}
    return frozenset(both) & ALPHABET


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
