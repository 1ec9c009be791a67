"""A node's end of a connection from elsewhere: what server/sockets/connection.py is on sockets.

Requests are served in the order in which they arrive, answers leave in that order too,
however late one of them is. The buffer of a request is spoiled once its handler has
returned, as a shell uses it again.
"""

from collections import deque
from typing import Any, Final

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.dispatch import encode
from kafkapy.broker.requests.request import Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.broker.security.gates import gate_of
from kafkapy.core.errors import Corrupt
from kafkapy.core.network import Channel, Down

_SPOILED: Final = 0xEE


class Served:
    """The owner of one channel."""

    def __init__(self, node: Node, channel: Channel, peer: Peer) -> None:
        self._dispatch = gate_of(node, peer.listener)(peer)
        peer.line = self
        self._channel = channel
        self._peer = peer
        self.is_open = True
        # Throttled: what comes meanwhile is heard afterwards.
        self._is_muted = False
        self._held_back: deque[bytes] = deque()
        self._pending: deque[tuple[Call[Any], Later]] = deque()

    def on_up(self) -> None:
        raise AssertionError("who accepts is up from the start")

    def on_frame(self, frame: memoryview) -> None:
        if self._is_muted:
            self._held_back.append(bytes(frame))
            return
        request = bytearray(frame)
        try:
            call, answer = self._dispatch(memoryview(request), self._peer)
        except (Corrupt, Hangup):
            self.hang_up()
            return
        finally:
            request[:] = bytes([_SPOILED]) * len(request)
        later = answer if isinstance(answer, Later) else _resolved(answer)
        self._pending.append((call, later))
        later.when_resolved(self._on_resolved)

    def _on_resolved(self, later: Later) -> None:
        """The oldest request may now be answered, and those behind it that waited."""
        if not self.is_open:
            _let_go(later)
        while self._pending and self._pending[0][1].is_resolved:
            call, later = self._pending.popleft()
            try:
                data = joined(call, later.answer)
            except Hangup:
                self.hang_up()
                return
            if data:
                self._channel.send((data,))

    def limit_frames(self, least: int, most: int) -> None:
        """Whoever speaks in a simulation sends whole frames."""

    def mute(self, is_muted: bool) -> None:
        self._is_muted = is_muted
        while self._held_back and not self._is_muted and self.is_open:
            self.on_frame(memoryview(self._held_back.popleft()))

    def hang_up(self) -> None:
        if self.is_open:
            self._channel.close()
            self._end()

    def on_down(self, why: Down, reason: str) -> None:
        self._end()

    def _end(self) -> None:
        self.is_open = False
        for _, later in self._pending:
            if later.is_resolved:
                _let_go(later)
        self._pending.clear()
        for then in self._peer.on_close:
            then()


def joined(call: Call[Any], answer: Resolved) -> bytes:
    """The answer's bytes; the files it holds are let go. Raises Hangup."""
    parts = []
    for part in encode(call, answer):
        if isinstance(part, bytes | bytearray | memoryview):
            parts.append(bytes(part))
        else:
            parts.append(part.read())
            part.release()
    return b"".join(parts)


def _resolved(answer: Resolved) -> Later:
    later = Later()
    later.resolve(answer)
    return later


def _let_go(later: Later) -> None:
    if isinstance(later.answer, Encoded):
        for part in later.answer.parts:
            if not isinstance(part, bytes):
                part.release()
