"""What a value in Avro's binary form says, by the schema that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from typing import Any

import avro.errors
import avro.io

from kafkapy.http.registry.languages.avro.reading import read
from kafkapy.http.registry.languages.source import Source, Unfit

_NOT_ITS_OWN = (
    *(avro.errors.AvroException, AssertionError, EOFError, IndexError, KeyError),
    *(OverflowError, TypeError, ValueError, ArithmeticError),
)


@lru_cache(maxsize=50)
def reader(source: Source) -> Callable[[bytes], Any]:
    schema = read(source)
    datums = avro.io.DatumReader(schema)

    def said(value: bytes) -> Any:
        """Unfit for one of another schema, or with more behind it."""
        data = BytesIO(value)
        try:
            found = datums.read(avro.io.BinaryDecoder(data))
        except _NOT_ITS_OWN as why:
            raise Unfit(str(why)) from None
        if data.tell() != len(value):
            raise Unfit("more than the schema says")
        return found

    return said
