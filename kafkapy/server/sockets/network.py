"""The Network seam on sockets of the node's reactor.

Names are looked up on a thread, everything else happens on the loop. What is sent within a
round leaves at its end, with the answers to clients: after the write that it may speak of.
"""

import errno
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, ChannelOwner, Down
from kafkapy.core.seams import Bytes, Callback
from kafkapy.server.sockets.outgoing import Outgoing
from kafkapy.server.sockets.reactor import READ, WRITE, Reactor

if TYPE_CHECKING:
    from ssl import SSLContext

_SIZE_BYTES: Final = 4
# What the other machine says itself when nobody listens there. Anything else is of the way there,
# or of this node (no descriptors, no ports): that says nothing of who is asked.
_REFUSED: Final = {errno.ECONNREFUSED, errno.ECONNRESET}


class _BadFrame(Exception):
    pass


RunInThread = Callable[[Callback, Callback], None]
# By the listener's name: how it is secured, or None for plain text.
ClientTls = Callable[[str], "SSLContext | None"]


def _plain(listener: str) -> None:
    return None


class SocketNetwork:
    """`run_in_thread(work, then)`: `then` runs on the loop."""

    def __init__(
        self,
        reactor: Reactor,
        run_in_thread: RunInThread,
        *,
        max_frame_bytes: int,
        client_tls: ClientTls = _plain,
    ) -> None:
        self._reactor = reactor
        self._run_in_thread = run_in_thread
        self._max_frame_bytes = max_frame_bytes
        self._client_tls = client_tls
        self._channels: set[SocketChannel] = set()

    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> Channel:
        channel = self._channel(address, listener, owner)
        self._channels.add(channel)
        found: list[tuple[int, tuple[str, int]]] = []

        def look_up() -> None:
            found.extend(_resolve(address))

        def looked_up() -> None:
            if found:
                channel.begin(*found[0])
            else:
                channel.end(Down.UNREACHABLE, f"no address is known of {address.host}")

        if _is_numeric(address.host):
            found.extend(_resolve(address))
            self._reactor.run_soon(looked_up)
        else:
            self._run_in_thread(look_up, looked_up)
        return channel

    def _channel(self, address: Address, listener: str, owner: ChannelOwner) -> "SocketChannel":
        context = self._client_tls(listener)
        forget = self._channels.discard
        if context is None:
            return SocketChannel(owner, self._reactor, self._max_frame_bytes, forget)
        from kafkapy.server.tls.channel import TlsChannel

        return TlsChannel(
            owner, self._reactor, self._max_frame_bytes, forget, context, address.host
        )

    def break_all(self, reason: str) -> None:
        """What was sent in this turn will not leave: nothing may leave behind it either."""
        for channel in list(self._channels):
            channel.break_off(reason)

    def close(self) -> None:
        """The loop ends: nobody hears anything any more."""
        for channel in list(self._channels):
            channel.close()


class SocketChannel:
    """One outbound connection; its socket is there once the address is known."""

    __slots__ = (
        "_buffer",
        "_filled",
        "_forget",
        "_interest",
        "_is_connecting",
        "_max_frame_bytes",
        "_out",
        "_owner",
        "_reactor",
        "_socket",
        "_untold",
        "is_open",
    )

    def __init__(
        self,
        owner: ChannelOwner,
        reactor: Reactor,
        max_frame_bytes: int,
        forget: Callable[["SocketChannel"], None],
    ) -> None:
        self.is_open = True
        self._untold: str | None = None  # why it was broken off
        self._owner = owner
        self._reactor = reactor
        self._max_frame_bytes = max_frame_bytes
        self._forget = forget
        self._socket: socket.socket | None = None
        self._out: Outgoing | None = None
        self._is_connecting = True
        self._interest = WRITE
        # The frame that has not come whole, its size included; as large as what has come.
        self._buffer: bytearray | None = None
        self._filled = 0

    # --- connecting ---

    def begin(self, family: int, where: tuple[str, int]) -> None:
        if not self.is_open:
            return
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as failed:
            self._failed_to_connect(failed.errno or 0)
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(where)
        if code not in (0, errno.EINPROGRESS):
            sock.close()
            self._failed_to_connect(code)
            return
        self._socket = sock
        self._out = Outgoing(sock, self._flush)
        self._reactor.register(sock.fileno(), self, self._interest)

    def _failed_to_connect(self, code: int) -> None:
        why = Down.REFUSED if code in _REFUSED else Down.UNREACHABLE
        self.end(why, os.strerror(code))

    def on_writable(self) -> None:
        if not self._is_connecting:
            self._flush()
            return
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._failed_to_connect(code)
            return
        self._connected()

    def _connected(self) -> None:
        self._is_connecting = False
        self._set_interest(READ)
        self._owner.on_up()

    # --- in ---

    def on_readable(self) -> None:
        if self._is_connecting:
            self.on_writable()  # a refusal may come as an error alone
            return
        assert self._socket is not None
        begun = self._buffer
        room = self._reactor.buffers.scratch if begun is None else memoryview(begun)[self._filled :]
        try:
            count = self._socket.recv_into(room)
        except BlockingIOError:
            return
        except OSError as failed:
            self.end(Down.BROKEN, failed.strerror or str(failed))
            return
        # From here on nothing but a bad frame is the connection's fault.
        try:
            if not count:
                where = "" if begun is None else " in the middle of a frame"
                self.end(Down.BROKEN, f"closed by the peer{where}")
            elif begun is None:
                self._received(count)
            else:
                self._received_more(begun, count)
        except _BadFrame as bad:
            self.end(Down.BROKEN, str(bad))

    def _received(self, count: int) -> None:
        buffers = self._reactor.buffers
        at = 0
        while self.is_open and count - at >= _SIZE_BYTES:
            end = at + self._frame_end(buffers.scratch[at:count])
            if end > count:
                break
            self._owner.on_frame(buffers.read_scratch[at + _SIZE_BYTES : end])
            at = end
        if self.is_open and at < count:
            self._keep(buffers.scratch[at:count])

    def _keep(self, begun: memoryview) -> None:
        """The rest goes straight into a buffer of the frame's own."""
        size = self._frame_end(begun) if len(begun) >= _SIZE_BYTES else _SIZE_BYTES
        self._buffer = bytearray(size)
        self._buffer[: len(begun)] = begun
        self._filled = len(begun)

    def _received_more(self, buffer: bytearray, count: int) -> None:
        self._filled += count
        if self._filled < len(buffer):
            return
        if len(buffer) == _SIZE_BYTES and self._frame_end(memoryview(buffer)) > _SIZE_BYTES:
            self._keep(memoryview(buffer))
            return
        self._buffer = None
        self._owner.on_frame(memoryview(buffer).toreadonly()[_SIZE_BYTES:])

    def _frame_end(self, begun: memoryview) -> int:
        """How long the frame is, its size included."""
        size = int.from_bytes(begun[:_SIZE_BYTES], "big", signed=True)
        if not 0 <= size <= self._max_frame_bytes:
            raise _BadFrame(f"a frame of {size} bytes")
        return size + _SIZE_BYTES

    # --- out ---

    def send(self, parts: Sequence[Bytes]) -> None:
        assert self._out is not None, "not up"
        # What it says of this node's log may not be written yet.
        self._reactor.turn.answer(partial(self._leave, b"".join(parts)))

    def _leave(self, frame: bytes) -> None:
        if self.is_open and self._out is not None:
            self._out.add((frame,))
            self._flush()

    def _flush(self) -> None:
        if not self.is_open or self._out is None:
            return
        try:
            self._out.send()
        except OSError as failed:
            # Not from within `send`, whose caller is in the middle of something.
            why = failed.strerror or str(failed)
            self._reactor.run_soon(partial(self.end, Down.BROKEN, why))
            return
        self._set_interest(READ | WRITE if self._out.unsent_bytes else READ)

    def _set_interest(self, interest: int) -> None:
        if interest != self._interest and self._socket is not None:
            self._interest = interest
            self._reactor.modify(self._socket.fileno(), interest)

    # --- the end ---

    def end(self, why: Down, reason: str) -> None:
        if self.is_open:
            self.close()
            self._owner.on_down(why, reason)

    def break_off(self, reason: str) -> None:
        """Now; its owner, who may be in the middle of something, hears of it soon."""
        if self.is_open:
            self.close()
            self._untold = reason
            self._reactor.run_soon(self._tell)

    def _tell(self) -> None:
        reason, self._untold = self._untold, None
        if reason is not None:
            self._owner.on_down(Down.BROKEN, reason)

    def close(self) -> None:
        self._untold = None
        if not self.is_open:
            return
        self.is_open = False
        self._forget(self)
        if self._socket is not None:
            self._reactor.unregister(self._socket.fileno())
            self._socket.close()
        if self._out is not None:
            self._out.drop()
        self._buffer = None


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _resolve(address: Address) -> list[tuple[int, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # the latter: it can be nobody's name
        return []
    return [(family, (str(where[0]), int(where[1]))) for family, _, _, _, where in found]
