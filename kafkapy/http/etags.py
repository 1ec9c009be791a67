"""Entity tags: an answer's name by what it says.

`If-None-Match` spares an answer that has not changed (304); `If-Match` makes a change only of what
was seen (412). What is looked at and then changed may change in between, as with any of Kafka's
tools: the tag narrows that to a moment.
"""

import json
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.http.problems import Problem


def tag_of(said: Any) -> str:
    return f'"{sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]}"'


def tagged(request: Request, said: Any) -> Response:
    """200 with a tag, or 304 if that is what the client has."""
    tag = tag_of(said)
    if _names(request.headers.get("if-none-match"), tag):
        return Response(None, 304, {"etag": tag})
    return JSONResponse(said, headers={"etag": tag})


def require_match(request: Request, said: Any) -> None:
    """Problem if who asks has seen something else."""
    wanted = request.headers.get("if-match")
    if wanted is not None and not _names(wanted, tag_of(said)):
        raise Problem(412, "it is not any more what If-Match names: read it again")


def _names(header: str | None, tag: str) -> bool:
    listed = [each.strip().removeprefix("W/") for each in (header or "").split(",")]
    return tag in listed or "*" in listed
