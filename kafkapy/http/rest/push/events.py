"""Server-sent events: each message is `data`, its offset the `id` where one partition is read.

    event: member       the member's id and epoch, and what it was given: commit with them
    event: error        the last one: what ended it
    : quiet             nothing has come for a while; who has gone is found out

The answer ends when its reader goes: that is heard of while nothing is told, too.
"""

import json
from collections.abc import Callable
from typing import Any

import trio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.push.pump import Pump, Tell

_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]


class Events(Response):
    """`make` is given the Kafka that is its own, and how to tell."""

    def __init__(
        self, kafka: Kafka, make: "Callable[[Kafka, Tell], Pump]", *, has_ids: bool
    ) -> None:
        super().__init__(media_type="text/event-stream")
        self._kafka = kafka
        self._make = make
        self._has_ids = has_ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def write(text: str, *, is_last: bool = False) -> None:
            body = {"type": "http.response.body", "body": text.encode(), "more_body": not is_last}
            await send(body)

        async def tell(kind: str, said: dict[str, Any]) -> None:
            await write(self._event(kind, said))

        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        # Without it a browser knows of no connection until the first message.
        await write(": here\n\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            failed = await _pumped(self._kafka, self._make, tell)
            await write(self._event("error", failed), is_last=True)
            nursery.cancel_scope.cancel()

    def _event(self, kind: str, said: dict[str, Any]) -> str:
        match kind:
            case "quiet":
                return ": quiet\n\n"
            case "message" if self._has_ids:
                return f"id: {said['offset']}\ndata: {json.dumps(said)}\n\n"
            case "message":
                return f"data: {json.dumps(said)}\n\n"
        return f"event: {kind}\ndata: {json.dumps(said)}\n\n"


async def _pumped(
    kafka: Kafka, make: "Callable[[Kafka, Tell], Pump]", tell: Tell
) -> dict[str, Any]:
    """What ended it."""
    failed: dict[str, Any] = {}
    async with kafka:
        try:
            await make(kafka, tell).run()
        except* KafkaError as several:
            failed = error_of(several)
    return failed


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def error_of(several: BaseExceptionGroup[KafkaError]) -> dict[str, Any]:
    """The first of them."""
    one: BaseException = several
    while isinstance(one, BaseExceptionGroup):
        one = one.exceptions[0]
    assert isinstance(one, KafkaError)
    return {"error": one.code.name, "detail": str(one)}
