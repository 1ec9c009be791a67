"""One client's connection: bytes in, frames to the broker, answers out in order.

    readable -> recv -> every complete frame -> dispatch -> [pending...] -> outgoing
    the turn writes, or a `Later` resolved outside of one                   -> send

All of it is synchronous: the reactor calls `on_readable` and `on_writable`, and a `Later`
that something else resolves sends from there. Small frames are parsed in a buffer that
all connections share, so an idle connection holds none; a large frame gets a buffer for
itself, one that an earlier frame is done with if there is one (new memory costs the kernel
as much as the bytes themselves), else one which grows with what has really arrived.
"""

import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final

from kafkapy.broker.requests.request import (
    Answer,
    Call,
    Encoded,
    Hangup,
    Later,
    Part,
    Peer,
    Resolved,
)
from kafkapy.core.errors import Corrupt
from kafkapy.core.limits import MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
from kafkapy.server.sockets.buffers import SCRATCH_BYTES
from kafkapy.server.sockets.outgoing import Outgoing
from kafkapy.server.sockets.reactor import READ, WRITE, Reactor

Dispatch = Callable[[memoryview, Peer], tuple[Call[Any], Answer]]
Encode = Callable[[Call[Any], Resolved], Sequence[Part]]

# How much is read ahead of knowing how large the next frame is, once frames were large:
# what is read here is copied, what is read into the frame's own buffer is not.
PEEK_BYTES = 4096
FIRST_BUFFER_BYTES = 1024 * 1024 + 64 * 1024  # the largest batch by default, and what is around it
# Reading stops while this much waits to be sent: the client does not read its answers.
MAX_UNSENT_BYTES = 8 * 1024 * 1024
_LARGE_FRAME_BYTES: Final = SCRATCH_BYTES // 2
_SIZE: Final = Struct(">i").unpack_from
SMALLEST_FRAME_BYTES: Final = 8


class Connection:
    """Owns its socket. `closed` is called once, with the reason or None."""

    __slots__ = (
        "_buffer",
        "_buffers",
        "_closed",
        "_dispatch",
        "_encode",
        "_filled",
        "_frames_are_large",
        "_held",
        "_interest",
        "_is_muted",
        "_least_frame_bytes",
        "_max_frame_bytes",
        "_out",
        "_pending",
        "_reactor",
        "_socket",
        "_turn",
        "_wanted",
        "is_open",
        "last_used",
        "peer",
    )

    def __init__(
        self,
        sock: socket.socket,
        peer: Peer,
        reactor: Reactor,
        dispatch: Dispatch,
        encode: Encode,
        closed: Callable[["Connection", str | None], None],
        max_frame_bytes: int,
    ) -> None:
        self.peer = peer
        self.is_open = True
        self.last_used = 0.0
        self._socket = sock
        self._reactor = reactor
        self._turn = reactor.turn
        self._dispatch = dispatch
        self._encode = encode
        self._closed = closed
        self._least_frame_bytes = SMALLEST_FRAME_BYTES
        self._max_frame_bytes = max_frame_bytes
        self._buffers = reactor.buffers
        self._buffer: bytearray | None = None
        self._filled = 0
        self._wanted = 0  # of the buffer: the frame, or as much of it as there is room for
        self._frames_are_large = False
        self._held: bytes | None = None  # what was read and is served once there is room
        self._interest = READ
        self._is_muted = False
        self._out = Outgoing(sock, self._flush_in_time)
        self._pending: deque[tuple[Call[Any], Later | Resolved]] = deque()
        reactor.register(sock.fileno(), self, READ)

    # --- in ---

    def on_readable(self) -> None:
        if self._held is not None:
            # Nobody wants to read: it is told that the peer is gone, if anything.
            if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.close(None)
            return
        self.last_used = time.monotonic()
        try:
            if self._buffer is not None:
                self._receive_into_own_buffer(self._buffer)
            else:
                self._receive_into_scratch()
        except (Corrupt, Hangup) as bad:
            self.close(str(bad) or None)
        self._turn.answer(self._flush)

    def _receive(self, buffer: memoryview, most: int) -> int:
        """0: nothing came, or nothing will. What goes wrong when a frame is served is not caught
        here: that is no fault of the connection."""
        try:
            count = self._socket.recv_into(buffer, most)
        except BlockingIOError:
            return 0
        except OSError:
            count = 0
        if not count:
            self.close(None)
        return count

    def _receive_into_scratch(self) -> None:
        limit = PEEK_BYTES if self._frames_are_large else SCRATCH_BYTES
        count = self._receive(self._buffers.scratch, limit)
        if count == 0:
            return
        used = self._handle_frames(self._buffers.read_scratch, count)
        if used < count and self.is_open:
            self._keep_rest(self._buffers.scratch[used:count])
            if self._frames_are_large and self._buffer is not None:
                self._receive_into_own_buffer(self._buffer)

    def _receive_into_own_buffer(self, buffer: bytearray) -> None:
        """Read at most to the end of the frame, so that nothing has to be moved after it."""
        view = memoryview(buffer)
        count = self._receive(view[self._filled : self._wanted], self._wanted - self._filled)
        if count == 0:
            return
        self._filled += count
        if self._filled < self._wanted:
            return
        size = self._frame_end(view, 0)
        if size <= self._filled:
            self._buffer = None
            self._handle_frames(view.toreadonly(), self._filled)
            self._done_with(buffer)
        else:
            self._grow(buffer, size)

    def _handle_frames(self, view: memoryview, count: int) -> int:
        """Serve every complete frame in view[:count]; returns where the incomplete one starts.
        A client that asks without reading the answers is served no further: `_hold`."""
        at = 0
        while count - at >= 4 and self.is_open:
            end = at + self._frame_end(view, at)
            if end > count:
                break
            self._frames_are_large = end - at > _LARGE_FRAME_BYTES
            self._serve(view[at + 4 : end])
            at = end
            if at < count and self.is_open and self._is_full:
                self._hold(view[at:count])
                return count
        return at

    @property
    def _is_full(self) -> bool:
        """So much is to be answered or sent that nothing more is taken in."""
        return (
            self._out.unsent_bytes >= MAX_UNSENT_BYTES
            or len(self._pending) >= MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
        )

    def _hold(self, rest: memoryview) -> None:
        """A buffer has room for thousands of small requests, and their answers may be large."""
        self._held = bytes(rest)
        self._update_interest()

    def _go_on(self) -> None:
        """With what is held, if there is room by now: in a turn of its own, behind the others."""
        held = self._held
        if held is None or self._is_full or self._is_muted or not self.is_open:
            return
        self._held = None
        view = memoryview(held)
        try:
            used = self._handle_frames(view, len(held))
            if used < len(held) and self.is_open:
                self._keep_rest(view[used:])
        except (Corrupt, Hangup) as bad:
            self.close(str(bad) or None)
        self._turn.answer(self._flush)

    def _frame_end(self, view: memoryview, at: int) -> int:
        """How long the frame at `at` is, its size included."""
        size: int = _SIZE(view, at)[0]
        if not self._least_frame_bytes <= size <= self._max_frame_bytes:
            raise Corrupt(
                f"a frame of {size} bytes ({self._least_frame_bytes} to {self._max_frame_bytes} "
                "are allowed)"
            )
        return size + 4

    def _keep_rest(self, rest: memoryview) -> None:
        """The start of a frame whose rest has not come. At least 4 bytes are needed to size it."""
        want = self._frame_end(rest, 0) if len(rest) >= 4 else 4
        self._frames_are_large = want > _LARGE_FRAME_BYTES
        self._use(want, max(FIRST_BUFFER_BYTES, 2 * len(rest)), rest)

    def _grow(self, buffer: bytearray, want: int) -> None:
        """Twice the size, up to the frame's: memory follows the bytes that came, not the claim."""
        view = memoryview(buffer)[: self._filled]
        self._use(want, 2 * max(len(buffer), FIRST_BUFFER_BYTES), view)
        self._done_with(buffer)

    def _use(self, want: int, most: int, begun: memoryview) -> None:
        """Go on in a buffer that has room for `want` bytes, or for `most` if that is less."""
        buffer = self._buffers.take(want) if self._frames_are_large else None
        if buffer is None:
            buffer = bytearray(min(want, most))
        buffer[: len(begun)] = begun
        self._buffer, self._filled = buffer, len(begun)
        self._wanted = min(want, len(buffer))

    def _done_with(self, buffer: bytearray) -> None:
        self._buffers.put_back(buffer)

    # --- served ---

    def _serve(self, request: memoryview) -> None:
        call, answer = self._dispatch(request, self.peer)
        if type(answer) is Encoded and not self._pending:
            self._out.add(answer.parts)
        elif type(answer) is Later and not answer.is_resolved:
            self._pending.append((call, answer))
            answer.when_resolved(self._on_resolved)
            if len(self._pending) >= MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION:
                self._update_interest()
        else:
            resolved: Any = answer.answer if type(answer) is Later else answer
            if self._pending:
                self._pending.append((call, resolved))
            else:
                self._out.add(self._encode(call, resolved))

    def _on_resolved(self, later: Later) -> None:
        """The oldest request may now be answered, and those behind it that waited."""
        if not self.is_open:
            _let_go(later.answer)
            return
        try:
            while self._pending:
                call, answer = self._pending[0]
                if type(answer) is Later:
                    if not answer.is_resolved:
                        break
                    self._out.add(self._encode(call, answer.answer))
                else:
                    self._out.add(self._encode(call, answer))  # type: ignore[arg-type]  # not Later
                self._pending.popleft()
        except Hangup as bad:
            self.close(str(bad) or None)
        self._flush_in_time()

    # --- out ---

    def on_writable(self) -> None:
        self._flush_in_time()

    def _flush_in_time(self) -> None:
        self._turn.answer(self._flush)

    def _flush(self) -> None:
        if not self.is_open:
            return
        out = self._out
        try:
            out.send()
        except OSError:
            self.close(None)
            return
        if out.unsent_bytes or self._pending or self._interest != READ:
            self._update_interest()

    def _update_interest(self) -> None:
        out = self._out
        interest = WRITE if out.unsent_bytes and not out.is_waiting_for_disk else 0
        if not self._is_muted and not self._is_full:
            if self._held is None:
                interest |= READ
            else:
                self._reactor.run_soon(self._go_on)
        if interest != self._interest:
            self._interest = interest
            self._reactor.modify(self._socket.fileno(), interest)

    def mute(self, is_muted: bool) -> None:
        """Its client is throttled. What is read already is served."""
        self._is_muted = is_muted
        if self.is_open:
            self._update_interest()

    def limit_frames(self, least: int, most: int) -> None:
        """From the next frame on."""
        self._least_frame_bytes = least
        self._max_frame_bytes = most

    def hang_up(self) -> None:
        self.close(None)

    def close(self, reason: str | None) -> None:
        """Let go of everything; answers that are still to come are dropped."""
        if not self.is_open:
            return
        self.is_open = False
        self._reactor.unregister(self._socket.fileno())
        self._socket.close()
        self._out.drop()
        for _, answer in self._pending:
            _let_go(answer.answer if isinstance(answer, Later) else answer)
        self._pending.clear()
        self._buffer = self._held = None
        for then in self.peer.on_close:
            then()
        self._closed(self, reason)


def _let_go(answer: Resolved) -> None:
    """The files of an answer that nobody will get."""
    if isinstance(answer, Encoded):
        for part in answer.parts:
            if not isinstance(part, bytes):
                part.release()
