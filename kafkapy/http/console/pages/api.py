"""What there is over HTTP for programs: the OpenAPI document, for people to read."""

import json
from typing import Any, NamedTuple

from kafkapy.http.api.document import document
from kafkapy.http.console.asked import Asked, Pages


class Shown(NamedTuple):
    """One operation."""

    method: str
    path: str
    said: dict[str, Any]
    parameters: list[dict[str, Any]]
    body: str
    answers: list[tuple[str, str, str]]


async def show(asked: Asked) -> Any:
    told = document(asked.request.app.routes)
    subjects: dict[str, list[Shown]] = {}
    for path, methods in told["paths"].items():
        shared = methods.get("parameters", [])
        for method, said in methods.items():
            if method != "parameters":
                own = said.get("parameters", [])
                body = _shape(said["requestBody"]) if "requestBody" in said else ""
                answers = [
                    (status, one["description"], _shape(one))
                    for status, one in said["responses"].items()
                ]
                row = Shown(method.upper(), path, said, [*shared, *own], body, answers)
                subjects.setdefault(said["tags"][0], []).append(row)
    schemas = {
        name: json.dumps(one, indent=2) for name, one in told["components"]["schemas"].items()
    }
    return asked.page(
        "api.html",
        subjects=dict(sorted(subjects.items())),
        schemas=schemas,
        version=told["info"]["version"],
    )


def _shape(told: dict[str, Any]) -> str:
    """Of a body or an answer, on one line where it is short."""
    for one in told.get("content", {}).values():
        short = json.dumps(one["schema"])
        return short if len(short) < 80 else json.dumps(one["schema"], indent=2)
    return ""


PAGES: Pages = (("GET", "/console/api", show),)
