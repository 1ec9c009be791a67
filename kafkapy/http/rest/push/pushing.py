"""The pages that push.

    GET /api/v1/topics/{topic}/partitions/{partition}/stream?offset=&as=      (both, by `Upgrade`)
    GET /api/v1/consumer-groups/{group}/stream?topics=a,b&offset=&as=&ack=

    server-sent events (events.py)    down only: what was done is committed by POST …/offsets
    WebSocket (sockets.py)            acknowledgements come back on it, at most `window` are due

What is refused is refused before anything has begun, with a status.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import HEADER, Number, Parameter, Word, partition_of
from kafkapy.http.entrance.origins import require_own_page
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.consuming import start_of
from kafkapy.http.rest.push.events import Events
from kafkapy.http.rest.push.feeds import Feed
from kafkapy.http.rest.push.held import Held
from kafkapy.http.rest.push.members import Member, member_id_of
from kafkapy.http.rest.push.pump import Listener, Pump, Stream
from kafkapy.http.rest.push.sockets import serve
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.shapes import AS, Place
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType

MOST_WINDOW: Final = 10_000
_WINDOW: Final = 1000
_MOST_TOPICS: Final = 1000
_OFFSET: Final = Place("latest")
_LAST: Final = Parameter(
    "Last-Event-ID",
    "The last event that one had, as browsers send it: go on behind it",
    where=HEADER,
)
_START: Final = Word("offset", "Where to begin without an offset", "latest", "earliest")
_TOPICS: Final = Parameter("topics", f"1 to {_MOST_TOPICS} names, with commas between")
_ACK: Final = Word("ack", "`auto` commits what the connection has taken", "manual", "auto")
_UNACKNOWLEDGED: Final = "Of a WebSocket: at most so many are told and not acknowledged"
_WINDOW_IF_ASKED: Final = Number("window", _UNACKNOWLEDGED + "; 0: any", 0, most=MOST_WINDOW)
_MEMBERS_WINDOW: Final = Number("window", _UNACKNOWLEDGED, _WINDOW, least=1, most=MOST_WINDOW)
_EVENTS: Final = Told("Server-sent events, as they come", shapes.TEXT, "text/event-stream")
_BOTH: Final = "Server-sent events, or a WebSocket if the request asks for one (`Upgrade`)."

# A feed for `kafka`, which is its own.
MakeFeed = Callable[[Kafka], Feed]


class Pushing:
    """`site`'s pages."""

    def __init__(self, site: Site, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas
        self._held = Held()

    @declared(
        "Messages of a partition as they come",
        subject="Streams",
        told=_BOTH,
        parameters=(_OFFSET, AS, _WINDOW_IF_ASKED, _LAST),
        answers={200: _EVENTS},
        problems=(404,),
    )
    async def partition_events(self, request: Request) -> Response:
        last = _LAST.said(request) or ""
        went_on = str(int(last) + 1) if last.isascii() and last.isdigit() else None
        make = await self._partition(request, went_on)
        stream = self._let_in(request, make, window=0)
        return Events(self._site.kafka(request), stream, has_ids=True)

    @declared(
        "Messages for a member of a group as they come",
        subject="Streams",
        told=_BOTH,
        parameters=(_TOPICS, _START, AS, _ACK, _MEMBERS_WINDOW),
        answers={200: _EVENTS},
        problems=(404, 409),
    )
    async def group_events(self, request: Request) -> Response:
        # It is a GET, and takes records from the group's other members.
        require_own_page(request.headers, self._site.config.http_cors_allowed_origins)
        make = await self._group(request)
        is_automatic = _ACK.of(request) == "auto"
        stream = self._let_in(request, make, window=0, is_automatic=is_automatic)
        return Events(self._site.kafka(request), stream, has_ids=False)

    async def partition_socket(self, socket: WebSocket) -> None:
        async def prepare() -> Stream:
            window = _WINDOW_IF_ASKED.of(socket)
            return self._let_in(socket, await self._partition(socket, None), window=window)

        await serve(socket, self._site.kafka(socket), prepare)

    async def group_socket(self, socket: WebSocket) -> None:
        async def prepare() -> Stream:
            is_automatic = _ACK.of(socket) == "auto"
            window = _MEMBERS_WINDOW.of(socket)
            return self._let_in(
                socket, await self._group(socket), window=window, is_automatic=is_automatic
            )

        await serve(socket, self._site.kafka(socket), prepare)

    def _let_in(
        self, asked: HTTPConnection, make: MakeFeed, *, window: int, is_automatic: bool = False
    ) -> Stream:
        reading = AS.of(asked)

        def pump(kafka: Kafka, listener: Listener) -> Pump:
            return Pump(
                make(kafka),
                self._schemas,
                listener,
                self._held,
                reading=reading,
                window=window,
                is_automatic=is_automatic,
            )

        # Nothing is waited for between this and what calls `gone`: so many may come at once.
        return Stream(pump, self._site.streams.enter(asked.scope))

    async def _partition(self, asked: HTTPConnection, went_on: str | None) -> MakeFeed:
        where = TopicPartition(asked.path_params["topic"], partition_of(asked))
        said = went_on or _OFFSET.of(asked)
        kafka = self._site.kafka(asked)
        offset = await start_of(kafka, where.topic, where.partition, said)
        await records.fetch(kafka, where.topic, where.partition, offset, max_bytes=1, most=1)
        return lambda kafka: Feed(kafka, {where: offset})

    async def _group(self, asked: HTTPConnection) -> MakeFeed:
        kafka, group = self._site.kafka(asked), asked.path_params["group"]
        topics = {one for one in (_TOPICS.said(asked) or "").split(",") if one}
        if not 0 < len(topics) <= _MOST_TOPICS:
            raise Problem(400, f"topics names 1 to {_MOST_TOPICS}, with commas between")
        start = records.END if _START.of(asked) == "latest" else -2
        read = await kafka.allowed(Operation.READ, ResourceType.TOPIC, sorted(topics))
        if topics - read:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, min(topics - read))
        if not await kafka.allowed(Operation.READ, ResourceType.GROUP, [group]):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, group)
        for topic in topics:
            kafka.topic(topic)
        member_id = member_id_of(kafka)
        return lambda kafka: Member(kafka, group, topics, member_id, start)


Prepare = Callable[[], Awaitable[Stream]]
