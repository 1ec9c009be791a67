"""Short ways to write schemas."""

from __future__ import annotations

import json
from typing import Any

from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import SchemaType
from kafkapy.http.registry.evaluation import Rules, incompatibilities
from kafkapy.http.registry.languages.source import Import, Source


def avro(schema: Any, **imports: Any) -> Source:
    return Source(SchemaType.AVRO, _text(schema), _imports(imports))


def json_schema(schema: Any, **imports: Any) -> Source:
    return Source(SchemaType.JSON, _text(schema), _imports(imports))


def protobuf(text: str, imports: dict[str, str] | None = None) -> Source:
    return Source(SchemaType.PROTOBUF, text, _imports(imports or {}))


def proto3(text: str) -> Source:
    return protobuf(f'syntax = "proto3"; package p; {text}')


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def wrong(old: Source, new: Source, level: Level = Level.BACKWARD, lenient: bool = False) -> str:
    """The name of the first thing that is wrong, or nothing."""
    found = incompatibilities(new, [old], Rules(level, lenient))
    return found[0].split("'")[1] if found else ""


def _text(schema: Any) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema)


def _imports(imports: dict[str, Any]) -> tuple[Import, ...]:
    return tuple(Import(name, _text(each)) for name, each in imports.items())
