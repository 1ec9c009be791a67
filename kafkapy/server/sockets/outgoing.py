"""What a connection still has to send: bytes and slices of files, in order.

Small slices are read and sent together with the bytes around them in one sendmsg; large
ones go from the page cache to the socket with sendfile and never pass through Python.
What is not in the page cache is brought there by a thread; the queue waits, the loop does not.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from kafkapy.broker.requests.request import Part
from kafkapy.server.disk.files import RealFileSlice

# Below this a pread and a shared sendmsg are cheaper than a sendfile of its own.
SENDFILE_FROM_BYTES = 64 * 1024
# A slice is asked for in the page cache, and brought there, by as much at a time.
CACHED_AT_ONCE_BYTES = 1024 * 1024
# IOV_MAX is 1024 on Linux; gathering more at once gains nothing. Windows cannot gather.
MAX_BUFFERS = 64 if hasattr(socket.socket, "sendmsg") else 1


class Outgoing:
    """A queue of parts for one non-blocking socket."""

    __slots__ = (
        "_cached_of_slice",
        "_on_cached",
        "_parts",
        "_sent_of_slice",
        "_socket",
        "is_waiting_for_disk",
        "unsent_bytes",
    )

    def __init__(self, sock: socket.socket, on_cached: Callable[[], None]) -> None:
        self._socket = sock
        self._on_cached = on_cached
        self._cached_of_slice = 0
        self.is_waiting_for_disk = False
        self._parts: deque[bytes | memoryview | RealFileSlice] = deque()
        self._sent_of_slice = 0
        self.unsent_bytes = 0

    def add(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if type(part) is bytes:
                self._parts.append(part)
                self.unsent_bytes += len(part)
            else:
                self._add_slice(part)

    def _add_slice(self, part: Part) -> None:
        assert not isinstance(part, bytes), "a subclass of bytes"
        self.unsent_bytes += part.length
        if isinstance(part, RealFileSlice) and (
            part.length >= SENDFILE_FROM_BYTES or not part.is_cached(0, part.length)
        ):
            self._parts.append(part)
            return
        self._parts.append(part.read())
        part.release()

    def send(self) -> None:
        """Send until all is out, the socket is full or the disk must be waited for. Raises
        OSError if the peer is gone."""
        parts = self._parts
        if len(parts) == 1 and type(parts[0]) is bytes and not self.is_waiting_for_disk:
            self._send_one(parts[0])
            return
        while parts and not self.is_waiting_for_disk:
            head = parts[0]
            sent = self._send_file(head) if isinstance(head, RealFileSlice) else self._send_bytes()
            if sent < 0:
                return

    def _send_one(self, only: bytes) -> None:
        """What nearly every answer is."""
        try:
            sent = self._socket.send(only)
        except BlockingIOError:
            return
        self.unsent_bytes -= sent
        if not self.unsent_bytes:
            self._parts.clear()
        else:
            self._parts[0] = memoryview(only)[sent:]

    def _send_bytes(self) -> int:
        parts = self._parts
        buffers: list[bytes | memoryview] = []
        flags = 0
        for part in parts:
            if isinstance(part, RealFileSlice):
                flags = socket.MSG_MORE if hasattr(socket, "MSG_MORE") else 0
                break
            buffers.append(part)
            if len(buffers) == MAX_BUFFERS:
                break
        try:
            if len(buffers) == 1 and not flags:
                sent = self._socket.send(buffers[0])
            else:
                sent = self._socket.sendmsg(buffers, (), flags)
        except BlockingIOError:
            return -1
        self.unsent_bytes -= sent
        left = sent
        while left:
            head = parts[0]
            assert not isinstance(head, RealFileSlice), "only buffers were sent"
            if left < len(head):
                parts[0] = memoryview(head)[left:]
                break
            left -= len(head)
            parts.popleft()
        return sent

    def _send_file(self, part: RealFileSlice) -> int:
        at = self._sent_of_slice
        if at >= self._cached_of_slice and not self._is_cached(part, at):
            return -1
        try:
            sent = os.sendfile(
                self._socket.fileno(),
                part.pin(),
                part.position + at,
                self._cached_of_slice - at,
            )
        except BlockingIOError:
            return -1
        if sent == 0:
            # The file was cut below what we promised: the frame cannot be completed.
            raise OSError(f"{part.length - at} bytes of a response are gone from the file")
        self.unsent_bytes -= sent
        self._sent_of_slice += sent
        if self._sent_of_slice == part.length:
            part.release()
            self._parts.popleft()
            self._sent_of_slice = self._cached_of_slice = 0
        return sent

    def _is_cached(self, part: RealFileSlice, at: int) -> bool:
        """Whether the next stretch of a slice can be sent now; if not, it will be."""
        length = min(CACHED_AT_ONCE_BYTES, part.length - at)
        if part.is_cached(at, length):
            self._cached_of_slice = at + length
            return True

        def cached() -> None:
            self.is_waiting_for_disk = False
            if self._parts:
                self._cached_of_slice = at + length
                self._on_cached()

        self.is_waiting_for_disk = True
        part.bring_in(at, length, cached)
        return False

    def drop(self) -> None:
        """The connection is gone: let the files go."""
        for part in self._parts:
            if isinstance(part, RealFileSlice):
                part.release()
        self._parts.clear()
        self.unsent_bytes = 0
