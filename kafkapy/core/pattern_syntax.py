"""The syntax of RE2, read by recursive descent into a small tree (see pattern.py).

    alternatives := sequence ('|' sequence)*
    sequence     := (atom repeat?)*
    repeat       := ('*' | '+' | '?' | '{n}' | '{n,}' | '{n,m}') '?'?
    atom         := character | '.' | class | escape | '^' | '$' | '(' flags? alternatives ')'

Whether a repeat is lazy decides where groups match, not whether the whole does: ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_REPEAT: Final = 1000  # RE2's own
MAX_INSTRUCTIONS: Final = 20_000
MAX_DEPTH: Final = 100

Test = Callable[[str], bool]


class PatternRefused(ValueError):
    """Not a regular expression that RE2 takes; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Characters:
    test: Test


@dataclass(frozen=True, slots=True)
class Anchor:
    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    inner: "Node"
    least: int
    most: int | None


Node = Characters | Anchor | Sequence | Alternatives | Repeated


def _between(*ranges: str) -> Test:
    return lambda character: any(one[0] <= character <= one[-1] for one in ranges)


def _not(test: Test) -> Test:
    return lambda character: not test(character)


def _any_of(tests: list[Test]) -> Test:
    return lambda character: any(test(character) for test in tests)


def _in_either_case(test: Test) -> Test:
    return lambda character: test(character.lower()) or test(character.upper())


# Ranges as "first last"; perl classes are ASCII in RE2.
_DIGIT: Final = _between("09")
_SPACE: Final = _between("\t\n", "\f\r", " ")
_WORD: Final = _between("09", "AZ", "az", "_")
_PERL: Final = {
    "d": _DIGIT,
    "s": _SPACE,
    "w": _WORD,
    "D": _not(_DIGIT),
    "S": _not(_SPACE),
    "W": _not(_WORD),
}
_POSIX: Final = {
    "alnum": _between("09", "AZ", "az"),
    "alpha": _between("AZ", "az"),
    "ascii": _between("\x00\x7f"),
    "blank": _between("\t", " "),
    "cntrl": _between("\x00\x1f", "\x7f"),
    "digit": _DIGIT,
    "graph": _between("!~"),
    "lower": _between("az"),
    "print": _between(" ~"),
    "punct": _between("!/", ":@", "[`", "{~"),
    "space": _between("\t\r", " "),
    "upper": _between("AZ"),
    "word": _WORD,
    "xdigit": _between("09", "AF", "af"),
}
_CONTROL: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._depth = 0

    def parse(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._text):
            raise PatternRefused("unexpected )")
        return node

    # Reading

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, what: str) -> bool:
        if self._text.startswith(what, self._at):
            self._at += len(what)
            return True
        return False

    def _next(self, why: str) -> str:
        if self._at == len(self._text):
            raise PatternRefused(why)
        self._at += 1
        return self._text[self._at - 1]

    # The grammar

    def _alternatives(self) -> Node:
        outer = self._flags
        found = [self._sequence()]
        while self._take("|"):
            found.append(self._sequence())
        self._flags = outer  # flags set inside hold to the end of the group
        return found[0] if len(found) == 1 else Alternatives(tuple(found))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            if self._take("\\Q"):
                quoted = [self._literal(character) for character in self._quoted()]
                if quoted:
                    quoted[-1] = self._repeated(quoted[-1])
                nodes.extend(quoted)
                continue
            nodes.append(self._repeated(self._atom()))
        return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))

    def _quoted(self) -> str:
        end = self._text.find("\\E", self._at)
        quoted = self._text[self._at :] if end < 0 else self._text[self._at : end]
        self._at = len(self._text) if end < 0 else end + 2
        return quoted

    def _repeated(self, atom: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        self._take("?")
        if self._bounds() is not None:
            raise PatternRefused("invalid nested repetition operator")
        return Repeated(atom, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple = _REPEATS.get(self._peek())
        if simple is not None:
            self._at += 1
            return simple
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        least, comma, most = self._text[self._at + 1 : end].partition(",")
        if not _is_number(least) or (most and not _is_number(most)):
            return None  # RE2 reads it as it stands
        self._at = end + 1
        bounds = (int(least), (int(most) if most else None) if comma else int(least))
        if max(bounds[0], bounds[1] or 0) > MAX_REPEAT or (
            bounds[1] is not None and bounds[1] < bounds[0]
        ):
            raise PatternRefused("invalid repeat count")
        return bounds

    def _atom(self) -> Node:
        character = self._next("empty atom")
        match character:
            case "(":
                return self._group()
            case "[":
                return Characters(self._class())
            case "\\":
                return self._escape()
            case ".":
                return Characters(_anything if "s" in self._flags else _any_but_newline)
            case "^" | "$":
                return Anchor(character + ("m" if "m" in self._flags else ""))
            case "*" | "+" | "?":
                raise PatternRefused("missing argument to repetition operator")
        return self._literal(character)

    def _literal(self, character: str) -> Node:
        if "i" in self._flags:
            folded = character.casefold()
            return Characters(lambda other: other.casefold() == folded)
        return Characters(lambda other: other == character)

    def _group(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternRefused("expression nests too deeply")
        outer = self._flags
        if self._take("?") and not self._group_head():
            self._depth -= 1
            return Sequence(())  # (?i): flags for what follows
        node = self._alternatives()
        if not self._take(")"):
            raise PatternRefused("missing closing )")
        self._flags = outer
        self._depth -= 1
        return node

    def _group_head(self) -> bool:
        """What stands behind `(?`; False if it was flags alone and the group is over."""
        if self._take("P<") or (
            self._peek() == "<"
            and self._text[self._at + 1 : self._at + 2] not in ("=", "!")
            and self._take("<")
        ):
            end = self._text.find(">", self._at)
            if end < 0 or not self._text[self._at : end].isidentifier():
                raise PatternRefused("invalid named capture")
            self._at = end + 1
            return True
        is_off = False
        while True:
            flag = self._next("missing argument to group")
            match flag:
                case ":":
                    return True
                case ")":
                    return False
                case "-":
                    is_off = True
                case "i" | "m" | "s" | "U":
                    self._flags = self._flags - {flag} if is_off else self._flags | {flag}
                case _:
                    raise PatternRefused("invalid or unsupported Perl syntax")

    def _escape(self) -> Node:
        character = self._next("trailing backslash at end of expression")
        match character:
            case "b" | "B":
                return Anchor("\\" + character)
            case "A":
                return Anchor("^")
            case "z":
                return Anchor("$")
        if character in _PERL:
            return Characters(_PERL[character])
        return self._literal(self._escaped(character))

    def _escaped(self, character: str) -> str:
        """One character written as an escape."""
        if character in _CONTROL:
            return _CONTROL[character]
        if character == "x":
            return self._hexadecimal()
        if character.isascii() and character.isalnum():
            raise PatternRefused("invalid escape sequence")
        return character

    def _hexadecimal(self) -> str:
        if self._take("{"):
            end = self._text.find("}", self._at)
            digits = self._text[self._at : end] if end >= 0 else ""
            self._at = end + 1
        else:
            digits = self._text[self._at : self._at + 2]
            self._at += 2
            if len(digits) != 2:
                raise PatternRefused("invalid escape sequence")
        if not digits or any(one not in "0123456789abcdefABCDEF" for one in digits):
            raise PatternRefused("invalid escape sequence")
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise PatternRefused("invalid escape sequence")
        return chr(code)

    def _class(self) -> Test:
        is_negated = self._take("^")
        tests: list[Test] = []
        while not (tests and self._take("]")):
            if self._take("[:"):
                tests.append(self._posix())
            else:
                tests.append(self._class_part())
        test = _any_of(tests)
        if "i" in self._flags:
            test = _in_either_case(test)
        return _not(test) if is_negated else test

    def _posix(self) -> Test:
        end = self._text.find(":]", self._at)
        name = self._text[self._at : end] if end >= 0 else ""
        test = _POSIX.get(name.removeprefix("^"))
        if test is None:
            raise PatternRefused("invalid character class range")
        self._at = end + 2
        return _not(test) if name.startswith("^") else test

    def _class_part(self) -> Test:
        first = self._class_character()
        if callable(first):
            return first
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            last = self._class_character()
            if callable(last) or last < first:
                raise PatternRefused("invalid character class range")
            return lambda character: first <= character <= last
        return lambda character: character == first

    def _class_character(self) -> Test | str:
        character = self._next("missing closing ]")
        if character != "\\":
            return character
        escaped = self._next("missing closing ]")
        return _PERL[escaped] if escaped in _PERL else self._escaped(escaped)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5


def _anything(_: str) -> bool:
    return True


def _any_but_newline(character: str) -> bool:
    return character != "\n"
