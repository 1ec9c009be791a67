"""Server-sent events: each message is `data`, its offset the `id` where one partition is read.

    event: member       the member's id and epoch, and what it was given: commit with them
    event: error        the last one: what ended it
    : quiet             nothing has come for a while; who has gone is found out

The answer ends when its reader goes: that is heard of while nothing is told, too.
"""

import json
from typing import Any

import trio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.push.pump import Listener, Stream

_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]


class Events(Response):
    def __init__(self, kafka: Kafka, stream: Stream, *, has_ids: bool) -> None:
        super().__init__(media_type="text/event-stream")
        self._kafka = kafka
        self._stream = stream
        self._has_ids = has_ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._tell(receive, send)
        finally:
            self._stream.gone()

    async def _tell(self, receive: Receive, send: Send) -> None:
        told = _Told(send, has_ids=self._has_ids)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        # Without it a browser knows of no connection until the first message.
        await told.write(": here\n\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            failed = await _pumped(self._kafka, self._stream, told)
            await told.write(_event("error", failed), is_last=True)
            nursery.cancel_scope.cancel()


class _Told:
    """The listener."""

    def __init__(self, send: Send, *, has_ids: bool) -> None:
        self._send = send
        self._has_ids = has_ids

    async def tell(self, kind: str, said: dict[str, Any]) -> None:
        await self.write(": quiet\n\n" if kind == "quiet" else _event(kind, said))

    def packed(self, message: dict[str, Any]) -> bytes:
        name = f"id: {message['offset']}\n" if self._has_ids else ""
        return f"{name}data: {json.dumps(message)}\n\n".encode()

    async def tell_packed(self, messages: list[bytes]) -> None:
        """All at once: each piece costs the server as much as ten messages."""
        data = b"".join(messages)
        messages.clear()
        await self._write(data)

    async def write(self, text: str, *, is_last: bool = False) -> None:
        await self._write(text.encode(), is_last=is_last)

    async def _write(self, data: bytes, *, is_last: bool = False) -> None:
        body = {"type": "http.response.body", "body": data, "more_body": not is_last}
        await self._send(body)


def _event(kind: str, said: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(said)}\n\n"


async def _pumped(kafka: Kafka, stream: Stream, listener: Listener) -> dict[str, Any]:
    """What ended it."""
    failed: dict[str, Any] = {}
    async with kafka:
        try:
            await stream.make(kafka, listener).run()
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
