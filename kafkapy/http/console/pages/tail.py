"""What is written to a topic now, as server-sent events.

Ends are asked for a few times a second, one question to each leader, and only what has grown is
fetched. Who reads slowly is waited for; what has become too much meanwhile is left out, and said.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import trio
from starlette.responses import StreamingResponse

from kafkapy.http.console.asked import HEADERS, Asked, Pages
from kafkapy.http.console.decoding import WAYS, Shown
from kafkapy.http.console.filters import Filter, filter_of
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.console.reading import MOST_PARTITIONS
from kafkapy.http.console.schema_values import SchemaValues
from kafkapy.http.console.seeing import led, offsets
from kafkapy.http.kafka import records
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.records import END
from kafkapy.http.problems import Problem
from kafkapy.http.serving.streams import Lasting
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.batches.records import Record

_PAUSE_SECONDS: Final = 0.3
_MOST_BEHIND: Final = 500
_FETCH_BYTES: Final = 512 * 1024
# So many pauses without a word, and one is said: a browser that has gone is noticed so.
_PAUSES_OF_SILENCE: Final = 30


async def follow(asked: Asked) -> Any:
    name, way = asked.path("topic"), asked.query("as", "auto")
    await require_describe(asked, name)
    chosen = asked.query("partition")
    some = [asked.number("partition", 0)] if chosen else led(asked.kafka, name)[:MOST_PARTITIONS]
    if way not in WAYS or not set(some) <= set(asked.kafka.topic(name).partitions):
        raise Problem(400, "no such partition, or no such way to read it")
    if not await asked.kafka.allowed(Operation.READ, ResourceType.TOPIC, [name]):
        raise Problem(403, f"this needs READ on TOPIC {name}")
    wanted = filter_of(asked, name)
    places = await offsets(asked.kafka, name, some, END, committed=True)
    events = _events(asked, name, places, wanted, way)
    gone = asked.site.streams.enter(asked.request.scope)
    told = StreamingResponse(events, headers=HEADERS, media_type="text/event-stream")
    return Lasting(told, gone)


async def _events(
    asked: Asked, name: str, places: dict[int, int], wanted: Filter, way: str
) -> AsyncIterator[str]:
    yield "event: open\ndata: {}\n\n"
    silence, values = 0, SchemaValues(asked, name)
    while True:
        try:
            some = await _news(asked, values, places, wanted, way)
        except KafkaError as failed:
            # Deleted, forbidden, or nobody to ask: the page says it, and that it is over.
            yield _event("failed", {"said": str(failed)})
            return
        for event in some:
            yield event
        silence = 0 if some else silence + 1
        if silence >= _PAUSES_OF_SILENCE:
            silence = 0
            yield ": nothing new\n\n"
        await trio.sleep(_PAUSE_SECONDS)


async def _news(
    asked: Asked,
    values: SchemaValues,
    places: dict[int, int],
    wanted: Filter,
    way: str,
) -> list[str]:
    """Moves `places` on."""
    events: list[str] = []
    name = values.topic
    ends = await offsets(asked.kafka, name, places, END, committed=True)
    for partition, end in ends.items():
        if end < places[partition]:
            places[partition] = end  # cut, or made anew
        if end - places[partition] > _MOST_BEHIND:
            count = end - _MOST_BEHIND - places[partition]
            events.append(_event("skipped", {"partition": partition, "count": count}))
            places[partition] = end - _MOST_BEHIND
        if end == places[partition]:
            continue
        found = await records.fetch(
            asked.kafka, name, partition, places[partition], max_bytes=_FETCH_BYTES
        )
        places[partition] = max(places[partition], found.next_offset)
        some = [one for one in found.records if wanted.wants(partition, one)]
        seen = await values.shown(some, way)
        for one, (key, value) in zip(some, seen, strict=True):
            events.append(_event("record", _told(partition, one, key, value)))
    return events


def _told(partition: int, one: Record, key: Shown, value: Shown) -> dict[str, Any]:
    return {
        "partition": partition,
        "offset": one.offset,
        "time": one.timestamp,
        "key": key.text,
        "key_kind": key.kind,
        "value": value.text,
        "kind": value.kind,
        "size": value.size,
        "is_cut": value.is_cut,
        "headers": len(one.headers),
    }


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


PAGES: Pages = (("GET", "/console/topics/{topic}/tail", follow),)
