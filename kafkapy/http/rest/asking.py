"""What pages read out of a request; Problem for what is not as it should be."""

import json
from typing import Any

from starlette.requests import HTTPConnection, Request

from kafkapy.http.problems import Problem


async def json_object(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise Problem(400, "the body is not a JSON object")
    return body


def number(request: HTTPConnection, name: str, default: int, *, most: int, least: int = 0) -> int:
    """Of the query."""
    said = request.query_params.get(name)
    return default if said is None else bounded(said, name, least, most)


def bounded(said: Any, name: str, least: int, most: int) -> int:
    try:
        found = int(said) if not isinstance(said, (bool, float)) else None
    except (ValueError, TypeError):
        found = None
    if found is None or not least <= found <= most:
        raise Problem(400, f"{name} is a number from {least} to {most}")
    return found


def partition_of(request: HTTPConnection) -> int:
    return bounded(request.path_params["partition"], "partition", 0, 2**31 - 1)


def word(request: HTTPConnection, name: str, allowed: tuple[str, ...]) -> str:
    """Of the query, the first being the default."""
    said = request.query_params.get(name, allowed[0])
    if said not in allowed:
        raise Problem(400, f"{name} is one of {', '.join(allowed)}")
    return said


def flag(request: HTTPConnection, name: str) -> bool:
    return word(request, name, ("false", "true")) == "true"


def only(body: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The body, if it has no other fields: one that is misspelt is no wish."""
    unknown = sorted(body.keys() - set(known))
    if unknown:
        raise Problem(400, f"{unknown[0][:100]} is none of {', '.join(known)}")
    return body
