"""What went wrong, as RFC 9457 writes it: application/problem+json."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kafkapy.http.kafka.errors import KafkaError

if TYPE_CHECKING:
    from kafkapy.http.site import Site

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = "1"


class Problem(Exception):
    """Raised by a page: `detail` is for a person, `more` for a program."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.more = more


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    told = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return Response(json.dumps(told), status, headers, media_type=MEDIA_TYPE)


def of_kafka(failed: KafkaError) -> Response:
    headers = {"retry-after": _RETRY_SECONDS} if failed.status in (429, 503) else None
    more = {"error": failed.code.name, "error_code": int(failed.code)}
    return problem(failed.status, str(failed), headers, **more)


def handlers(site: "Site") -> dict[Any, Any]:
    """For Starlette, by what was raised."""

    async def on_problem(request: Request, failed: Exception) -> Response:
        assert isinstance(failed, Problem)
        return problem(failed.status, failed.detail, **failed.more)

    async def on_kafka(request: Request, failed: Exception) -> Response:
        assert isinstance(failed, KafkaError)
        return of_kafka(failed)

    async def on_http(request: Request, failed: Exception) -> Response:
        assert isinstance(failed, HTTPException)
        return problem(failed.status_code, failed.detail, failed.headers)

    async def on_bug(request: Request, failed: Exception) -> Response:
        """Ours: said with all there is, and it costs one request (docs/decisions/0004)."""
        site.journal.error("bug", http=request.url.path, trace=format_exc())
        return problem(500, f"a bug of kafkapy: {type(failed).__name__}")

    return {
        Problem: on_problem,
        KafkaError: on_kafka,
        HTTPException: on_http,
        Exception: on_bug,
    }
