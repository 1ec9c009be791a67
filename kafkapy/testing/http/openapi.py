"""The OpenAPI document of the table of routes, and a page to read that is made from it."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any, Final

from kafkapy import __version__
from kafkapy.testing.http.routes import ROUTES, Field, Route

_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>kafkapy test API</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
code {{ font-size: 13px }} td {{ padding: .3em .8em .3em 0; vertical-align: top }}
table {{ border-collapse: collapse }} tr {{ border-top: 1px solid #ddd }}
</style>
<h1>{title}</h1>
<p>{about}</p>
<p>The same for machines: <a href="/openapi.json">openapi.json</a></p>
<table>
{rows}
</table>
</html>
"""


def path_fields(route: Route) -> list[Field]:
    return [
        Field(name, "integer" if name == "id" else "string", is_required=True)
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def document() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kafkapy test API",
            "version": __version__,
            "description": (
                "A real Kafka broker for tests in any language: look inside, trip it up, "
                "put its clock forward. Bodies and answers are JSON."
            ),
        },
        "paths": paths,
    }


def page() -> str:
    """HTML without scripts or anything from elsewhere."""
    described = document()
    rows = [
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(operation['summary'])}{_shown(operation)}</td></tr>"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    info = described["info"]
    return _PAGE.format(
        title=escape(info["title"]), about=escape(info["description"]), rows="\n".join(rows)
    )


def _operation(route: Route) -> dict[str, Any]:
    parameters = [
        {"name": one.name, "in": where, "required": one.is_required, "schema": _schema(one)}
        for where, fields in (("path", path_fields(route)), ("query", route.query))
        for one in fields
    ]
    operation: dict[str, Any] = {
        "summary": route.about,
        "operationId": _operation_id(route),
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done."},
            "400": {"description": "The request is not understood; `message` says why."},
            "404": {"description": "There is no such thing."},
            "409": {"description": "Refused; `error` is Kafka's name where Kafka refused."},
            "504": {"description": "What was waited for did not come."},
        },
    }
    if route.body:
        schema = {
            "type": "object",
            "properties": {one.name: _schema(one) for one in route.body},
            "required": [one.name for one in route.body if one.is_required],
            "additionalProperties": False,
        }
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", route.path)
    return route.method.lower() + "".join(word.title() for word in words)


def _schema(field: Field) -> dict[str, Any]:
    # Headers come as an object or as a list.
    kind: Any = ["object", "array"] if field.name == "headers" else field.kind
    return {"type": kind, **({"description": field.about} if field.about else {})}


def _shown(operation: dict[str, Any]) -> str:
    """The fields of an operation, for people."""
    named = [(one["name"], one["schema"]) for one in operation["parameters"] if one["in"] != "path"]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        named += schema["properties"].items()
    return f"<br>{_list(named)}" if named else ""


def _list(named: Iterable[tuple[str, dict[str, Any]]]) -> str:
    return ", ".join(
        f"<code>{escape(name)}</code>"
        + (f" ({escape(schema['description'])})" if "description" in schema else "")
        for name, schema in named
    )
