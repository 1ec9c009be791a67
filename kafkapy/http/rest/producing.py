"""POST /api/v1/topics/{topic}/messages: one message, or several."""

import time
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

import trio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import bounded, json_object
from kafkapy.http.rest.values import headers_to_bytes, to_bytes
from kafkapy.http.site import Site
from kafkapy.protocol.partitioner import partition_for_key
from kafkapy.protocol.records import NewRecord

MOST_MESSAGES: Final = 10_000
_KNOWN: Final = frozenset(
    ("key", "keyBase64", "value", "valueBase64", "headers", "partition", "timestamp")
)


class Producing:
    """`site`'s page."""

    def __init__(self, site: Site) -> None:
        self._site = site
        # Messages without a key take turns over the partitions.
        self._turns = count()

    async def page(self, request: Request) -> Response:
        if "idempotency-key" in request.headers:
            raise Problem(501, "Idempotency-Key is not served yet: leave it out, or use a producer")
        topic = request.path_params["topic"]
        kafka = self._site.kafka(request)
        body = await json_object(request)
        several = body.get("messages")
        if several is None:
            told = (await self._produce(kafka, topic, [body]))[0]
            if isinstance(told, KafkaError):
                raise told
            return JSONResponse(told)
        if body.keys() != {"messages"} or not isinstance(several, list) or not several:
            raise Problem(400, "messages is a list of messages, and stands alone")
        if len(several) > MOST_MESSAGES:
            raise Problem(413, f"more than {MOST_MESSAGES} messages")
        results = [_row(each) for each in await self._produce(kafka, topic, several)]
        statuses = {each.get("status", 200) for each in results}
        return JSONResponse({"messages": results}, statuses.pop() if len(statuses) == 1 else 207)

    async def _produce(
        self, kafka: Kafka, topic: str, messages: list[Any]
    ) -> list[dict[str, int] | KafkaError]:
        """One batch a partition, all at once; what becomes of each message, in their order."""
        partitions = len(kafka.topic(topic).partitions)
        places: dict[int, list[int]] = {}
        packed = []
        for at, message in enumerate(messages):
            if not isinstance(message, Mapping) or not message.keys() <= _KNOWN:
                raise Problem(400, f"message {at}: an object of {', '.join(sorted(_KNOWN))}")
            record = _record(message)
            packed.append(record)
            places.setdefault(self._partition(message, record, partitions), []).append(at)
        results: dict[int, dict[str, int] | KafkaError] = {}

        async def produce(partition: int, mine: list[int]) -> None:
            try:
                done = await records.produce(kafka, topic, partition, [packed[at] for at in mine])
            except KafkaError as failed:
                results.update(dict.fromkeys(mine, failed))
                return
            for nth, at in enumerate(mine):
                timestamp = packed[at].timestamp if done.timestamp < 0 else done.timestamp
                results[at] = {
                    "partition": partition,
                    "offset": done.offset + nth,
                    "timestamp": timestamp,
                }

        async with trio.open_nursery() as nursery:
            for partition, mine in places.items():
                nursery.start_soon(produce, partition, mine)
        return [results[at] for at in range(len(messages))]

    def _partition(self, message: Mapping[str, Any], record: NewRecord, partitions: int) -> int:
        asked = message.get("partition")
        if asked is not None:
            return bounded(asked, "partition", 0, partitions - 1)
        if record.key is not None:
            return partition_for_key(record.key, partitions)
        return next(self._turns) % partitions


def _record(message: Mapping[str, Any]) -> NewRecord:
    timestamp = message.get("timestamp")
    return NewRecord(
        to_bytes(message, "key"),
        to_bytes(message, "value"),
        int(time.time() * 1000) if timestamp is None else bounded(timestamp, "timestamp", 0, 2**53),
        headers_to_bytes(message),
    )


def _row(result: dict[str, int] | KafkaError) -> dict[str, Any]:
    if isinstance(result, KafkaError):
        return {"status": result.status, "error": result.code.name, "detail": str(result)}
    return dict(result)
