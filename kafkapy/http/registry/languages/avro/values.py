"""Values of an Avro schema, between JSON and Avro's binary encoding, by fastavro.

JSON is Avro's own encoding of it: a union's value names its branch (`{"string": "x"}`), bytes are
letters up to U+00FF. Written by hand, a value may leave branches out where the schema says which is
meant.
"""

from __future__ import annotations

import io
import json
from typing import Any

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
    MemoryError,  # four billion nothings are ten bytes: the worker has a bound (worker.py)
)


class Values:
    """Of one schema."""

    def __init__(self, source: Source) -> None:
        # Bounds, and names that are no names.
        reading.read(source)
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


def _said(why: BaseException) -> str:
    return f"{type(why).__name__}: {why}"[:500]
