"""The bodies of requests; Problem for what is not as it should be. Parameters: http/api."""

import json
from typing import Any

from starlette.requests import Request

from kafkapy.http.problems import Problem


async def json_object(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise Problem(400, "the body is not a JSON object")
    return body


def only(body: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The body, if it has no other fields: one that is misspelt is no wish."""
    unknown = sorted(body.keys() - set(known))
    if unknown:
        raise Problem(400, f"{unknown[0][:100]} is none of {', '.join(known)}")
    return body
