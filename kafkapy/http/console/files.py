"""Style and scripts, as they lie in the package; what a browser has is not sent again."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.http.problems import problem

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    content = _contents().get(name)
    if content is None:
        return problem(404, f"there is no file {name}")
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return Response(content, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


@cache
def _contents() -> dict[str, bytes]:
    """Small, few and read once: a path that somebody asks for never reaches a disk."""
    folder = files("kafkapy.http.console") / "static"
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
