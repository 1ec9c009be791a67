"""A topic's records: browsed by place and time, filtered, one of them whole, and as files."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Final

from starlette.responses import StreamingResponse

from kafkapy.http.console.asked import HEADERS, Asked, Pages
from kafkapy.http.console.decoding import WAYS, Shown, shown
from kafkapy.http.console.filters import Filter, filter_of
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.console.reading import (
    MOST_PARTITIONS,
    Found,
    Read,
    newest,
    onwards,
    places_of,
    written,
)
from kafkapy.http.console.schema_values import SchemaValues
from kafkapy.http.console.seeing import led, offsets
from kafkapy.http.kafka import records
from kafkapy.http.kafka.records import END, START
from kafkapy.http.problems import Problem
from kafkapy.http.rest.room import schemas_of
from kafkapy.http.rest.schemas import BY_SCHEMA
from kafkapy.protocol.batches.records import Record

_LIMITS: Final = (20, 50, 100, 200)
_MOST_SHOWN: Final = 64 * 1024
_CHUNK: Final = 64 * 1024
_FROM: Final = ("newest", "oldest", "offset", "time")


async def show(asked: Asked) -> Any:
    name = asked.path("topic")
    found, wanted, is_some = await _found(asked, name)
    way = _way(asked)
    seen = await SchemaValues(asked, name).shown([one.record for one in found.rows], way)
    rows = [_row(one, *parts) for one, parts in zip(found.rows, seen, strict=True)]
    begin = _begin(asked)
    cursor = {"until" if begin == "newest" else "at": written(found.go_on)}
    return asked.page(
        "messages.html",
        name=name,
        rows=rows,
        partitions=sorted(asked.kafka.topic(name).partitions),
        is_some=is_some,
        most=MOST_PARTITIONS,
        begin=begin,
        seen=found.seen,
        left_out=wanted.left_out,
        is_early=found.is_early,
        more=asked.link(**cursor) if found.go_on else None,
        first=asked.link(until=None, at=None),
        download=asked.link(),
        is_further=bool(asked.query("until") or asked.query("at")),
        ways=WAYS,
        limits=_LIMITS,
    )


async def download_some(asked: Asked) -> Any:
    """What the page shows, whole: a line of JSON a record, as records over HTTP are told."""
    name = asked.path("topic")
    found, _, _ = await _found(asked, name)
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}.jsonl"'}
    lines = _lines(asked, name, found.rows)
    return StreamingResponse(lines, headers=headers, media_type="application/jsonl")


async def _lines(asked: Asked, name: str, rows: list[Found]) -> AsyncIterator[str]:
    shown = [one.record for one in rows]
    told = schemas_of(asked.site).shown(asked.kafka, shown, BY_SCHEMA)
    at = 0
    async with aclosing(told):
        async for message in told:
            where = {"topic": name, "partition": rows[at].partition}
            yield json.dumps({**where, **message}, ensure_ascii=False) + "\n"
            at += 1


async def _found(asked: Asked, name: str) -> tuple[Read, Filter, bool]:
    """And whether it is of some partitions only."""
    await require_describe(asked, name)
    kafka = asked.kafka
    partitions = led(kafka, name)
    chosen = asked.query("partition")
    one = asked.number("partition", 0)
    if chosen and one not in kafka.topic(name).partitions:
        raise Problem(404, f"{name} has no partition {one}")
    some = [one] if chosen else partitions[:MOST_PARTITIONS]
    wanted = filter_of(asked, name)
    with asked.needs("READ", "TOPIC", name):
        if kafka.is_view(name):
            async with kafka:
                found = await _read(asked, name, some, wanted)
        else:
            found = await _read(asked, name, some, wanted)
    return found, wanted, not chosen and len(partitions) > MOST_PARTITIONS


def _begin(asked: Asked) -> str:
    begin = asked.query("from", "newest")
    if begin not in _FROM:
        raise Problem(400, f"from is one of {', '.join(_FROM)}")
    return begin


async def _read(asked: Asked, name: str, some: list[int], wanted: Filter) -> Read:
    kafka, begin = asked.kafka, _begin(asked)
    limit = asked.number("limit", 50, 1, _LIMITS[-1])
    committed = asked.query("uncommitted") != "1"
    starts = await offsets(kafka, name, some, START)
    ends = await offsets(kafka, name, some, END, committed=committed)
    if begin == "newest":
        until = _places(asked, "until") or ends
        until = {one: min(until[one], ends[one]) for one in until if one in ends}
        return await newest(kafka, name, starts, until, limit, wanted, committed=committed)
    at = _places(asked, "at")
    if not at:
        if begin == "offset":
            at = dict.fromkeys(starts, asked.number("offset", 0))
        elif begin == "time":
            found = await offsets(kafka, name, some, _time(asked))
            at = {one: ends[one] if found[one] < 0 else found[one] for one in found if one in ends}
        else:
            at = starts
    at = {one: max(starts[one], min(at[one], ends[one])) for one in at if one in ends}
    return await onwards(kafka, name, at, limit, wanted, committed=committed)


async def whole(asked: Asked) -> Any:
    name, way = asked.path("topic"), _way(asked)
    partition, one = await _record(asked)
    values = SchemaValues(asked, name)
    [(key, value)] = await values.shown([one], way, _MOST_SHOWN, is_pretty=True)
    return asked.page(
        "message.html",
        name=name,
        partition=partition,
        record=one,
        key=key,
        value=value,
        headers=[(header, shown(value, way, 1000)) for header, value in one.headers],
        ways=WAYS,
    )


async def download(asked: Asked) -> Any:
    part = asked.path("part")
    partition, one = await _record(asked)
    if part not in ("key", "value"):
        raise Problem(404, "key or value can be had")
    data = one.key if part == "key" else one.value
    if data is None:
        raise Problem(404, f"this record has no {part}")
    title = f"{asked.path('topic')}-{partition}-{one.offset}.{part}"
    headers = {
        "content-disposition": f'attachment; filename="{title}"',
        "content-length": str(len(data)),
        "content-security-policy": "sandbox",
    }
    return StreamingResponse(_chunks(data), headers=headers, media_type="application/octet-stream")


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), _CHUNK):
        yield data[at : at + _CHUNK]


async def _record(asked: Asked) -> tuple[int, Record]:
    name = asked.path("topic")
    partition, offset = asked.path("partition"), asked.path("offset")
    if not (partition.isdecimal() and offset.isdecimal()):
        raise Problem(404, "a record is at a partition and an offset")
    await require_describe(asked, name)
    if int(partition) not in led(asked.kafka, name):
        raise Problem(404, f"{name} has no partition {partition}, or nobody leads it now")
    # Also what is not committed: it was shown to who asked for it.
    with asked.needs("READ", "TOPIC", name):
        found = await records.fetch(
            asked.kafka, name, int(partition), int(offset), max_bytes=1, committed=False
        )
    one = next((each for each in found.records if each.offset == int(offset)), None)
    if one is None:
        raise Problem(404, f"{name}-{partition} has no record at offset {offset} (any more)")
    return int(partition), one


def _row(found: Found, key: Shown, value: Shown) -> dict[str, Any]:
    one = found.record
    return {
        "partition": found.partition,
        "offset": one.offset,
        "time": one.timestamp,
        "key": key,
        "value": value,
        "headers": len(one.headers),
    }


def _way(asked: Asked) -> str:
    way = asked.query("as", "auto")
    if way not in WAYS:
        raise Problem(400, f"as is one of {', '.join(WAYS)}")
    return way


def _places(asked: Asked, name: str) -> dict[int, int]:
    try:
        return places_of(asked.query(name))
    except ValueError:
        raise Problem(400, f"{name} is no place in a topic") from None


def _time(asked: Asked) -> int:
    return timestamp_of(asked.query("time"))


def timestamp_of(text: str) -> int:
    """Of what a field for date and time says; UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        found = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise Problem(400, "a time is written 2026-11-18T14:00, in UTC") from None
    if found < 0:
        raise Problem(400, "a time from 1970 on, please")
    return found


PAGES: Pages = (
    ("GET", "/console/topics/{topic}/messages", show),
    ("GET", "/console/topics/{topic}/messages.jsonl", download_some),
    ("GET", "/console/topics/{topic}/messages/{partition}/{offset}", whole),
    ("GET", "/console/topics/{topic}/messages/{partition}/{offset}/{part}", download),
)
