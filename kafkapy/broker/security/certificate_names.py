"""Whose certificate it is, and until when: read from its DER (X.509; RFC 5280). A subject is told
as Java writes it, the last part first (RFC 2253): CN=alice,OU=Service Users,O=Example
"""

from datetime import UTC, datetime
from typing import Final

from kafkapy.broker.security.der import dotted, element, elements
from kafkapy.core.errors import Corrupt

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


def subject_of(certificate: bytes) -> str:
    """Corrupt for what is no certificate."""
    name = _part(certificate, 4)
    try:
        parts_shown = [_relative_name(one) for kind, one in elements(name) if kind == _SET]
    except (IndexError, ValueError):
        raise Corrupt("not a certificate's subject") from None
    return ",".join(reversed(parts_shown))


def alternative_names_of(certificate: bytes) -> frozenset[tuple[int, bytes]]:
    """Of the subject (RFC 5280 4.2.1.6): kind and content of each. Corrupt for what is no
    certificate."""
    try:
        (_, whole), _ = element(certificate, 0)
        (_, inner), _ = element(whole, 0)
        for tag, content in elements(inner):
            if tag == _EXTENSIONS:
                (_, extensions), _ = element(content, 0)
                for _, one in elements(extensions):
                    parts = list(elements(one))
                    if dotted(parts[0][1]) == _ALTERNATIVE_NAMES:
                        (_, names), _ = element(parts[-1][1], 0)
                        return frozenset(elements(names))
    except IndexError:
        raise Corrupt("not a certificate") from None
    return frozenset()


def valid_until(certificate: bytes) -> float:
    """In seconds since 1970. Corrupt for what is no certificate."""
    try:
        _, (tag, text) = elements(_part(certificate, 3))
        form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC).timestamp()
    except (IndexError, ValueError):
        raise Corrupt("not a certificate's validity") from None


def _part(certificate: bytes, index: int) -> bytes:
    """[version], serial number, algorithm, issuer, validity (3), subject (4): a sequence."""
    try:
        (_, whole), _ = element(certificate, 0)
        (_, inner), _ = element(whole, 0)
        parts = list(elements(inner))
        tag, content = parts[index + (parts[0][0] == _VERSION)]
    except IndexError:
        raise Corrupt("not a certificate") from None
    if tag != _SEQUENCE:
        raise Corrupt("not a certificate")
    return content


def _relative_name(data: bytes) -> str:
    return "+".join(_attribute(one) for _, one in elements(data))


def _attribute(data: bytes) -> str:
    (kind, oid), at = element(data, 0)
    (tag, value), end = element(data, at)
    if kind != _OID:
        raise Corrupt("not an attribute of a name")
    number = dotted(oid)
    keyword, encoding = _KEYWORDS.get(number), _ENCODINGS.get(tag)
    if keyword is None or encoding is None:
        return f"{keyword or number}=#{data[at:end].hex()}"
    return f"{keyword}={_escaped(value.decode(encoding, 'replace'))}"


def _escaped(text: str) -> str:
    shown = "".join(f"\\{one}" if one in _ESCAPED else one for one in text).replace("\0", "\\00")
    core = shown.strip(" ")
    left = len(shown) - len(shown.lstrip(" "))
    if not core:
        return "\\ " * len(shown)
    return "\\ " * left + core + "\\ " * (len(shown) - left - len(core))
