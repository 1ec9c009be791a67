"""A proxy between clients and one server that hears every frame of both directions."""

import selectors
import socket
import struct
import threading
from collections.abc import Callable
from itertools import count

# (number of the connection, whether a client sent it, the frame with its size)
Hear = Callable[[int, bool, bytes], None]


class Proxy:
    """Forwards every connection; a frame is heard before it is passed on."""

    def __init__(self, server: tuple[str, int], port: int, hear: Hear) -> None:
        self._server = server
        self._hear = hear
        self._numbers = count()
        self._lock = threading.Lock()  # frames are heard one by one, in one order
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # ends the wait of the thread, too
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            number = next(self._numbers)
            threading.Thread(target=self._forward, args=(number, client), daemon=True).start()

    def _forward(self, number: int, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server)
        except ConnectionRefusedError:  # the server has ended before the client
            client.close()
            return
        pending = {client: b"", server: b""}
        with client, server, selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    try:
                        data = source.recv(65536)
                        pending[source] = self._heard(
                            number, source is client, pending[source] + data
                        )
                        key.data.sendall(data)
                    except OSError:
                        return
                    if not data:
                        return

    def _heard(self, number: int, is_request: bool, data: bytes) -> bytes:
        while len(data) >= 4:
            (size,) = struct.unpack_from(">i", data)
            if len(data) < 4 + size:
                break
            with self._lock:
                self._hear(number, is_request, data[: 4 + size])
            data = data[4 + size :]
        return data
