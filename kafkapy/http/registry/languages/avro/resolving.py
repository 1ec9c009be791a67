"""An Avro schema with what it refers to written into it, where it is first used."""

from __future__ import annotations

import json
from typing import Any

from kafkapy.http.registry.languages.avro.reading import PRIMITIVES, tree
from kafkapy.http.registry.languages.avro.writing import canonical
from kafkapy.http.registry.languages.source import Source


def resolved(source: Source) -> str:
    """The text of a schema that needs no references any more."""
    known: dict[str, Any] = {}
    for imported in source.imports:
        _collect(tree(imported.text), None, known)
    made = _written(tree(source.text), None, known, set())
    return canonical(json.dumps(made))


def _name(schema: dict[str, Any], around: str | None) -> str:
    name = str(schema["name"])
    space = schema.get("namespace", around)
    return name if "." in name or not space else f"{space}.{name}"


def _inside(schema: dict[str, Any], around: str | None) -> str | None:
    return _name(schema, around).rpartition(".")[0] if "name" in schema else around


def _collect(schema: Any, around: str | None, known: dict[str, Any]) -> None:
    """Every named type, with its full name written out so that it means the same elsewhere."""
    if isinstance(schema, list):
        for each in schema:
            _collect(each, around, known)
    elif isinstance(schema, dict):
        within = _inside(schema, around)
        if "name" in schema and "type" in schema:
            known.setdefault(_name(schema, around), {**schema, "namespace": within or ""})
        for key in ("type", "items", "values"):
            if isinstance(schema.get(key), (dict, list)):
                _collect(schema[key], within, known)
        for field in schema.get("fields") or ():
            _collect(field["type"], within, known)


def _written(schema: Any, around: str | None, known: dict[str, Any], seen: set[str]) -> Any:
    match schema:
        case str() if schema not in PRIMITIVES:
            full = schema if "." in schema or not around else f"{around}.{schema}"
            full = full if full in known else schema
            if full not in known or full in seen:
                return schema
            return _written(known[full], None, known, seen)
        case list():
            return [_written(each, around, known, seen) for each in schema]
        case dict():
            within = _inside(schema, around) if "name" in schema else around
            if "name" in schema:
                seen.add(_name(schema, around))
            made = dict(schema)
            for key in ("type", "items", "values"):
                # A name under `type` says what the object is: it is no reference.
                if isinstance(made.get(key), (dict, list)) or (key != "type" and key in made):
                    made[key] = _written(made[key], within, known, seen)
            if "fields" in made:
                made["fields"] = [
                    {**field, "type": _written(field["type"], within, known, seen)}
                    for field in made["fields"]
                ]
            return made
        case _:
            return schema
