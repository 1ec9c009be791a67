"""Messages of a partition: some of them, or as they come (server-sent events).

    GET /api/v1/topics/{topic}/partitions/{partition}/messages?offset=&limit=&as=
    GET /api/v1/topics/{topic}/partitions/{partition}/stream?offset=&as=

`offset` is a number, `earliest` (the default of messages) or `latest` (of stream). Events have the
offset as their id, so that a browser which reconnects goes on where it was (`Last-Event-ID`). The
next messages are fetched when the reader has taken the last: one that is slow costs the node a
connection and one answer's worth of records.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import number, partition_of, word
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.values import READINGS
from kafkapy.http.site import Site
from kafkapy.protocol.records import Record

MOST_MESSAGES: Final = 10_000
_DEFAULT_LIMIT: Final = 100
_MOST_BYTES: Final = 4 << 20
_STREAM_BYTES: Final = 256 << 10
_WAIT_MS: Final = 10_000
_HIGHEST: Final = 2**63 - 1


class Consuming:
    """`site`'s pages."""

    def __init__(self, site: Site, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas

    async def messages(self, request: Request) -> Response:
        """As many as are there and asked for, within 4 MiB; `nextOffset` is where to go on."""
        topic, partition = request.path_params["topic"], partition_of(request)
        limit = number(request, "limit", _DEFAULT_LIMIT, least=1, most=MOST_MESSAGES)
        reading = word(request, "as", READINGS)
        kafka = self._site.kafka(request)
        offset = await _start(
            kafka, topic, partition, request.query_params.get("offset", "earliest")
        )
        found: list[Record] = []
        at, size = offset, 0
        while True:
            got = await records.fetch(
                kafka, topic, partition, at, max_bytes=max(_MOST_BYTES - size, 1)
            )
            found += got.records[: limit - len(found)]
            size += sum(_size(one) for one in got.records)
            is_end = got.next_offset == at
            at = found[-1].offset + 1 if len(found) == limit else got.next_offset
            if is_end or len(found) == limit or size >= _MOST_BYTES:
                break
        told = {
            "topic": topic,
            "partition": partition,
            "nextOffset": at,
            "highWatermark": got.high_watermark,
            "logStartOffset": got.log_start_offset,
        }
        shown = self._schemas.shown(found, reading)
        return StreamingResponse(_in_pieces(told, shown), media_type="application/json")

    async def stream(self, request: Request) -> Response:
        topic, partition = request.path_params["topic"], partition_of(request)
        reading = word(request, "as", READINGS)
        last = request.headers.get("last-event-id")
        asked = request.query_params.get("offset", "latest")
        if last is not None and last.isascii() and last.isdigit():
            asked = str(int(last) + 1)
        kafka = self._site.kafka(request)
        offset = await _start(kafka, topic, partition, asked)
        # What is refused is refused before an answer has begun.
        await records.fetch(kafka, topic, partition, offset, max_bytes=1)
        events = self._events(self._site.kafka(request), topic, partition, offset, reading)
        return StreamingResponse(events, media_type="text/event-stream")

    async def _events(
        self, kafka: Kafka, topic: str, partition: int, offset: int, reading: str
    ) -> AsyncIterator[str]:
        """Until the reader has gone, or the messages have."""
        async with kafka:
            while True:
                try:
                    got = await records.fetch(
                        kafka,
                        topic,
                        partition,
                        offset,
                        max_bytes=_STREAM_BYTES,
                        max_wait_ms=_WAIT_MS,
                    )
                except KafkaError as failed:
                    told = {"error": failed.code.name, "detail": str(failed)}
                    yield f"event: error\ndata: {json.dumps(told)}\n\n"
                    return
                async for message in self._schemas.shown(got.records, reading):
                    yield f"id: {message['offset']}\ndata: {json.dumps(message)}\n\n"
                if not got.records:
                    # A comment: who does not read any more is found out, and proxies stay calm.
                    yield ": nothing new\n\n"
                offset = got.next_offset


async def _start(kafka: Kafka, topic: str, partition: int, asked: str) -> int:
    if asked in ("earliest", "latest"):
        where = records.START if asked == "earliest" else records.END
        ends = await records.list_offsets(kafka, topic, {partition: where}, committed=True)
        return ends[partition]
    if not asked.isascii() or not asked.isdigit() or int(asked) > _HIGHEST:
        raise Problem(400, "offset is a number, earliest or latest")
    return int(asked)


async def _in_pieces(
    told: dict[str, Any], messages: AsyncIterator[dict[str, Any]]
) -> AsyncIterator[str]:
    yield json.dumps(told)[:-1] + ', "messages": ['
    comma = ""
    async for message in messages:
        yield comma + json.dumps(message)
        comma = ","
    yield "]}"


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"") + 64
