"""Key stores and trust stores, as files and settings hold them, brought to PEM.

    PEM      as it is
    PKCS12   by `cryptography` (kafkapy[cryptography])
    JKS      Java's own (jks.py); since version 9 Java writes PKCS12 under that name

What a file is, its first bytes say, not `ssl.keystore.type` alone.
"""

import os
import stat
from base64 import encodebytes
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.broker.config.security.tls import PEM, Store
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.server.tls import jks

_DER_SEQUENCE: Final = b"\x30"
_PEM_MARK: Final = b"-----BEGIN"
# Authorities of a whole system are a quarter of that; it is read while everybody waits.
MOST_BYTES: Final = 1024 * 1024


class Pem(NamedTuple):
    """`key` is "" in a trust store; `password` that of the key, as long as it needs one."""

    key: str
    certificates: str
    password: str | None


class FileState(NamedTuple):
    """What tells that a file was replaced."""

    modified_ns: int
    size: int
    inode: int


def file_state(store: Store) -> FileState | None:
    if store.location is None:
        return None
    try:
        found = Path(store.location).stat()
    except (OSError, ValueError):
        return None
    return FileState(found.st_mtime_ns, found.st_size, found.st_ino)


def read_store(store: Store) -> Pem:
    """ConfigError, without any secret, for what cannot be read."""
    if store.location is None:
        return Pem(store.pem_key or "", store.pem_certificates or "", store.key_password)
    data = _read(store, store.location)
    if data.startswith(jks.MAGIC):
        return _jks(store, data)
    if _PEM_MARK in data or (store.type == PEM and data[:1] != _DER_SEQUENCE):
        text = data.decode("utf-8", "replace")
        return Pem(text, text, store.key_password)
    if data[:1] != _DER_SEQUENCE:
        raise _bad(store, "it is neither PEM nor PKCS12 nor JKS.")
    return _pkcs12(store, data)


def _read(store: Store, path: str) -> bytes:
    """What a pipe or a device has to say would be waited for, or never end."""
    try:
        # To open some devices is to do something: they are looked at first.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _bad(store, "it is not a file.")
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(fd, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise _bad(store, "it is not a file.")
            data = bytearray()
            while len(data) <= MOST_BYTES and (chunk := file.read(MOST_BYTES + 1 - len(data))):
                data += chunk
    except OSError as failed:
        raise _bad(store, f"it cannot be read: {failed.strerror}.") from None
    except ValueError:
        raise _bad(store, "it cannot be read: no file has that name.") from None
    if len(data) > MOST_BYTES:
        raise _bad(store, f"it is larger than {MOST_BYTES} bytes.")
    return bytes(data)


def _pkcs12(store: Store, data: bytes) -> Pem:
    try:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise _bad(
            store, "to read PKCS12, install kafkapy[cryptography]; PEM needs nothing more."
        ) from None
    password = None if store.password is None else store.password.encode()
    try:
        found = load_pkcs12(data, password)
    except ValueError:
        raise _bad(store, "it cannot be read with this password.") from None
    chain = [*([found.cert] if found.cert is not None else []), *found.additional_certs]
    certificates = b"".join(one.certificate.public_bytes(Encoding.PEM) for one in chain)
    key = b""
    if found.key is not None:
        key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pem(key.decode(), certificates.decode(), None)


def _jks(store: Store, data: bytes) -> Pem:
    try:
        found = jks.read_jks(data, store.password, store.key_password)
    except jks.BadJks as bad:
        raise _bad(store, f"{bad}.") from None
    key = "" if found.key is None else _pem("PRIVATE KEY", found.key)
    return Pem(key, "".join(_pem("CERTIFICATE", one) for one in found.certificates), None)


def _pem(label: str, der: bytes) -> str:
    return f"-----BEGIN {label}-----\n{encodebytes(der).decode()}-----END {label}-----\n"


def _bad(store: Store, why: str) -> ConfigError:
    return ConfigError(store.key, store.location, why)
