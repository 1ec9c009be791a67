"""One request and its answer, in the media types and the error bodies of Confluent's registry."""

from __future__ import annotations

import json
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.registry.access import Access
from kafkapy.http.registry.errors import ErrorCode, RegistryError, unprocessable

Item = TypeVar("Item")

_V1 = "application/vnd.schemaregistry.v1+json"
_MEDIA_TYPES = (_V1, "application/vnd.schemaregistry+json", "application/json")


class Asked:
    """What a page gets: the parts of the path that its pattern left open, and the rest."""

    def __init__(self, request: Request, parts: tuple[str, ...], access: Access) -> None:
        self.request = request
        self.parts = parts
        self.access = access

    def flag(self, name: str) -> bool:
        return self.request.query_params.get(name, "").lower() == "true"

    def word(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def words(self, name: str) -> list[str]:
        return self.request.query_params.getlist(name)

    def page(self, items: list[Item]) -> list[Item]:
        """As `offset` and `limit` say; no limit, or a negative one, is all."""
        offset, limit = self._number("offset", 0), self._number("limit", -1)
        end = None if limit < 0 else offset + limit
        return items[max(offset, 0) : end]

    def _number(self, name: str, default: int) -> int:
        said = self.request.query_params.get(name)
        if said is None:
            return default
        try:
            return int(said)
        except ValueError:
            raise unprocessable(f"{name} is a number") from None

    async def body(self) -> dict[str, Any]:
        """A JSON object."""
        return parsed(await self.request.body())


def parsed(raw: bytes) -> dict[str, Any]:
    """RegistryError for what is no JSON object, or cannot be written as one."""
    try:
        body = json.loads(raw)
        # A lone surrogate is JSON, and no text that could be stored.
        json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise unprocessable("the body is not JSON") from None
    if not isinstance(body, dict):
        raise unprocessable("the body is not a JSON object")
    return body


def segments(request: Request) -> tuple[str, ...]:
    """Of the path as it was sent: a subject may have a slash in it, which is `%2F` there."""
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.partition(b"?")[0].decode("ascii", "replace")
    return tuple(unquote(part) for part in path.strip("/").split("/"))


def media_type(request: Request) -> str:
    """The first of ours that the client takes; the newest if it takes any."""
    accept = request.headers.get("accept", "*/*").lower()
    if "*/*" in accept or "application/*" in accept:
        return _V1
    return next((each for each in _MEDIA_TYPES if each in accept), _V1)


def answered(request: Request, said: Any, status: int = 200) -> Response:
    if status == 204:
        return Response(None, status)
    body = said if isinstance(said, (str, bytes)) else json.dumps(said, ensure_ascii=False)
    return Response(body, status, media_type=media_type(request))


def refused(request: Request, error: RegistryError) -> Response:
    said = {"error_code": int(error.code), "message": error.message}
    return answered(request, said, error.status)


def of_kafka(failed: KafkaError) -> RegistryError:
    """What the topic did not let happen."""
    if failed.status == 403:
        return RegistryError(ErrorCode.FORBIDDEN, str(failed))
    if failed.status == 413:
        return RegistryError(ErrorCode.SCHEMA_TOO_LARGE, str(failed))
    code = ErrorCode.TIMEOUT if failed.status == 504 else ErrorCode.STORE
    return RegistryError(code, f"Error in the backend Kafka store: {failed}")
