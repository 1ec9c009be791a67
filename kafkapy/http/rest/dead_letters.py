"""Dead letters, as `kafkapy dead-letters` has them: by reason, each, back to their origin, over.

    GET  /api/v1/dead-letters/{topic}?reason=&origin=                  how many of each reason
    GET  /api/v1/dead-letters/{topic}/letters?reason=&origin=&limit=&after=&as=
    POST /api/v1/dead-letters/{topic}/replay   {"reason", "origin", "to", "limit"}, each if wanted
    POST /api/v1/dead-letters/{topic}/drop     {"reason", "origin", "limit"}

`reason` is part of one, `origin` a topic. What a letter says, and how one is over, is in
kafkapy/relays/letters.py. Replaying writes first and says so then: broken off, it may replay some
again. Whoever replays needs WRITE on both topics; only with DELETE what is over goes at once.
"""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import Parameter, bounded
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object, only
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.shapes import AS, MESSAGE_OUT, PARTITION, limit
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.relays.letters import NOT_FORGOTTEN, Letter, Over, are_over, letter_of

_DEFAULT_LIMIT: Final = 100
_MOST_SHOWN: Final = 10_000
# Of one request: the next one goes on.
_MOST_MOVED: Final = 10_000
_MOST_REASONS: Final = 10_000
_AT_ONCE: Final = 500
_SHOWN_BYTES: Final = 4 << 20
_REASON: Final = Parameter("reason", "Those whose reason has this in it")
_ORIGIN: Final = Parameter("origin", "Those of this topic")
_LIMIT: Final = limit(_MOST_SHOWN, _DEFAULT_LIMIT)
_AFTER: Final = Parameter(
    "after",
    "What a page before said in `next`: go on behind it",
    shapes.text(pattern="^[0-9]{1,10}-[0-9]{1,18}$"),
)
_REASONS: Final = shapes.fields(
    {
        "topic": shapes.TEXT,
        "reasons": shapes.several(
            shapes.fields(
                {
                    "reason": shapes.TEXT,
                    "origin": shapes.nullable(shapes.TEXT),
                    "count": shapes.WHOLE,
                    "oldest": shapes.WHOLE,
                    "newest": shapes.WHOLE,
                }
            )
        ),
    }
)
_PLACE: Final = shapes.fields(
    {
        "topic": shapes.TEXT,
        "partition": shapes.nullable(shapes.WHOLE),
        "offset": shapes.nullable(shapes.WHOLE),
    }
)
_LETTER: Final = shapes.fields(
    {
        **MESSAGE_OUT["properties"],
        "partition": PARTITION,
        "reason": shapes.TEXT,
        "origin": shapes.nullable(_PLACE),
    },
    title="DeadLetter",
)
_LETTER_OUT: Final = {
    **_LETTER,
    "required": [*MESSAGE_OUT["required"], "partition", "reason", "origin"],
}
_MAYBE: Final = shapes.nullable(shapes.TEXT)
_WISH: Final = {"reason": _MAYBE, "origin": _MAYBE, "limit": shapes.number(1, _MOST_MOVED)}


class _Wanted(NamedTuple):
    reason: str | None
    origin: str | None


class DeadLetters:
    """`site`'s pages."""

    def __init__(self, site: Site, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas

    @declared(
        "Dead letters by reason and origin: how many",
        subject="Dead letters",
        parameters=(_REASON, _ORIGIN),
        answers={200: Told("The most first", _REASONS)},
        problems=(404, 413),
    )
    async def by_reason(self, request: Request) -> Response:
        topic, wanted = request.path_params["topic"], _of_query(request)
        found: dict[tuple[str, str | None], list[int]] = {}
        async with aclosing(_letters(self._site.kafka(request), topic, wanted)) as letters:
            async for one in letters:
                at = one.record.timestamp
                row = found.setdefault((one.reason, one.origin[0]), [0, at, at])
                row[:] = row[0] + 1, min(row[1], at), max(row[2], at)
                if len(found) > _MOST_REASONS:
                    raise Problem(413, f"more than {_MOST_REASONS} reasons: ask for a part of one")
        rows = [
            {"reason": reason, "origin": origin, "count": count, "oldest": oldest, "newest": newest}
            for (reason, origin), (count, oldest, newest) in found.items()
        ]
        rows.sort(key=lambda row: -int(str(row["count"])))
        return JSONResponse({"topic": topic, "reasons": rows})

    @declared(
        "Dead letters",
        subject="Dead letters",
        parameters=(_REASON, _ORIGIN, _LIMIT, _AFTER, AS),
        answers={
            200: Told(
                "Some of them; go on at `next`, which is null at the end",
                shapes.fields(
                    {
                        "topic": shapes.TEXT,
                        "next": _MAYBE,
                        "letters": shapes.several(_LETTER_OUT),
                    }
                ),
            )
        },
        problems=(404,),
    )
    async def letters(self, request: Request) -> Response:
        """`next` is where to go on, null at the end."""
        topic, wanted = request.path_params["topic"], _of_query(request)
        limit = _LIMIT.of(request)
        reading = AS.of(request)
        after = _place(_AFTER.said(request))
        found: list[Letter] = []
        size, last = 0, None
        kafka = self._site.kafka(request)
        async with aclosing(_letters(kafka, topic, wanted, after)) as letters:
            async for one in letters:
                if len(found) == limit or size >= _SHOWN_BYTES:
                    last = f"{found[-1].partition}-{found[-1].record.offset}"
                    break
                found.append(one)
                size += len(one.record.key or b"") + len(one.record.value or b"")
        shown = self._schemas.shown(kafka, [one.record for one in found], reading)
        told = {"topic": topic, "next": last}
        return StreamingResponse(_in_pieces(told, found, shown), media_type="application/json")

    @declared(
        "Dead letters back to where they came from",
        subject="Dead letters",
        told="Written first, over then: broken off, it may write some again.",
        body=Told("Which; `to`: another topic", shapes.fields(maybe={**_WISH, "to": _MAYBE})),
        answers={
            200: Told(
                "`gone`: of so many there is no content any more; not `isAll`: ask again",
                shapes.fields(
                    {"replayed": shapes.WHOLE, "gone": shapes.WHOLE, "isAll": shapes.FLAG}
                ),
            )
        },
        problems=(404, 409),
    )
    async def replay(self, request: Request) -> Response:
        """`gone`: of so many the content is gone with the origin's records; they stay."""
        body = only(await json_object(request), ("reason", "origin", "to", "limit"))
        moving = _Moving(self._site.kafka(request), request.path_params["topic"], body)
        count, gone, is_all = await moving.run(is_replay=True)
        return JSONResponse({"replayed": count, "gone": gone, "isAll": is_all})

    @declared(
        "Dead letters over",
        subject="Dead letters",
        body=Told("Which", shapes.fields(maybe=_WISH)),
        answers={
            200: Told(
                "`unmarked`: so many records say nothing of a dead letter, and stay unless "
                "`reason` is `unknown`; not `isAll`: ask again",
                shapes.fields(
                    {"dropped": shapes.WHOLE, "unmarked": shapes.WHOLE, "isAll": shapes.FLAG}
                ),
            )
        },
        problems=(404,),
    )
    async def drop(self, request: Request) -> Response:
        body = only(await json_object(request), ("reason", "origin", "limit"))
        moving = _Moving(self._site.kafka(request), request.path_params["topic"], body)
        count, unmarked, is_all = await moving.run(is_replay=False)
        return JSONResponse({"dropped": count, "unmarked": unmarked, "isAll": is_all})


class _Moving:
    """Letters of one topic that become over, some at a time."""

    def __init__(self, kafka: Kafka, topic: str, body: Mapping[str, Any]) -> None:
        self._kafka = kafka
        self._topic = topic
        self._wanted = _Wanted(_text(body, "reason"), _text(body, "origin"))
        self._to = _text(body, "to")
        self._limit = bounded(body.get("limit", _MOST_MOVED), "limit", 1, _MOST_MOVED)
        # Moved; and left where they are.
        self._count = self._left = 0
        self._judged: set[str] = set()

    async def run(self, *, is_replay: bool) -> tuple[int, int, bool]:
        is_all = True
        some: list[Letter] = []
        async with aclosing(_letters(self._kafka, self._topic, self._wanted)) as letters:
            async for one in letters:
                if self._count + len(some) == self._limit:
                    is_all = False
                    break
                some.append(one)
                if len(some) == _AT_ONCE:
                    await self._end(some, is_replay)
                    some = []
        await self._end(some, is_replay)
        if self._count:
            await _forget(self._kafka, self._topic)
        return self._count, self._left, is_all

    async def _end(self, some: list[Letter], is_replay: bool) -> None:
        over = await self._send(some) if is_replay else self._marked(some)
        for partition, offsets in _by_partition(over):
            said = are_over(offsets, _now())
            await records.produce(self._kafka, self._topic, partition, [said])
        self._count += len(over)

    def _marked(self, some: list[Letter]) -> list[Letter]:
        marked = [one for one in some if one.may_be_dropped(self._wanted.reason)]
        self._left += len(some) - len(marked)
        return marked

    async def _send(self, some: list[Letter]) -> list[Letter]:
        """Those of which there was something to send."""
        sent: list[Letter] = []
        waiting: dict[tuple[str, int], list[NewRecord]] = {}
        for one in some:
            topic = self._to or one.origin[0]
            if topic is None:
                where = f"partition {one.partition}, offset {one.record.offset}"
                raise Problem(409, f'{where} does not say where it came from: say "to" which topic')
            content = await _content(self._kafka, one)
            if content is None:
                self._left += 1
                continue
            if topic not in self._judged:
                await self._kafka.require(Operation.WRITE, ResourceType.TOPIC, topic)
                self._judged.add(topic)
            index = one.index_in(topic, sorted(self._kafka.topic(topic).partitions))
            waiting.setdefault((topic, index), []).append(one.anew(content, _now()))
            sent.append(one)
        for (topic, index), content_of in waiting.items():
            await records.produce(self._kafka, topic, index, content_of)
        return sent


# What there is


async def _letters(
    kafka: Kafka, topic: str, wanted: _Wanted, after: tuple[int, int] = (-1, -1)
) -> AsyncGenerator[Letter, None]:
    """Those that are not over, as they are now."""
    await kafka.require(Operation.READ, ResourceType.TOPIC, topic)
    for partition in sorted(kafka.topic(topic).partitions):
        if partition >= after[0]:
            start = after[1] + 1 if partition == after[0] else 0
            async with aclosing(_open(kafka, topic, partition, start)) as letters:
                async for one in letters:
                    if one.is_wanted(wanted.reason, wanted.origin):
                        yield one


async def _open(
    kafka: Kafka, topic: str, partition: int, start: int = 0
) -> AsyncGenerator[Letter, None]:
    first, end = await _ends(kafka, topic, partition)
    first = max(first, start)
    over = Over()
    async with aclosing(_records(kafka, topic, partition, first, end)) as found:
        async for record in found:
            over.hear(record)  # a word is behind what it says
    async with aclosing(_records(kafka, topic, partition, first, end)) as found:
        async for record in found:
            if record.offset not in over:
                yield letter_of(partition, record)


async def _ends(kafka: Kafka, topic: str, partition: int) -> tuple[int, int]:
    starts = await records.list_offsets(kafka, topic, {partition: records.START}, committed=True)
    ends = await records.list_offsets(kafka, topic, {partition: records.END}, committed=True)
    return starts[partition], ends[partition]


async def _records(
    kafka: Kafka, topic: str, partition: int, offset: int, end: int
) -> AsyncGenerator[Record, None]:
    while offset < end:
        got = await records.fetch(kafka, topic, partition, offset)
        for one in got.records:
            if one.offset < end:
                yield one
        if got.next_offset <= offset:
            return
        offset = got.next_offset


async def _content(kafka: Kafka, letter: Letter) -> Record | None:
    """None if only its origin had it, and has no more."""
    topic, partition, offset = letter.origin
    if not letter.is_elsewhere or topic is None:
        return letter.record
    first, end = await _ends(kafka, topic, partition)
    if not first <= offset < end:
        return None
    found = (await records.fetch(kafka, topic, partition, offset, max_bytes=1)).records
    return found[0] if found and found[0].offset == offset else None


async def _forget(kafka: Kafka, topic: str) -> None:
    """Up to the first that is not over."""
    for partition in sorted(kafka.topic(topic).partitions):
        _, upto = await _ends(kafka, topic, partition)
        async with aclosing(_open(kafka, topic, partition)) as letters:
            async for one in letters:
                upto = min(upto, one.record.offset)
                break
        rows = [{"partition_index": partition, "offset": upto}]
        body = {"topics": [{"name": topic, "partitions": rows}], "timeout": kafka.timeout_ms}
        try:
            await kafka.ask_leader(topic, partition, ApiKey.DELETE_RECORDS, body, _deleted)
        except KafkaError as refused:
            if refused.code not in NOT_FORGOTTEN:
                raise


def _deleted(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


# What was asked


def _of_query(request: Request) -> _Wanted:
    return _Wanted(_REASON.said(request), _ORIGIN.said(request))


def _text(body: Mapping[str, Any], name: str) -> str | None:
    found = body.get(name)
    if found is not None and not isinstance(found, str):
        raise Problem(400, f"{name} is a text")
    return found


def _place(said: str | None) -> tuple[int, int]:
    if said is None:
        return -1, -1
    partition, _, offset = said.partition("-")
    return (
        bounded(partition, "the partition of after", 0, 2**31 - 1),
        bounded(offset, "the offset of after", 0, 2**63 - 1),
    )


def _by_partition(letters: list[Letter]) -> Iterator[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for one in letters:
        found.setdefault(one.partition, []).append(one.record.offset)
    yield from found.items()


async def _in_pieces(
    told: dict[str, Any], letters: list[Letter], shown: AsyncGenerator[dict[str, Any], None]
) -> AsyncIterator[str]:
    yield json.dumps(told)[:-1] + ', "letters": ['
    at = 0
    async with aclosing(shown):
        async for message in shown:
            one = letters[at]
            topic, partition, offset = one.origin
            origin = None
            if topic is not None:
                origin = {"topic": topic, "partition": partition, "offset": offset}
            row = {"partition": one.partition, "reason": one.reason, "origin": origin, **message}
            yield ("," if at else "") + json.dumps(row)
            at += 1
    yield "]}"


def _now() -> int:
    return time.time_ns() // 1_000_000
