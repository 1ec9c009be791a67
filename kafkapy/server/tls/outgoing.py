"""What a TLS connection still has to send: sealed as the socket takes it.

No sendfile: what a slice names is read once it is in the page cache, and sealed. Never more than
a stretch is sealed ahead of the socket, so that memory follows what the peer reads.

`unsent_bytes` counts what is not sealed yet, and what is sealed and not sent.
"""

import os
import socket
from collections.abc import Callable
from typing import Final

from kafkapy.server.disk.files import RealFileSlice
from kafkapy.server.sockets.outgoing import Outgoing
from kafkapy.server.tls.session import TlsSession

_STRETCH_BYTES: Final = 128 * 1024
# A TLS record holds as much; what is smaller is joined, since each record costs as much again.
_RECORD_BYTES: Final = 16 * 1024


class TlsOutgoing(Outgoing):
    __slots__ = ("_sealed", "_session")

    def __init__(
        self, sock: socket.socket, session: TlsSession, on_cached: Callable[[], None]
    ) -> None:
        super().__init__(sock, on_cached)
        self._session = session
        self._sealed: memoryview | None = None

    def send(self) -> None:
        session = self._session
        while True:
            sealed = self._sealed
            if sealed is None:
                if not session.sealed_bytes and not self._seal_more():
                    return
                data = session.take()
                self.unsent_bytes += len(data)
                sealed = memoryview(data)
            try:
                sent = session.send(sealed)
            except BlockingIOError:
                self._sealed = sealed
                return
            self.unsent_bytes -= sent
            self._sealed = sealed[sent:] if sent < len(sealed) else None

    def _seal_more(self) -> bool:
        """A stretch of what waits; whether there was any."""
        parts = self._parts
        left = _STRETCH_BYTES
        while left > 0 and parts and not self.is_waiting_for_disk:
            head = parts[0]
            if not self._session.is_established:
                return False
            if isinstance(head, RealFileSlice):
                size = self._seal_slice(head, left)
                if not size:
                    break
            else:
                size = self._seal_bytes(left)
            self.unsent_bytes -= size
            left -= size
        return left < _STRETCH_BYTES

    def _seal_bytes(self, most: int) -> int:
        """The first part, with small ones behind it."""
        parts = self._parts
        head = parts.popleft()
        assert not isinstance(head, RealFileSlice), "slices are read"
        if len(head) > most:
            parts.appendleft(memoryview(head)[most:])
            head = memoryview(head)[:most]
        size = len(head)
        if size < _RECORD_BYTES:
            together = [head]
            while parts:
                following = parts[0]
                if isinstance(following, RealFileSlice):
                    break
                if size + len(following) > _RECORD_BYTES:
                    break
                together.append(following)
                size += len(following)
                parts.popleft()
            if len(together) > 1:
                head = b"".join(together)
        self._session.seal(head)
        return size

    def _seal_slice(self, part: RealFileSlice, most: int) -> int:
        at = self._sent_of_slice
        if at >= self._cached_of_slice and not self._is_cached(part, at):
            return 0
        data = os.pread(part.pin(), min(most, self._cached_of_slice - at), part.position + at)
        if not data:
            # The file was cut below what we promised: the frame cannot be completed.
            raise OSError(f"{part.length - at} bytes of a response are gone from the file")
        self._session.seal(data)
        self._sent_of_slice += len(data)
        if self._sent_of_slice == part.length:
            part.release()
            self._parts.popleft()
            self._sent_of_slice = self._cached_of_slice = 0
        return len(data)

    def drop(self) -> None:
        super().drop()
        self._sealed = None
