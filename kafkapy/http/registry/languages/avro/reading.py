"""Reading Avro schemas with Apache's own package, and the bounds that it does not have.

`avro.schema` checks names, symbols, unions and sizes. It recurses, so how deep a schema is is
counted first, and named types of imported schemas are put before it.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import avro.errors
import avro.name
import avro.schema

from kafkapy.http.registry.languages.source import InvalidSchema, Source

MAX_DEPTH = 100

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))


def read(source: Source) -> avro.schema.Schema:
    """The schema, with its references resolved."""
    names = avro.name.Names()
    for imported in source.imports:
        _made(tree(imported.text), names)
    return _made(tree(source.text), names)


def tree(text: str) -> Any:
    """The JSON of a schema. A bare name of a primitive type is one, too, without quotes."""
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        if text.strip() in PRIMITIVES:
            return text.strip()
        raise InvalidSchema("not JSON") from None
    _check_depth(made)
    return made


def _made(made: Any, names: avro.name.Names) -> avro.schema.Schema:
    with warnings.catch_warnings():
        # Of a logical type that is not valid: it is ignored then, as the specification says.
        warnings.simplefilter("ignore")
        try:
            return avro.schema.make_avsc_object(made, names)
        except (avro.errors.AvroException, KeyError, TypeError, ValueError, AttributeError) as why:
            raise InvalidSchema(str(why)[:500]) from None


def _check_depth(made: Any) -> None:
    layer, depth = [made], 0
    while layer:
        depth += 1
        # Each type in a type is two or three layers of JSON.
        if depth > 3 * MAX_DEPTH:
            raise InvalidSchema(f"nested deeper than {MAX_DEPTH}")
        below: list[Any] = []
        for each in layer:
            if isinstance(each, dict):
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
        layer = [each for each in below if isinstance(each, (dict, list))]
