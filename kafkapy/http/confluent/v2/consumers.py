"""The pages of consumers of v2.

POST              /consumers/{group}                                 make one
DELETE            /consumers/{group}/instances/{instance}
POST GET DELETE   …/subscription          {"topics": […]}
POST GET          …/assignments           {"partitions": [{"topic", "partition"}]}
GET               …/records?timeout=&max_bytes=
POST GET          …/offsets               of what was read last: what comes next is one more
POST              …/positions[/beginning|/end]
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.api.parameters import bounded
from kafkapy.http.confluent.errors import V2, Code, Refusal, answered
from kafkapy.http.confluent.v2.formats import FORMATS, READINGS, media_type, named, read
from kafkapy.http.confluent.v2.instances import Instance, Instances, Key, Wanted
from kafkapy.http.entrance.origins import require_own_page
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.push.members import member_id_of
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.site import Site, principal_of
from kafkapy.kraft.acls import Operation, ResourceType

_NAME: Final = re.compile(r"[A-Za-z0-9._~-]{1,200}")
_RESETS: Final = {"earliest": records.START, "latest": records.END}
_MOST_TOPICS: Final = 1000
_MOST_BYTES: Final = 4 << 20
_TIMEOUT_MS: Final = 1000
_LONGEST_MS: Final = 30_000
_SETTINGS: Final = frozenset(
    (
        "name",
        "format",
        "auto.offset.reset",
        "auto.commit.enable",
        "consumer.request.timeout.ms",
        "fetch.min.bytes",
    )
)


class Consumers:
    """`site`'s pages."""

    def __init__(self, site: Site, schemas: Schemas, instances: Instances) -> None:
        self._site = site
        self._schemas = schemas
        self._instances = instances

    async def make(self, request: Request) -> Response:
        kafka, group = self._site.kafka(request), request.path_params["group"]
        body = await json_object(request) if await request.body() else {}
        name = body.get("name", f"rest-consumer-{member_id_of(kafka)}")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Refusal(Code.INVALID_CONFIG, "name: letters, digits, . _ ~ -")
        await _require(kafka, ResourceType.GROUP, [group], ErrorCode.GROUP_AUTHORIZATION_FAILED)
        key = Key(principal_of(request), group, name)
        await self._instances.make(kafka, key, _wanted(body))
        base = f"{request.base_url}consumers/{group}/instances/{name}"
        return answered({"instance_id": name, "base_uri": base}, media_type=V2)

    async def remove(self, request: Request) -> Response:
        await self._instances.remove(_key(request))
        return Response(None, 204)

    async def subscribe(self, request: Request) -> Response:
        topics = (await json_object(request)).get("topics")
        if not isinstance(topics, list) or not all(isinstance(one, str) for one in topics):
            raise Refusal(422, "topics is a list of names (a topic_pattern is not taken)")
        if len(topics) > _MOST_TOPICS:
            raise Refusal(422, f"more than {_MOST_TOPICS} topics")
        kafka = self._site.kafka(request)
        await _require(
            kafka, ResourceType.TOPIC, sorted(set(topics)), ErrorCode.TOPIC_AUTHORIZATION_FAILED
        )
        return await self._do(request, lambda one: one.subscribe(set(topics)))

    async def subscription(self, request: Request) -> Response:
        return await self._told(request, lambda one: {"topics": one.topics})

    async def unsubscribe(self, request: Request) -> Response:
        return await self._do(request, lambda one: one.let_go())

    async def assign(self, request: Request) -> Response:
        partitions = _partitions(await json_object(request))
        return await self._do(request, lambda one: one.assign(partitions))

    async def assignments(self, request: Request) -> Response:
        return await self._told(
            request,
            lambda one: {
                "partitions": [where._asdict() for where in sorted(one.feed.positions)]
                if one.feed is not None
                else []
            },
        )

    async def seek(self, request: Request) -> Response:
        offsets = _offsets(await json_object(request))

        async def work(one: Instance) -> None:
            one.seek(offsets)

        return await self._do(request, work)

    async def seek_beginning(self, request: Request) -> Response:
        return await self._seek_end(request, records.START)

    async def seek_end(self, request: Request) -> Response:
        return await self._seek_end(request, records.END)

    async def commit(self, request: Request) -> Response:
        """Without a body, all that was handed out."""
        offsets: dict[TopicPartition, int] | None = None
        if (await request.body()).strip():
            last = _offsets(await json_object(request))
            offsets = {where: offset + 1 for where, offset in last.items()}
        await self._do(request, lambda one: one.commit(offsets))
        return Response(None, 200, media_type=V2)

    async def committed(self, request: Request) -> Response:
        partitions = _partitions(await json_object(request))
        rows: list[dict[str, Any]] = []

        async def work(one: Instance) -> None:
            for where, offset in sorted((await one.committed(partitions)).items()):
                rows.append({**where._asdict(), "offset": offset, "metadata": ""})

        await self._do(request, work)
        return answered({"offsets": rows}, media_type=V2)

    async def records(self, request: Request) -> Response:
        # It is a GET, and what it tells is told nobody else.
        require_own_page(request.headers, self._site.config.http_cors_allowed_origins)
        timeout = request.query_params.get("timeout")
        most = bounded(request.query_params.get("max_bytes", _MOST_BYTES), "max_bytes", -1, 2**63)
        most = _MOST_BYTES if most < 0 else min(most, _MOST_BYTES)
        wait_ms = None if timeout is None else bounded(timeout, "timeout", -1, 2**63)
        pieces: list[str] = []
        form = ""

        async def work(one: Instance) -> None:
            nonlocal form
            form = named(request.headers.get("accept", ""), one.wanted.form)
            if form != one.wanted.form:
                told = f"the consumer was made for {one.wanted.form}, and {form} is asked for"
                raise Refusal(Code.FORMAT_MISMATCH, told)
            ms = one.wanted.timeout_ms if wait_ms is None or wait_ms < 0 else wait_ms
            await self._read(one, min(ms, _LONGEST_MS) / 1000, most, pieces)

        await self._do(request, work)
        return _Pieces(pieces, media_type(form))

    async def _read(self, one: Instance, seconds: float, most: int, pieces: list[str]) -> None:
        """If a record cannot be told, none is, and they are read again."""
        before = {} if one.feed is None else dict(one.feed.positions)
        delivered = dict(one.delivered)
        try:
            for where, several in await one.some(seconds, most):
                shown = self._schemas.shown(one.kafka, several, READINGS[one.wanted.form])
                async with aclosing(shown) as messages:
                    async for message in messages:
                        told = read(one.wanted.form, message, f"{where.topic}-{where.partition}")
                        row = {**where._asdict(), **told, "offset": message["offset"]}
                        pieces.append(json.dumps(row))
        except BaseException:
            if one.feed is not None:
                again = {at: before[at] for at in one.feed.positions.keys() & before.keys()}
                one.feed.positions.update(again)
                one.delivered = delivered
            raise

    async def _seek_end(self, request: Request, when: int) -> Response:
        partitions = _partitions(await json_object(request))
        return await self._do(request, lambda one: one.ends(partitions, when))

    async def _do(self, request: Request, work: Callable[[Instance], Awaitable[None]]) -> Response:
        await self._instances.within(_key(request), work)
        return Response(None, 204)

    async def _told(self, request: Request, work: Callable[[Instance], Any]) -> Response:
        said: list[Any] = []

        async def look(one: Instance) -> None:
            said.append(work(one))

        await self._do(request, look)
        return answered(said[0], media_type=V2)


class _Pieces(Response):
    """A list whose rows are written already."""

    def __init__(self, rows: list[str], media: str) -> None:
        super().__init__(media_type=media)
        del self.headers["content-length"]
        self._rows = rows

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        head = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(head)
        for piece in self._pieces():
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"]", "more_body": False})

    def _pieces(self) -> "list[str]":
        return ["[", *(("," if at else "") + row for at, row in enumerate(self._rows))]


def _key(request: Request) -> Key:
    parts = request.path_params
    return Key(principal_of(request), parts["group"], parts["instance"])


def _wanted(body: Mapping[str, Any]) -> Wanted:
    unknown = sorted(body.keys() - _SETTINGS)
    if unknown:
        raise Refusal(Code.INVALID_CONFIG, f"{unknown[0][:100]} is nothing that this takes")
    form = str(body.get("format", "binary")).lower()
    reset = body.get("auto.offset.reset", "latest")
    automatic = str(body.get("auto.commit.enable", "true")).lower()
    if form not in FORMATS:
        raise Refusal(Code.INVALID_CONFIG, f"format is one of {', '.join(FORMATS)}")
    if reset not in _RESETS:
        raise Refusal(Code.INVALID_CONFIG, "auto.offset.reset is earliest or latest")
    if automatic not in ("true", "false"):
        raise Refusal(Code.INVALID_CONFIG, "auto.commit.enable is true or false")
    wait = body.get("consumer.request.timeout.ms", _TIMEOUT_MS)
    ms = bounded(wait, "consumer.request.timeout.ms", 0, _LONGEST_MS)
    # Whatever is there is handed out: no more is waited for.
    bounded(body.get("fetch.min.bytes", -1), "fetch.min.bytes", -1, 10_000_000)
    return Wanted(form, _RESETS[reset], automatic == "true", ms)


async def _require(kafka: Kafka, kind: ResourceType, names: list[str], refused: ErrorCode) -> None:
    missing = set(names) - await kafka.allowed(Operation.READ, kind, names)
    if missing:
        raise KafkaError(refused, min(missing))


def _partitions(body: Mapping[str, Any]) -> set[TopicPartition]:
    return {where for where, _ in _rows(body.get("partitions"))}


def _offsets(body: Mapping[str, Any]) -> dict[TopicPartition, int]:
    return {
        where: bounded(one.get("offset"), "offset", 0, 2**63 - 2)
        for where, one in _rows(body.get("offsets"))
    }


def _rows(said: Any) -> list[tuple[TopicPartition, Mapping[str, Any]]]:
    if not isinstance(said, list) or not all(
        isinstance(one, Mapping) and isinstance(one.get("topic"), str) for one in said
    ):
        raise Refusal(422, "a list of objects with a topic and a partition")
    return [
        (
            TopicPartition(one["topic"], _partition(one.get("partition"))),
            one,
        )
        for one in said
    ]


def _partition(said: Any) -> int:
    return bounded(said, "partition", 0, 2**31 - 1)
