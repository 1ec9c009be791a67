"""Values of an Avro schema, between JSON and Avro's binary encoding, by fastavro.

JSON is Avro's own encoding of it: a union's value names its branch (`{"string": "x"}`), bytes are
letters up to U+00FF. Written by hand, a value may leave branches out where the schema says which is
meant.
"""

from __future__ import annotations

import io
import json
from typing import Any

import avro.errors
import avro.io
import avro.schema
import fastavro
from fastavro.types import Schema as Parsed
from fastavro.validation import ValidationError

from kafkapy.http.registry.languages.avro import reading
from kafkapy.http.registry.languages.source import InvalidSchema, Source, Unfit

# What fastavro raises for values that do not fit, and for bytes that are no value.
_WRONG = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError),
    *(OverflowError, ArithmeticError, StopIteration, RecursionError, AssertionError),
    ValidationError,
    avro.errors.AvroException,
)


class Values:
    """Of one schema."""

    def __init__(self, source: Source) -> None:
        # Bounds, and names that are no names.
        checked = reading.read(source)
        # Ten bytes can say that they are four billion billion nothings. Apache's package counts.
        self._counted = avro.io.DatumReader(checked) if _may_be_endless(checked) else None
        known: dict[str, Any] = {}
        try:
            for imported in source.imports:
                fastavro.parse_schema(reading.tree(imported.text), named_schemas=known)
            self._schema: Parsed = fastavro.parse_schema(
                reading.tree(source.text), named_schemas=known
            )
        except (fastavro.schema.SchemaParseException, *_WRONG) as why:
            raise InvalidSchema(str(why)[:500]) from None

    def write(self, value: Any, message: str | None) -> bytes:
        if message is not None:
            raise Unfit("a schema in Avro has no messages to choose from")
        try:
            found = next(iter(fastavro.json_reader(io.StringIO(json.dumps(value)), self._schema)))
            return self._binary(found)
        except _WRONG:
            pass
        try:
            return self._binary(value)
        except _WRONG as why:
            raise Unfit(_said(why)) from None

    def plain(self, data: bytes) -> Any:
        """For people: without unions' branches, dates as dates."""
        stream = io.BytesIO(data)
        try:
            if self._counted is not None:
                self._counted.read(avro.io.BinaryDecoder(io.BytesIO(data)))
            found = fastavro.schemaless_reader(stream, self._schema, None)
        except _WRONG as why:
            raise Unfit(_said(why)) from None
        if stream.read(1):
            raise Unfit("more bytes than the schema has")
        return found

    def read(self, data: bytes) -> Any:
        found, said = self.plain(data), io.StringIO()
        try:
            fastavro.json_writer(said, self._schema, [found])
        except _WRONG as why:
            raise Unfit(_said(why)) from None
        # NaN and the infinities are no JSON: they are told by name.
        return json.loads(said.getvalue(), parse_constant=str)

    def _binary(self, value: Any) -> bytes:
        stream = io.BytesIO()
        # The writer itself would write an int of any size.
        fastavro.validate(value, self._schema)
        fastavro.schemaless_writer(stream, self._schema, value, strict_allow_default=True)
        return stream.getvalue()


def _may_be_endless(schema: avro.schema.Schema) -> bool:
    """Whether somewhere in it is a list of what takes no bytes."""
    waiting, seen = [schema], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case avro.schema.ArraySchema():
                if _is_nothing(one.items, ()):
                    return True
                waiting.append(one.items)
            case avro.schema.MapSchema():
                waiting.append(one.values)
            case avro.schema.UnionSchema():
                waiting.extend(one.schemas)
            case avro.schema.RecordSchema():
                waiting.extend(field.type for field in one.fields)
    return False


def _is_nothing(schema: avro.schema.Schema, within: tuple[int, ...]) -> bool:
    """Whether its values take no bytes; one that holds itself has some somewhere."""
    match schema:
        case avro.schema.FixedSchema():
            return int(schema.size) == 0
        case avro.schema.RecordSchema():
            if id(schema) in within:
                return True
            inside = (*within, id(schema))
            return all(_is_nothing(field.type, inside) for field in schema.fields)
    return str(schema.type) == "null"


def _said(why: BaseException) -> str:
    return f"{type(why).__name__}: {why}"[:500]
