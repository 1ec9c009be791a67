"""Bodies of requests and responses, of every API and version that kio has a schema for.

    decode_request(api, version, bytes) -> kio's request object
    encode_response(api, version, dict) -> bytes
    encode_request, decode_response       the same from the other side, for our own clients

Handlers write one dict for all versions: keys that only other versions of the API have
are dropped, keys that no version has are an AssertionError, and what is missing is the
schema's default. Names are kio's (`throttle_time`, not `throttle_time_ms`); durations and
moments may be plain milliseconds, error codes any integer.

kio's own reader is not used. It allocates room for whatever count an array claims, so a
frame of twenty bytes makes it ask for 30 GB and abort the process; it also refuses tags
it does not know. schemas/codec.py's decoders check first and skip those tags, as Kafka does.

Schema modules are imported on first use (2 to 4 ms each); `warm` does that ahead of time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import is_flexible, request_header_version
from kafkapy.protocol.schemas.codec import Decoder, Encoder, compile_encoder, decoder
from kafkapy.protocol.schemas.kio_schemas import (
    EntityType,
    api_key_map,
    load_request_schema,
    load_response_schema,
    schema_name_map,
)
from kafkapy.protocol.schemas.schema import StructPlan, plan

__all__ = [
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "is_flexible",
    "request_header_version",
    "warm",
]

# As kio's EntityType names them; a string's hash is kept, that of an enum is Python code.
_Kind = Literal["request", "response"]
_REQUEST: Final = "request"
_RESPONSE: Final = "response"


def decode_request(api_key: int, version: int, body: bytes | memoryview) -> Any:
    """The request; bytes behind it are ignored, as Kafka does. Raises Corrupt only."""
    return _decoder(_REQUEST, api_key, version)(body, 0)[0]


def encode_response(api_key: int, version: int, body: Mapping[str, Any] | object) -> bytes:
    return _encoder(_RESPONSE, api_key, version)(body)


def encode_request(api_key: int, version: int, body: Mapping[str, Any] | object) -> bytes:
    return _encoder(_REQUEST, api_key, version)(body)


def decode_response(api_key: int, version: int, body: bytes | memoryview) -> Any:
    """The response; its `records` are slices of `body`. Raises Corrupt only."""
    return _decoder(_RESPONSE, api_key, version)(body, 0)[0]


def warm(api_key: int, version: int) -> Iterator[None]:
    """Import and compile what one API needs, so that no request waits for it. A piece of the
    work for each `next`: together they take milliseconds."""
    _schema(_REQUEST, api_key, version)
    yield
    _schema(_RESPONSE, api_key, version)
    yield
    _decoder(_REQUEST, api_key, version)
    yield
    _encoder(_RESPONSE, api_key, version)


@cache
def _decoder(kind: _Kind, api_key: int, version: int) -> Decoder:
    if version not in _versions(kind, api_key):
        raise Corrupt(f"no {kind} of API {api_key} has version {version}")
    return decoder(_schema(kind, api_key, version), bounds_strings=kind == _REQUEST)


@cache
def _encoder(kind: _Kind, api_key: int, version: int) -> Encoder:
    assert version in _versions(kind, api_key), (kind, api_key, version)
    schema = _schema(kind, api_key, version)
    return compile_encoder(schema, version, _other_versions(kind, api_key))


def _schema(kind: _Kind, api_key: int, version: int) -> type:
    load = load_request_schema if kind == _REQUEST else load_response_schema
    return load(api_key, version)


@cache
def _versions(kind: _Kind, api_key: int) -> tuple[int, ...]:
    """The versions there is a schema for, newest first."""
    versions = schema_name_map.get(api_key_map.get(api_key, ""), {})
    entity = EntityType[kind]
    return tuple(sorted((one for one in versions if entity in versions[one]), reverse=True))


def _other_versions(kind: _Kind, api_key: int) -> Callable[[tuple[str, ...], str], bool]:
    """Whether any version has `key` in the struct at `path`. The newest is asked first:
    that is what handlers write for, and each further one costs an import."""

    def has(path: tuple[str, ...], key: str) -> bool:
        return any(
            (path, key) in _fields(kind, api_key, version) for version in _versions(kind, api_key)
        )

    return has


@cache
def _fields(kind: _Kind, api_key: int, version: int) -> frozenset[tuple[tuple[str, ...], str]]:
    """(path of the struct, name of the field) for all fields of one version."""

    def walk(struct: StructPlan) -> Iterable[tuple[tuple[str, ...], str]]:
        for part in (*struct.untagged, *struct.tagged):
            yield struct.path, part.name
            if part.struct is not None:
                yield from walk(part.struct)

    return frozenset(walk(plan(_schema(kind, api_key, version), version)))
