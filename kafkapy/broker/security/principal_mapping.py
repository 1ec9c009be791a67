"""Whose certificate it is: the subject's name as Java writes it, and the rules that make a
principal of it (`ssl.principal.mapping.rules`, KIP-371).

    CN=alice,OU=Service Users,O=Example   RFC 2253: the last part first
    RULE:^CN=(.*?),OU=Service.*$/$1/L     pattern, what it becomes, L or U for its case
    DEFAULT                               the name as it is

The first rule that fits the whole name counts.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt

_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/"
    r"(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)
_GROUP: Final = re.compile(r"\\(.)|\$(\d)")
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS: Final = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1B: "latin-1",
    0x1E: "utf-16-be",
}
_SEQUENCE, _SET, _OID, _VERSION, _UTC_TIME = 0x30, 0x31, 0x06, 0xA0, 0x17
_EXTENSIONS: Final = 0xA3
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_ESCAPED: Final = ',=+<>#;"\\'


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


# -- names, from the certificate's DER (X.509; RFC 5280)


def subject_of(certificate: bytes) -> str:
    """Corrupt for what is no certificate."""
    name = _part(certificate, 4)
    try:
        parts_shown = [_relative_name(one) for kind, one in _elements(name) if kind == _SET]
    except (IndexError, ValueError):
        raise Corrupt("not a certificate's subject") from None
    return ",".join(reversed(parts_shown))


def alternative_names_of(certificate: bytes) -> frozenset[tuple[int, bytes]]:
    """Of the subject (RFC 5280 4.2.1.6): kind and content of each. Corrupt for what is no
    certificate."""
    try:
        (_, whole), _ = _element(certificate, 0)
        (_, inner), _ = _element(whole, 0)
        for tag, content in _elements(inner):
            if tag == _EXTENSIONS:
                (_, extensions), _ = _element(content, 0)
                for _, one in _elements(extensions):
                    parts = list(_elements(one))
                    if _dotted(parts[0][1]) == _ALTERNATIVE_NAMES:
                        (_, names), _ = _element(parts[-1][1], 0)
                        return frozenset(_elements(names))
    except IndexError:
        raise Corrupt("not a certificate") from None
    return frozenset()


def valid_until(certificate: bytes) -> float:
    """In seconds since 1970. Corrupt for what is no certificate."""
    try:
        _, (tag, text) = _elements(_part(certificate, 3))
        form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC).timestamp()
    except (IndexError, ValueError):
        raise Corrupt("not a certificate's validity") from None


def _part(certificate: bytes, index: int) -> bytes:
    """[version], serial number, algorithm, issuer, validity (3), subject (4): a sequence."""
    try:
        (_, whole), _ = _element(certificate, 0)
        (_, inner), _ = _element(whole, 0)
        parts = list(_elements(inner))
        tag, content = parts[index + (parts[0][0] == _VERSION)]
    except IndexError:
        raise Corrupt("not a certificate") from None
    if tag != _SEQUENCE:
        raise Corrupt("not a certificate")
    return content


def _relative_name(data: bytes) -> str:
    return "+".join(_attribute(one) for _, one in _elements(data))


def _attribute(data: bytes) -> str:
    (kind, oid), at = _element(data, 0)
    (tag, value), end = _element(data, at)
    if kind != _OID:
        raise Corrupt("not an attribute of a name")
    dotted = _dotted(oid)
    keyword, encoding = _KEYWORDS.get(dotted), _ENCODINGS.get(tag)
    if keyword is None or encoding is None:
        return f"{keyword or dotted}=#{data[at:end].hex()}"
    return f"{keyword}={_escaped(value.decode(encoding, 'replace'))}"


def _escaped(text: str) -> str:
    shown = "".join(f"\\{one}" if one in _ESCAPED else one for one in text).replace("\0", "\\00")
    core = shown.strip(" ")
    left = len(shown) - len(shown.lstrip(" "))
    if not core:
        return "\\ " * len(shown)
    return "\\ " * left + core + "\\ " * (len(shown) - left - len(core))


def _dotted(oid: bytes) -> str:
    first = min(oid[0] // 40, 2)
    numbers = [first, oid[0] - 40 * first]
    value = 0
    for byte in oid[1:]:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, numbers))


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        element, at = _element(data, at)
        yield element


def _element(data: bytes, at: int) -> tuple[tuple[int, bytes], int]:
    """(tag, content), and where the next one begins. IndexError past the end."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > len(data):
        raise IndexError("past the end")
    return (tag, data[at : at + length]), at + length
