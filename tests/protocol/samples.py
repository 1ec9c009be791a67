"""Messages to try things on: objects of any schema, out of a seeded generator."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from kafkapy.protocol.schemas.schema import FieldPlan, StructPlan


def schemas_of(api_key: int) -> list[type]:
    """Every request and response schema that kio has for the API."""
    found: list[type] = []
    for version, kinds in schema_name_map[api_key_map[api_key]].items():
        if EntityType.request in kinds:
            found.append(load_request_schema(api_key, version))
        if EntityType.response in kinds:
            found.append(load_response_schema(api_key, version))
    return found


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
    return next(known for known in KioErrorCode if int(known) == code)
