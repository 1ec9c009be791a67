"""WebSocket: each frame is a text, an object of JSON with a `type`.

    down    message, member, committed, quiet, error (the last one)
    up      {"type": "ack", "topic": "t", "partition": 0, "offset": 7}     all up to there is done

A frame that is no such object ends the connection (1003); what Kafka refuses, too (1011).
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import trio
from starlette.websockets import WebSocket, WebSocketDisconnect

from kafkapy.core.ids import TopicPartition
from kafkapy.http.api.parameters import bounded
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem, of_kafka, problem
from kafkapy.http.rest.push.events import error_of
from kafkapy.http.rest.push.pump import Pump, Stream

_UNWANTED: Final = 1003
_BROKEN: Final = 1011


async def serve(
    socket: WebSocket,
    kafka: Kafka,
    prepare: Callable[[], Awaitable[Stream]],
) -> None:
    try:
        stream = await prepare()
    except Problem as refused:
        await socket.send_denial_response(problem(refused.status, refused.detail, **refused.more))
        return
    except KafkaError as refused:
        await socket.send_denial_response(of_kafka(refused))
        return
    try:
        await _tell(socket, kafka, stream)
    finally:
        stream.gone()


async def _tell(socket: WebSocket, kafka: Kafka, stream: Stream) -> None:
    await socket.accept()
    told = _Told(socket)
    ended: tuple[int, dict[str, Any]] | None = None
    try:
        async with kafka, trio.open_nursery() as nursery:
            pump = stream.make(kafka, told)
            nursery.start_soon(_listen, socket, pump, nursery.cancel_scope)
            await pump.run()
    except* KafkaError as several:
        ended = _BROKEN, error_of(several)
    except* Problem as unwanted:
        ended = _UNWANTED, {"error": "BAD_FRAME", "detail": _first(unwanted)}
    except* WebSocketDisconnect:
        pass
    if ended is not None:
        with suppress(WebSocketDisconnect, RuntimeError):
            await told.tell("error", ended[1])
            await socket.close(ended[0])


class _Told:
    """The listener: messages of a pump, and what its commits tell beside them."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._sending = trio.Lock()

    async def tell(self, kind: str, said: dict[str, Any]) -> None:
        await self._send(_frame(kind, said))

    def packed(self, message: dict[str, Any]) -> bytes:
        return _frame("message", message).encode()

    async def tell_packed(self, messages: list[bytes]) -> None:
        for message in messages:
            await self._send(message.decode())

    async def _send(self, text: str) -> None:
        async with self._sending:
            await self._socket.send_text(text)


def _frame(kind: str, said: dict[str, Any]) -> str:
    return json.dumps({"type": kind, **said})


async def _listen(socket: WebSocket, pump: Pump, scope: trio.CancelScope) -> None:
    """Until the other side goes."""
    while True:
        try:
            said = json.loads(await socket.receive_text())
        except WebSocketDisconnect:
            scope.cancel()
            return
        except (ValueError, RecursionError, KeyError):
            raise Problem(400, "a frame is a text, and that is JSON") from None
        if not isinstance(said, dict) or said.get("type") != "ack":
            raise Problem(400, "an object with a type, of which ack is known")
        topic = said.get("topic")
        if not isinstance(topic, str):
            raise Problem(400, "ack: a topic, a partition and an offset")
        partition = bounded(said.get("partition"), "partition", 0, 2**31 - 1)
        offset = bounded(said.get("offset"), "offset", 0, 2**63 - 1)
        pump.acknowledge(TopicPartition(topic, partition), offset)


def _first(several: BaseExceptionGroup[Problem]) -> str:
    one: BaseException = several
    while isinstance(one, BaseExceptionGroup):
        one = one.exceptions[0]
    return str(one)
