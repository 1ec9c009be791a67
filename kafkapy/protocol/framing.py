"""Frames and headers.

    frame     i32 size | header | body
    request   v0  i16 api key | i16 version | i32 correlation id
              v1  v0 | client id
              v2  v1 | tags                 (flexible versions)
    response  v0  i32 correlation id
              v1  v0 | tags                 (flexible versions, ApiVersions excepted)

The client id has a 16-bit length in v2 too: the header is read before anybody knows
whether the version is one we speak.
"""

from codecs import utf_8_decode
from struct import Struct
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import (
    FIRST_FLEXIBLE_VERSION,
    ApiKey,
    request_header_version,
    response_header_version,
)
from kafkapy.protocol.schemas.decoder_source import MAX_BYTES_OF_ANY_STRING, read_long_string
from kafkapy.protocol.varint import skip_tags

_HEAD: Final = Struct(">hhi")
_HEAD_AND_CLIENT_ID_LENGTH: Final = Struct(">hhih")
_INT32: Final = Struct(">i")
_INT32_AND_NO_TAGS: Final = Struct(">ix")
_API_COUNT: Final = len(FIRST_FLEXIBLE_VERSION)


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def read_request_header(frame: bytes | memoryview) -> tuple[RequestHeader, int]:
    """The header, and where the body begins. `frame` is without its size.

    Versions are not judged: ApiVersions answers unknown ones too. A key that no Kafka
    ever had is Corrupt, since nothing says what its header looks like.
    """
    size = len(frame)
    position = _HEAD_AND_CLIENT_ID_LENGTH.size
    if size < position:
        return _read_shortest_header(frame)
    api_key, version, correlation_id, length = _HEAD_AND_CLIENT_ID_LENGTH.unpack_from(frame)
    if not 0 <= api_key < _API_COUNT:
        raise Corrupt(f"api key {api_key}")
    if api_key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return _read_shortest_header(frame)
    client_id = None
    if length >= 0:
        end = position + length
        if end > size:
            raise Corrupt(f"client id of {length} bytes in a request of {size}")
        if length > MAX_BYTES_OF_ANY_STRING:
            client_id = read_long_string(frame[position:end], "client id")
        else:
            client_id = utf_8_decode(frame[position:end], "replace")[0]
        position = end
    if version >= FIRST_FLEXIBLE_VERSION[api_key]:
        has_no_tags = position < size and not frame[position]
        position = position + 1 if has_no_tags else skip_tags(frame, position)
    return RequestHeader(api_key, version, correlation_id, client_id), position


def _read_shortest_header(frame: bytes | memoryview) -> tuple[RequestHeader, int]:
    """Version 0, which has no client id; anything else this short is cut short."""
    if len(frame) >= _HEAD.size:
        api_key, version, correlation_id = _HEAD.unpack_from(frame)
        if 0 <= api_key < _API_COUNT and request_header_version(api_key, version) == 0:
            return RequestHeader(api_key, version, correlation_id, None), _HEAD.size
    raise Corrupt(f"a request of {len(frame)} bytes")


def request_head(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A request's header, for our own clients."""
    kind = request_header_version(api_key, version)
    assert kind > 0, (api_key, version)
    text = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(text)
    head = _HEAD_AND_CLIENT_ID_LENGTH.pack(api_key, version, correlation_id, length)
    return b"".join((head, text, b"\0" if kind == 2 else b""))


def response_head(api_key: int, version: int, correlation_id: int) -> bytes:
    """A response's header, without the size in front of it."""
    if response_header_version(api_key, version):
        return _INT32_AND_NO_TAGS.pack(correlation_id)
    return _INT32.pack(correlation_id)


def read_response_head(api_key: int, version: int, frame: bytes | memoryview) -> tuple[int, int]:
    """The correlation id, and where the body begins; for our own clients."""
    if len(frame) < _INT32.size:
        raise Corrupt(f"a response of {len(frame)} bytes")
    (correlation_id,) = _INT32.unpack_from(frame)
    if response_header_version(api_key, version):
        return correlation_id, skip_tags(frame, _INT32.size)
    return correlation_id, _INT32.size


def frame(head: bytes, *parts: bytes) -> bytes:
    """A whole frame: the size, the header, the body."""
    return b"".join((_INT32.pack(len(head) + sum(map(len, parts))), head, *parts))
