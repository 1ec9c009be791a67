"""Messages of a partition: some of them. As they come: push/.

    GET /api/v1/topics/{topic}/partitions/{partition}/messages?offset=&limit=&as=

`offset` is a number, `earliest` (the default) or `latest`.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import partition_of
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.unread import size_of
from kafkapy.http.problems import Problem
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.shapes import AS, MESSAGE_OUT, MOST_OFFSET, OFFSET, PARTITION, Place, limit
from kafkapy.http.site import Site
from kafkapy.protocol.batches.records import Record

MOST_MESSAGES: Final = 10_000
_DEFAULT_LIMIT: Final = 100
_MOST_BYTES: Final = 4 << 20
# A page of a hundred small messages needs no more; each further fetch asks for twice as much.
_FIRST_BYTES: Final = 64 << 10
_PIECE_LETTERS: Final = 32 << 10
_LIMIT: Final = limit(MOST_MESSAGES, _DEFAULT_LIMIT)
_OFFSET: Final = Place("earliest")
_PAGE: Final = shapes.fields(
    {
        "topic": shapes.TEXT,
        "partition": PARTITION,
        "nextOffset": OFFSET,
        "highWatermark": OFFSET,
        "logStartOffset": OFFSET,
        "messages": shapes.several(MESSAGE_OUT),
    }
)


class Consuming:
    """`site`'s pages."""

    def __init__(self, site: Site, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas

    @declared(
        "Messages of a partition",
        subject="Messages",
        told="Only what is committed, and nothing of transactions that are open or aborted.",
        parameters=(_OFFSET, _LIMIT, AS),
        answers={200: Told("As many as there are, within 4 MiB; go on at `nextOffset`", _PAGE)},
        problems=(404,),
    )
    async def messages(self, request: Request) -> Response:
        """As many as are there and asked for, within 4 MiB; `nextOffset` is where to go on."""
        topic, partition = request.path_params["topic"], partition_of(request)
        limit = _LIMIT.of(request)
        reading = AS.of(request)
        kafka = self._site.kafka(request)
        offset = await start_of(kafka, topic, partition, _OFFSET.of(request))
        found: list[Record] = []
        at, size, asked_for = offset, 0, _FIRST_BYTES
        while True:
            got = await records.fetch(
                kafka, topic, partition, at, max_bytes=asked_for, most=limit - len(found)
            )
            found += got.records
            size += sum(map(size_of, got.records))
            is_end, at = got.next_offset == at, got.next_offset
            if is_end or len(found) == limit or size >= _MOST_BYTES:
                break
            asked_for = min(2 * asked_for, _MOST_BYTES - size)
        told = {
            "topic": topic,
            "partition": partition,
            "nextOffset": at,
            "highWatermark": got.high_watermark,
            "logStartOffset": got.log_start_offset,
        }
        shown = self._schemas.shown(kafka, found, reading)
        return StreamingResponse(_in_pieces(told, shown), media_type="application/json")


async def start_of(kafka: Kafka, topic: str, partition: int, asked: str) -> int:
    if asked in ("earliest", "latest"):
        where = records.START if asked == "earliest" else records.END
        ends = await records.list_offsets(kafka, topic, {partition: where}, committed=True)
        return ends[partition]
    if not asked.isascii() or not asked.isdigit() or int(asked) > MOST_OFFSET:
        raise Problem(400, "offset is a number, earliest or latest")
    return int(asked)


async def _in_pieces(
    told: dict[str, Any], messages: AsyncGenerator[dict[str, Any], None]
) -> AsyncIterator[str]:
    """Some together: each piece costs the server as much as ten messages."""
    parts = [json.dumps(told)[:-1] + ', "messages": [']
    letters, comma = 0, ""
    async with aclosing(messages):
        async for message in messages:
            parts += comma, json.dumps(message)
            letters, comma = letters + len(parts[-1]), ","
            if letters > _PIECE_LETTERS:
                yield "".join(parts)
                parts, letters = [], 0
    parts.append("]}")
    yield "".join(parts)
