"""The OpenAPI 3.1 document, of what routes declare (declaring.py).

Shapes with a title become components; whoever adds a page adds nothing here.
"""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.routing import BaseRoute

from kafkapy import __version__
from kafkapy.http import problems
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Api, Declaration, Told
from kafkapy.http.api.parameters import IN_PATHS

_ABOUT: Final = (
    "Records, topics and groups over HTTP, on every node. Who asks is a user of Kafka's, and "
    "Kafka's ACLs and quotas judge. Whatever is refused is told as application/problem+json."
)
# Any page: not understood, not logged in, not allowed, another host's name, too fast, too long a
# head, nobody leads it now, not in time.
_ANYWHERE: Final = (400, 401, 403, 421, 429, 431, 503, 504)
_WITH_BODY: Final = (413,)
_OPEN: Final = re.compile(r"{(\w+)(?::\w+)?}")
PROBLEM: Final[shapes.Shape] = {
    "title": "Problem",
    "type": "object",
    "description": "RFC 9457; `error` and `error_code` are Kafka's, where it is Kafka that refused",
    "properties": {
        "title": shapes.TEXT,
        "status": shapes.number(400, 599),
        "detail": shapes.TEXT,
        "error": shapes.TEXT,
        "error_code": shapes.WHOLE,
    },
    "required": ["title", "status", "detail"],
}


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    components: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if isinstance(route, Api):
            said = paths.setdefault(_OPEN.sub(r"{\1}", route.path), {})
            names = _OPEN.findall(route.path)
            if names:
                said["parameters"] = [IN_PATHS[name].document() for name in names]
            for method, one in route.declarations.items():
                said[method.lower()] = _operation(one, method, route.path, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kafkapy",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"basic": []}, {"bearer": []}, {"certificate": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            },
        },
    }


def _operation(
    said: Declaration, method: str, path: str, components: dict[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": _name(method, path),
        "summary": said.summary,
        "tags": [said.subject],
    }
    if said.told:
        found["description"] = said.told
    if said.parameters:
        found["parameters"] = [_hoisted(one.document(), components) for one in said.parameters]
    if said.body is not None:
        found["requestBody"] = {
            "description": said.body.told,
            "required": True,
            "content": _content(said.body, components),
        }
    refusals = {*_ANYWHERE, *said.problems, *(_WITH_BODY if said.body else ())}
    refused = {
        status: Told(HTTPStatus(status).phrase, PROBLEM, problems.MEDIA_TYPE) for status in refusals
    }
    found["responses"] = {
        str(status): _response(told, components)
        for status, told in sorted({**refused, **said.answers}.items())
    }
    return found


def _response(told: Told, components: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"description": told.told}
    if told.headers:
        found["headers"] = {
            name: {"description": about, "schema": shapes.TEXT}
            for name, about in told.headers.items()
        }
    if told.shape is not None:
        found["content"] = _content(told, components)
    return found


def _content(told: Told, components: dict[str, Any]) -> dict[str, Any]:
    return {told.media_type: {"schema": _hoisted(told.shape, components)}}


def _hoisted(said: Any, components: dict[str, Any]) -> Any:
    """With a reference in place of each shape that has a title."""
    if isinstance(said, Mapping):
        title = said.get("title")
        if not isinstance(title, str):
            return {key: _hoisted(one, components) for key, one in said.items()}
        if title not in components:
            components[title] = {}
            components[title] = {key: _hoisted(one, components) for key, one in said.items()}
        return {"$ref": f"#/components/schemas/{title}"}
    if isinstance(said, list):
        return [_hoisted(one, components) for one in said]
    return said


def _name(method: str, path: str) -> str:
    """GET /api/v1/topics/{topic}: get_topics_topic."""
    words = re.findall(r"\w+", path.removeprefix("/api/v1"))
    return "_".join([method.lower(), *words]).replace("-", "_")
