import io
import random
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_writer
from kio.static.constants import EntityType

from kafkapy.protocol.codec import decoder, encoder
from kafkapy.protocol.schema import (
    FieldPlan,
    StructPlan,
    plan,
)

APIS = sorted(api_key_map)


def schemas_of(api_key: int) -> list[type]:
    """Every request and response schema that kio has for the API."""
    found: list[type] = []
    for version, kinds in schema_name_map[api_key_map[api_key]].items():
        if EntityType.request in kinds:
            found.append(load_request_schema(api_key, version))
        if EntityType.response in kinds:
            found.append(load_response_schema(api_key, version))
    return found


def kio_bytes(value: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(value))(out, value)
    return out.getvalue()


class Samples:
    """Objects of any schema, out of a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def of(self, what: StructPlan) -> Any:
        return what.schema(**{part.name: self._field(part) for part in _parts(what)})

    def _field(self, part: FieldPlan) -> Any:
        if part.tag is not None and self._chance.random() < 0.4:
            return part.default
        if part.nullable and self._chance.random() < 0.3:
            # kio has no 0x01 in front of these; see the tests of our own records.
            return None
        if part.is_array:
            size = self._chance.choice([0, 1, 2, 3, 3, 140])
            if part.struct is not None:
                size = min(size, 3)
            return tuple(self._value(part) for _ in range(size))
        return self._value(part)

    def _value(self, part: FieldPlan) -> Any:
        chance = self._chance
        bits = {"8": 8, "6": 16, "2": 32, "4": 64}
        match part.kind:
            case "struct":
                assert part.struct is not None
                return self.of(part.struct)
            case "string":
                return chance.choice(["", "a", "topic-näme", "x" * 127, "y" * 20_000])
            case "bytes" | "records":
                return chance.choice([b"", b"\0\xff", bytes(126), bytes(127), bytes(70_000)])
            case "uuid":
                return chance.choice([None, UUID(int=chance.getrandbits(128) | 1)])
            case "bool":
                return chance.random() < 0.5
            case "float64":
                return chance.choice([0.0, -1.5, 1e300])
            case "error_code":
                return _kio_error(chance.randrange(-1, 134))
            case "timedelta_i32" | "timedelta_i64":
                return timedelta(milliseconds=chance.choice([-1, 0, 30_000, 2**31 - 1]))
            case "datetime_i64":
                return datetime.fromtimestamp(chance.randrange(2**31), UTC)
            case kind if kind.startswith("uint"):
                return chance.getrandbits(bits[kind[-1]])
            case kind:
                size = bits[kind[-1]]
                return chance.choice([-1, 0, 1, -(2 ** (size - 1)), 2 ** (size - 1) - 1])


def _parts(what: StructPlan) -> tuple[FieldPlan, ...]:
    return (*what.untagged, *what.tagged)


def _kio_error(code: int) -> Any:
    from kio.schema.errors import ErrorCode as KioErrorCode

    return next(known for known in KioErrorCode if int(known) == code)


def as_dict(value: Any) -> Any:
    """The same message as a tree of dicts, with plain integers for codes and durations."""
    if is_dataclass(value):
        return {part.name: as_dict(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple):
        return [as_dict(one) for one in value]
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    return int(value) if type(value).__name__ == "ErrorCode" else value


@pytest.mark.parametrize("api_key", APIS, ids=lambda key: api_key_map[key])
def test_every_message_is_written_as_kio_writes_it_and_read_back_the_same(api_key: int) -> None:
    for schema in schemas_of(api_key):
        version = schema.__version__  # type: ignore[attr-defined]  # every kio schema has one
        what = plan(schema, version)
        encode, decode = encoder(schema), decoder(schema)
        for seed in range(4):
            value = Samples(seed).of(what)
            raw = kio_bytes(value)
            assert encode(value) == raw, (schema, value)
            assert encode(as_dict(value)) == raw, (schema, value)
            assert decode(raw, 0) == (value, len(raw))
            assert decode(memoryview(b"pad" + raw + b"behind"), 3) == (value, len(raw))
