"""One TLS session over a non-blocking socket that it owns, with what a socket can do.

    recv_into   ciphertext from the socket, at most once an event --> plaintext
    seal        plaintext --> ciphertext, in memory until `take` gives it to be sent

A read of a plain socket asks the kernel and nothing waits here. A session may have more for who
reads: `has_more` says so, and no readiness of the socket will.
"""

import socket
import ssl
import time
from contextlib import suppress
from typing import Final

_CIPHERTEXT: Final = memoryview(bytearray(256 * 1024))


class TlsSession:
    __slots__ = ("_in", "_is_at_end", "_out", "_socket", "_ssl", "has_more", "is_established",
                 "may_receive")  # fmt: skip

    def __init__(
        self, sock: socket.socket, context: ssl.SSLContext, *, server_name: str | None = None
    ) -> None:
        """`server_name`: of whom we connect to; None for who connects to us."""
        self.is_established = False
        self.has_more = False
        self.may_receive = False
        """Set for every event, so that one peer's bytes do not keep others waiting."""
        self._socket = sock
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._is_at_end = False
        self._ssl = context.wrap_bio(
            self._in,
            self._out,
            server_side=server_name is None,
            server_hostname=server_name,
        )

    def shake_hands(self) -> bool:
        """Take what has come; whether both know each other now. OSError if they never will."""
        count = self._socket.recv_into(_CIPHERTEXT)
        if count == 0:
            raise ConnectionResetError("closed during the handshake")
        self._in.write(_CIPHERTEXT[:count])
        return self.go_on()

    def go_on(self) -> bool:
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self._check_resumed()
        self.is_established = self.has_more = True  # what came behind the handshake
        return True

    def _check_resumed(self) -> None:
        """OpenSSL lets a session of TLS 1.2 be taken up again, by whoever showed a certificate
        then, and looks at that no more. (Python cannot switch that off. Other trust is another
        context, which knows no sessions.)"""
        if self._ssl.session_reused:
            shown = self._ssl.getpeercert() or {}
            ends = shown.get("notAfter")
            if isinstance(ends, str) and ssl.cert_time_to_seconds(ends) <= time.time():
                raise OSError("the certificate of a resumed session has expired")

    def peer_certificate(self) -> bytes | None:
        """In DER, verified; None if none was shown."""
        return self._ssl.getpeercert(binary_form=True)

    # --- what a socket can do ---

    def fileno(self) -> int:
        return self._socket.fileno()

    def getsockopt(self, level: int, name: int) -> int:
        return self._socket.getsockopt(level, name)

    def recv_into(self, buffer: memoryview, limit: int = 0) -> int:
        view = buffer[: limit or len(buffer)]
        got = self._read(view)
        if got or self._is_at_end:
            return got
        if not self.may_receive:
            raise BlockingIOError
        self.may_receive = False
        count = self._socket.recv_into(_CIPHERTEXT)
        if count == 0:
            return 0
        self._in.write(_CIPHERTEXT[:count])
        got = self._read(view)
        if not got and not self._is_at_end:
            raise BlockingIOError
        return got

    def send(self, ciphertext: bytes | memoryview) -> int:
        """What `take` gave, as far as the kernel has room."""
        return self._socket.send(ciphertext)

    def close(self) -> None:
        self._socket.close()

    # --- within ---

    def _read(self, view: memoryview) -> int:
        got, size = 0, len(view)
        while got < size:
            try:
                count = self._ssl.read(size - got, view[got:])
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self._is_at_end = True
                break
            assert isinstance(count, int), "it reads into a buffer"
            if count == 0:
                self._is_at_end = True
                break
            got += count
        else:
            self.has_more = True
            return got
        self.has_more = self._is_at_end and got > 0  # the end is still to be told
        return got

    def seal(self, plaintext: bytes | memoryview) -> None:
        view = memoryview(plaintext)
        while len(view):
            written = self._ssl.write(view)
            view = view[written:]

    @property
    def sealed_bytes(self) -> int:
        return self._out.pending

    def take(self) -> bytes:
        return self._out.read()

    def say_goodbye(self) -> None:
        """As far as there is room in the socket."""
        with suppress(OSError, ValueError):
            self._ssl.unwrap()
        with suppress(OSError):
            self._socket.send(self._out.read())
