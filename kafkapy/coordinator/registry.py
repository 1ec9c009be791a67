"""Keys and values of coordinator records, by the number in front of the key.

    key    i16 record type, then the key's fields (never flexible)
    value  i16 version, then the value's fields; a null value is a tombstone

A record in memory is a pair `(key, value)` of the dataclasses that group/records/ and
txn/records.py declare; its type is the type of its key (formats/coordinators 1).
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from kafkapy.core.errors import CannotEncode, Corrupt, ErrorCode, Refused
from kafkapy.protocol.schemas.codec import decoder, encoder

_INT16 = struct.Struct(">h")
# What the length in front of a text can say.
LONGEST_TEXT: Final = 2**15 - 1

Pair = tuple[Any, Any | None]


class KeySchema(Protocol):
    """What a key's class says about itself and about the value beside it."""

    __record_type__: ClassVar[int]
    __value_type__: ClassVar[type]
    __value_versions__: ClassVar[range]


class _RecordType(NamedTuple):
    key_class: type
    prefix: bytes


class Registry:
    """The RecordCodec over one family of record types.

    `written_version` says which version of a value is written; it may depend on the value
    (an offset commit with an expire time is an old version) and on the features finalized.
    Codecs are compiled when a record needs them.
    """

    def __init__(
        self, key_classes: Iterable[type[KeySchema]], written_version: Callable[[Pair], int]
    ) -> None:
        self._written_version = written_version
        self._by_number: dict[int, _RecordType] = {}
        self._by_class: dict[type, _RecordType] = {}
        for key_class in key_classes:
            number = key_class.__record_type__
            row = _RecordType(key_class, _INT16.pack(number))
            self._by_number[number] = row
            self._by_class[key_class] = row

    def encode(self, record: Pair) -> tuple[bytes, bytes | None]:
        key, value = record
        row = self._by_class[type(key)]
        try:
            encoded_key = row.prefix + encoder(row.key_class, 0)(key)
            if value is None:
                return encoded_key, None
            version = self._written_version(record)
            value_class: type = type(value)
            return encoded_key, _INT16.pack(version) + encoder(value_class, version)(value)
        except CannotEncode:
            if any(len(text.encode()) > LONGEST_TEXT for text in _texts(record)):
                # Not our bug but a client's name, which requests may carry and records not.
                raise Refused(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"a text of more than {LONGEST_TEXT} bytes cannot be stored",
                ) from None
            raise

    def decode(self, key: bytes, value: bytes | None) -> Pair | None:
        if len(key) < 2:
            raise Corrupt(f"a record key of {len(key)} bytes")
        (number,) = _INT16.unpack_from(key)
        row = self._by_number.get(number)
        if row is None:
            return None
        decoded_key, _ = decoder(row.key_class, 0)(key, 2)
        if value is None:
            return decoded_key, None
        return decoded_key, self._decode_value(row.key_class, value)

    def _decode_value(self, key_class: type[Any], value: bytes) -> Any:
        if len(value) < 2:
            raise Corrupt(f"a value of {len(value)} bytes under {key_class.__name__}")
        (version,) = _INT16.unpack_from(value)
        if version not in key_class.__value_versions__:
            raise Corrupt(f"value version {version} under {key_class.__name__}")
        value_class: type = key_class.__value_type__
        return decoder(value_class, version)(value, 2)[0]


def _texts(value: Any) -> Iterator[str]:
    """Every text in a record, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _texts(getattr(value, part.name))
