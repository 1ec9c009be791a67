"""Avro schemas as text: canonical, so that what means the same is stored once.

Canonical here is what Java's Avro prints: no white space, attributes in its order, a namespace
only where it differs from the one around it. (It is not the specification's Parsing Canonical
Form, which drops documentation, defaults and logical types.) Normalized goes further: full
names, everything sorted that means the same in any order.
"""

from __future__ import annotations

import json
from typing import Any

from kafkapy.http.registry.languages.avro.reading import PRIMITIVES, tree

_NAMED = ("record", "error", "enum", "fixed")
_OWN = {
    "record": ("fields",),
    "error": ("fields",),
    "enum": ("symbols", "default"),
    "fixed": ("size",),
    "array": ("items",),
    "map": ("values",),
}
_OF_NAMED = ("type", "name", "namespace", "doc", "aliases")
_OF_FIELDS = ("name", "type", "doc", "default", "order", "aliases")


def canonical(text: str) -> str:
    """The text of a valid schema as it is stored."""
    return _dumped(_shown(tree(text), None))


def normalized(text: str) -> str:
    """The same for all texts that differ in order and spelling only."""
    return _dumped(_normal(tree(text), None))


def _dumped(made: Any) -> str:
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False)


def _split(schema: dict[str, Any], around: str | None) -> tuple[str, str | None]:
    """A type's name and its namespace."""
    space, dot, name = schema["name"].rpartition(".")
    if dot:
        return name, space or None
    if "namespace" in schema:
        return name, schema["namespace"] or None
    return name, around


def _reference(name: str, around: str | None) -> str:
    """A type named elsewhere: with its namespace unless that is the one around."""
    space, dot, short = name.rpartition(".")
    return short if dot and space == around else name


def _shown(schema: Any, around: str | None) -> Any:
    match schema:
        case str():
            return schema if schema in PRIMITIVES else _reference(schema, around)
        case list():
            return [_shown(each, around) for each in schema]
        case _:
            return _shown_object(schema, around)


def _shown_object(schema: dict[str, Any], around: str | None) -> Any:
    kind = schema["type"]
    if not isinstance(kind, str):
        return _shown(kind, around)
    if kind not in _OWN:
        extra = {key: value for key, value in schema.items() if key != "type"}
        return {"type": kind, **extra} if extra else _shown(kind, around)
    made: dict[str, Any] = {"type": kind}
    inside = around
    if kind in _NAMED:
        made["name"], inside = _split(schema, around)
        if inside != around:
            made["namespace"] = inside or ""
        if schema.get("doc") is not None:
            made["doc"] = schema["doc"]
    for key in _OWN[kind]:
        if key == "fields":
            made["fields"] = [_shown_field(field, inside) for field in schema["fields"]]
        elif key in ("items", "values"):
            made[key] = _shown(schema[key], inside)
        elif key in schema:
            made[key] = schema[key]
    known = {"type", *_OWN[kind], *(_OF_NAMED if kind in _NAMED else ())}
    made.update({key: value for key, value in schema.items() if key not in known})
    if kind in _NAMED and schema.get("aliases"):
        made["aliases"] = [_reference(alias, inside) for alias in schema["aliases"]]
    return made


def _shown_field(field: dict[str, Any], around: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field["name"], "type": _shown(field["type"], around)}
    if field.get("doc") is not None:
        made["doc"] = field["doc"]
    if "default" in field:
        made["default"] = field["default"]
    if field.get("order", "ascending") != "ascending":
        made["order"] = field["order"]
    if field.get("aliases"):
        made["aliases"] = field["aliases"]
    made.update({key: value for key, value in field.items() if key not in _OF_FIELDS})
    return made


def _full(name: str, around: str | None) -> str:
    return name if "." in name or around is None else f"{around}.{name}"


def _normal(schema: Any, around: str | None) -> Any:
    match schema:
        case str():
            return schema if schema in PRIMITIVES else _full(schema, around)
        case list():
            return [_normal(each, around) for each in schema]
        case _:
            return _normal_object(schema, around)


def _normal_object(schema: dict[str, Any], around: str | None) -> Any:
    kind = schema["type"]
    if not isinstance(kind, str):
        return _normal(kind, around)
    made: dict[str, Any] = {}
    inside = around
    if kind in _NAMED:
        name, inside = _split(schema, around)
        made["name"] = _full(name, inside)
    if kind not in _OWN and kind not in PRIMITIVES:
        return _full(kind, around)
    made["type"] = kind
    match kind:
        case "record" | "error":
            made["fields"] = [_normal_field(field, inside) for field in schema["fields"]]
        case "enum":
            made["symbols"] = schema["symbols"]
        case "fixed":
            made["size"] = schema["size"]
        case "array":
            made["items"] = _normal(schema["items"], inside)
        case "map":
            made["values"] = _normal(schema["values"], inside)
    if schema.get("doc") and kind in _NAMED:
        made["doc"] = schema["doc"]
    if schema.get("aliases") and kind in _NAMED:
        made["aliases"] = sorted({_full(alias, inside) for alias in schema["aliases"]})
    if kind == "enum" and "default" in schema:
        made["default"] = schema["default"]
    known = {"type", *_OWN.get(kind, ()), *(_OF_NAMED if kind in _NAMED else ())}
    made.update(_sorted({key: value for key, value in schema.items() if key not in known}))
    return kind if made == {"type": kind} else made


def _normal_field(field: dict[str, Any], around: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field["name"], "type": _normal(field["type"], around)}
    made["order"] = field.get("order", "ascending")
    if field.get("doc") is not None:
        made["doc"] = field["doc"]
    if field.get("aliases"):
        made["aliases"] = sorted(set(field["aliases"]))
    if "default" in field:
        made["default"] = _sorted(field["default"])
    made.update(_sorted({key: value for key, value in field.items() if key not in _OF_FIELDS}))
    return made


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list():
            return [_sorted(each) for each in value]
        case _:
            return value
