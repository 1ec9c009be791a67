"""From the thread that speaks HTTP to the node's loop, and back.

    HTTP's thread                          the node's loop
    on_loop(work)   --- run_soon --->      work(done)
    <-- wakes the task --------------      done(answer), now or later
    request(frame)  --- run_soon --->      dispatch, as for a frame of a socket
    <-- the response's bytes --------      after the turn's write, as for a socket

What is packed, unpacked or waited for here costs the node nothing but its share of the interpreter
(docs/decisions/0008). Nothing of the node may be called but on its loop. What is plain data may be
looked up from here, one look-up at a time: a dict that is walked is copied first (`list(...)`).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import trio

from kafkapy.broker.node.settings import peer_settings
from kafkapy.broker.peers.broker_connections import BrokerConnections
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.requests.dispatch import dispatch, encode_or_hang_up
from kafkapy.broker.requests.request import Call, Hangup, Later, Part, Peer, Resolved
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.seams import Callback
from kafkapy.core.turn import Turn
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.throttled import Throttled
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

T = TypeVar("T")
Done = Callable[[Any], None]
_PURPOSE: Final = "http"
_SIZE_BYTES: Final = 4


class NodeLink:
    """One per process. `ask` and its like are for HTTP's thread."""

    def __init__(self, node: "Node", run_soon: Callable[[Callback], None], turn: Turn) -> None:
        self.node = node
        # On the node's loop too: whether it has begun to serve, and has not been told to stop.
        self.is_serving = False
        self._run_soon = run_soon
        self._turn = turn
        # On the node's loop: whom to tell if what was written in a turn is lost.
        self._waiting: set[_Asked] = set()
        self._connections = self.connections()
        self.throttled = Throttled()

    @property
    def image(self) -> MetadataImage:
        return self.node.image

    def connections(self) -> BrokerConnections:
        """To other brokers, under the node's own name. Requests on one are answered in order: who
        asks for what may take long has some of its own."""
        node = self.node
        return BrokerConnections(
            node.network,
            node.clock,
            node.rng,
            lambda: node.image,
            listener=node.config.listening.inter_broker_name,
            settings=peer_settings(node.config, _PURPOSE, node.logins),
        )

    async def on_loop(self, work: Callable[[Done], None]) -> Any:
        """`work(done)` on the node's loop; what `done` is given, or raised if it is an exception.
        Who no longer waits is not told."""
        asked = _Asked(trio.lowlevel.current_trio_token())

        def begin() -> None:
            self._waiting.add(asked)
            try:
                work(partial(self._done, asked))
            except Exception as failed:
                self._done(asked, failed)

        try:
            self._run_soon(begin)
        except trio.RunFinishedError:
            raise _gone() from None
        try:
            await asked.answered.wait()
        except trio.Cancelled:
            asked.is_wanted = False
            raise
        if isinstance(asked.answer, Exception):
            raise asked.answer
        return asked.answer

    async def call(self, work: Callable[[], T]) -> T:
        """What `work` returns on the node's loop."""
        return cast(T, await self.on_loop(lambda done: done(work())))

    def soon(self, work: Callback) -> None:
        """`work` on the node's loop, after all that was asked before; nobody waits for it."""
        with suppress(trio.RunFinishedError):
            self._run_soon(work)

    async def request(self, frame: bytes, peer: Peer) -> memoryview:
        """A whole request of `peer` to this node; the response without its size."""
        parts: Sequence[Part] = await self.on_loop(partial(self._serve, frame, peer))
        data = bytearray()
        for part in parts:
            if isinstance(part, bytes):
                data += part
                continue
            # A file that is open until it is released: reading it needs no loop.
            try:
                data += part.read()
            finally:
                self._release(part.release)
        return memoryview(data).toreadonly()[_SIZE_BYTES:]

    async def request_to(
        self,
        broker_id: int,
        api: ApiKey,
        version: int,
        body: bytes,
        timeout_ms: int,
        connections: BrokerConnections | None = None,
    ) -> memoryview:
        """The same to another broker, under this node's name; the body of the response."""

        def ask(done: Done) -> None:
            connection = (connections or self._connections).to(broker_id)
            if connection is None:
                raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"no broker {broker_id}")
            connection.call(
                api,
                lambda _: body,
                done,
                versions=(version, version),
                timeout_ms=timeout_ms,
                decode=lambda _, view: bytes(view),
            )

        try:
            answer = await self.on_loop(ask)
        except CallFailed as failed:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {broker_id}: {failed}") from None
        return memoryview(answer)

    # --- on the node's loop ---

    def broke(self, reason: str) -> None:
        """What was promised in this turn is lost: who waits is told to ask again."""
        for asked in list(self._waiting):
            self._done(asked, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason))

    def close(self) -> None:
        self._connections.close()
        for asked in list(self._waiting):
            self._done(asked, _gone())

    def _serve(self, frame: bytes, peer: Peer, done: Done) -> None:
        if not self.is_serving or self.node.broker is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "this node serves no clients now")
        try:
            call, answer = dispatch(self.node, memoryview(frame)[_SIZE_BYTES:], peer)
        except (Hangup, Corrupt) as refused:
            raise _not_answered(refused) from refused
        if isinstance(answer, Later):
            answer.when_resolved(lambda later: self._answered(call, later.answer, done))
        else:
            self._answered(call, answer, done)

    def _answered(self, call: Call[Any], answer: Resolved, done: Done) -> None:
        try:
            parts = encode_or_hang_up(self.node.journal, call, answer)
        except Hangup as refused:
            done(_not_answered(refused))
            return
        self._turn.answer(lambda: done(parts))

    def _done(self, asked: "_Asked", answer: Any) -> None:
        if asked in self._waiting:
            self._waiting.discard(asked)
            if asked.is_wanted:
                asked.tell(answer)
                return
        _let_go(answer)

    def _release(self, release: Callback) -> None:
        try:
            self._run_soon(release)
        except trio.RunFinishedError:
            release()


class _Asked:
    """Somebody on HTTP's thread who waits for the node's loop."""

    __slots__ = ("_token", "answer", "answered", "is_wanted")

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self.answered = trio.Event()
        self.answer: Any = None
        self.is_wanted = True
        self._token = token

    def tell(self, answer: Any) -> None:
        self.answer = answer
        try:
            self._token.run_sync_soon(self._wake)
        except trio.RunFinishedError:
            _let_go(answer)

    def _wake(self) -> None:
        self.answered.set()
        if not self.is_wanted:
            _let_go(self.answer)


def _let_go(answer: Any) -> None:
    """The files of an answer that nobody will read."""
    if isinstance(answer, (tuple, list)):
        for part in answer:
            release = getattr(part, "release", None)
            if release is not None:
                release()


def _gone() -> KafkaError:
    return KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "this node stops")


def _not_answered(refused: Exception) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(refused))
