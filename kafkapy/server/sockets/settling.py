"""Connections of a secured listener that nobody has vouched for yet: bounded in time and number.

Who only begins handshakes holds memory for nothing. Each has so long, and when there are too many
the oldest makes room: who is honest takes milliseconds.
"""

import time
from collections import deque
from typing import Final

from kafkapy.server.sockets.connection import Connection

# As Kafka's clients wait for a connection at most (socket.connection.setup.timeout.max.ms).
SETTLED_WITHIN_SECONDS: Final = 30.0
MOST_UNSETTLED: Final = 1000


class Settling:
    def __init__(self) -> None:
        self._since: deque[tuple[float, Connection]] = deque()

    def add(self, connection: Connection) -> None:
        self._since.append((time.monotonic(), connection))
        if len(self._since) > MOST_UNSETTLED:
            self._forget_settled()
            while len(self._since) > MOST_UNSETTLED:
                self._since.popleft()[1].close("too many connections are not authenticated")

    def close_overdue(self) -> None:
        self._forget_settled()
        limit = time.monotonic() - SETTLED_WITHIN_SECONDS
        while self._since and self._since[0][0] < limit:
            self._since.popleft()[1].close("not authenticated in time")

    def _forget_settled(self) -> None:
        self._since = deque(
            one for one in self._since if one[1].is_open and not one[1].peer.is_settled
        )
