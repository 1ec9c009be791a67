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

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import number, partition_of, word
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.values import READINGS
from kafkapy.http.site import Site
from kafkapy.protocol.records import Record

MOST_MESSAGES: Final = 10_000
_DEFAULT_LIMIT: Final = 100
_MOST_BYTES: Final = 4 << 20
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
        offset = await start_of(
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


async def start_of(kafka: Kafka, topic: str, partition: int, asked: str) -> int:
    if asked in ("earliest", "latest"):
        where = records.START if asked == "earliest" else records.END
        ends = await records.list_offsets(kafka, topic, {partition: where}, committed=True)
        return ends[partition]
    if not asked.isascii() or not asked.isdigit() or int(asked) > _HIGHEST:
        raise Problem(400, "offset is a number, earliest or latest")
    return int(asked)


async def _in_pieces(
    told: dict[str, Any], messages: AsyncGenerator[dict[str, Any], None]
) -> AsyncIterator[str]:
    yield json.dumps(told)[:-1] + ', "messages": ['
    comma = ""
    async with aclosing(messages):
        async for message in messages:
            yield comma + json.dumps(message)
            comma = ","
    yield "]}"


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"") + 64
