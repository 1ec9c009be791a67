"""JKS, Java's own key store until version 9, and what many still have: read, never written.

    magic u4, version u4 (1 or 2), count u4
    entry      tag u4, alias (u2 length, text), date u8, then
      1 key      protected (u4 length, bytes), certificates of its chain (u4 count)
      2 trusted  one certificate
    certificate  its type (u2 length, text; version 2), DER (u4 length, bytes)
    SHA-1 of the password, a salt of words, and all that came before

A key stands in PKCS#8's EncryptedPrivateKeyInfo, protected by Sun's own method: a salt, the key
XORed with a chain of SHA-1 of the password, and a digest by which a wrong password is known. None
of it is strong today: who has the file, and time, has the key.
"""

import hashlib
import hmac
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from kafkapy.broker.security.der import dotted, element

MAGIC: Final = b"\xfe\xed\xfe\xed"
_HEADER: Final = Struct(">4sII")
_U2: Final = Struct(">H")
_U4: Final = Struct(">I")
_DATE_BYTES: Final = 8
_KEY, _TRUSTED = 1, 2
_VERSIONS: Final = (1, 2)
_SALT: Final = b"Mighty Aphrodite"
_SUN_PROTECTION: Final = "1.3.6.1.4.1.42.2.17.1.1"
_DIGEST_BYTES: Final = 20


class BadJks(ValueError):
    """What is wrong, without any secret."""


class Jks(NamedTuple):
    """DER: `key` is PKCS#8, None where there is none; its certificates come before trusted ones."""

    key: bytes | None
    certificates: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None, key_password: str | None) -> Jks:
    """Of several keys the first. Without a password nobody knows whether the file is whole."""
    if password is not None:
        _check_whole(data, password)
    try:
        return _read(data, key_password if key_password is not None else password or "")
    except (IndexError, UnicodeDecodeError):
        raise BadJks("it is cut short or is no JKS file") from None


def _check_whole(data: bytes, password: str) -> None:
    body, told = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if not hmac.compare_digest(_sha1(_in_utf16(password), _SALT, body), told):
        raise BadJks("it is not whole, or it has another password")


def _read(data: bytes, password: str) -> Jks:
    reader = _Reader(data)
    _, version, count = reader.numbers(_HEADER)
    if version not in _VERSIONS:
        raise BadJks(f"its version is {version}, JKS has 1 and 2")
    key: bytes | None = None
    chain: list[bytes] = []
    trusted: list[bytes] = []
    for _ in range(count):
        (tag,) = reader.numbers(_U4)
        reader.text()
        reader.take(_DATE_BYTES)
        if tag == _TRUSTED:
            trusted.append(reader.certificate(version))
        elif tag == _KEY:
            protected = reader.block()
            own = [reader.certificate(version) for _ in range(*reader.numbers(_U4))]
            if key is None:
                key, chain = _unprotected(protected, password), own
        else:
            raise BadJks("it has an entry that is neither a key nor a certificate")
    return Jks(key, (*chain, *trusted))


class _Reader:
    """IndexError past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise IndexError("past the end")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def numbers(self, of: Struct) -> tuple[int, ...]:
        return of.unpack(self.take(of.size))

    def text(self) -> str:
        return self.take(*self.numbers(_U2)).decode()

    def block(self) -> bytes:
        return self.take(*self.numbers(_U4))

    def certificate(self, version: int) -> bytes:
        kind = self.text() if version > 1 else "X.509"
        if kind != "X.509":
            raise BadJks(f"it has a certificate of type {kind}")
        return self.block()


def _unprotected(data: bytes, password: str) -> bytes:
    (_, info), _ = element(data, 0)
    (_, algorithm), at = element(info, 0)
    (_, method), _ = element(algorithm, 0)
    if dotted(method) != _SUN_PROTECTION:
        raise BadJks("its key is protected in a way that is not JKS's")
    (_, sealed), _ = element(info, at)
    salt, body, told = (
        sealed[:_DIGEST_BYTES],
        sealed[_DIGEST_BYTES:-_DIGEST_BYTES],
        sealed[-_DIGEST_BYTES:],
    )
    secret = _in_utf16(password)
    key = bytes(a ^ b for a, b in zip(body, _stream(secret, salt), strict=False))
    if not hmac.compare_digest(_sha1(secret, key), told):
        raise BadJks("its key has another password")
    return key


def _stream(secret: bytes, salt: bytes) -> Iterator[int]:
    """Without end."""
    digest = salt
    while True:
        digest = _sha1(secret, digest)
        yield from digest


def _sha1(*parts: bytes) -> bytes:
    """What the format was made with; nothing here is safe because of it."""
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()


def _in_utf16(password: str) -> bytes:
    """As Java holds its characters."""
    return password.encode("utf-16-be")
