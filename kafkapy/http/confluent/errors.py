"""What is refused, as Confluent's proxy says it: {"error_code": 40401, "message": …}.

The first three digits of a code are the status.
"""

import json
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem

V2: Final = "application/vnd.kafka.v2+json"
V3: Final = "application/json"
_V3_NOT_FOUND: Final = 40403
Page = Callable[[Request], Awaitable[Response]]


class Code(IntEnum):
    TOPIC_NOT_FOUND = 40401
    PARTITION_NOT_FOUND = 40402
    INSTANCE_NOT_FOUND = 40403
    FORMAT_MISMATCH = 40601
    INSTANCE_EXISTS = 40902
    ILLEGAL_STATE = 40903
    TOO_MANY_INSTANCES = 42901
    CONVERSION_FAILED = 42203
    INVALID_CONFIG = 42204


class Refusal(Exception):
    """`code` has five digits, or is a status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = int(code)
        self.message = message

    @property
    def status(self) -> int:
        return int(str(self.code)[:3])


def answered(said: Any, status: int = 200, media_type: str = V3) -> Response:
    return Response(json.dumps(said), status, media_type=media_type)


def page(answer: Page, media_type: str) -> Page:
    """`answer`, and what it refuses in Confluent's words."""

    async def whole(request: Request) -> Response:
        try:
            return await answer(request)
        except (Refusal, Problem, KafkaError) as failed:
            refused = refusal_of(failed, is_v3=media_type == V3)
            return answered(told(refused), refused.status, media_type)

    return whole


def told(refused: Refusal) -> dict[str, Any]:
    return {"error_code": refused.code, "message": refused.message}


def refusal_of(failed: Exception, *, is_v3: bool) -> Refusal:
    match failed:
        case Refusal():
            return failed
        case Problem():
            return Refusal(failed.status, failed.detail)
        case KafkaError():
            if failed.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                code = _V3_NOT_FOUND if is_v3 else Code.TOPIC_NOT_FOUND
                return Refusal(code, str(failed))
            if failed.status in (401, 403):
                return Refusal(failed.status * 100 + 1, str(failed))
            # Kafka refused it: …02, as it is, and …03 where trying again may help.
            return Refusal(failed.status * 100 + (3 if failed.status == 503 else 2), str(failed))
    raise failed
