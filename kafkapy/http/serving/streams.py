"""Answers that last until somebody hangs up: messages as they come, records as they are sent.

There are at most `http.max.streams`, and on so few connections that an eighth of
`http.max.connections` is left to who asks something and goes.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kafkapy.http.problems import Problem

# Where the server puts by which connection somebody asks (server.py).
CONNECTION: Final = "kafkapy.connection"
_LEFT: Final = 8


class Streams:
    """One per site."""

    def __init__(self, most: int, connections: int) -> None:
        self._most = most
        self._most_connections = max(1, connections - max(1, connections // _LEFT))
        self._by_connection: Counter[object] = Counter()

    def enter(self, scope: Scope) -> Callable[[], None]:
        """One more; what is returned is called when it has ended, once. Problem if there are too
        many."""
        count, known = self._by_connection.total(), self._by_connection
        where = scope.get(CONNECTION, object())
        if count >= self._most:
            raise Problem(503, f"{count} streams are open: http.max.streams")
        if where not in known and len(known) >= self._most_connections:
            told = "as many of http.max.connections as streams may have"
            raise Problem(503, f"{count} streams are open, on {told}")
        known[where] += 1

        def gone() -> None:
            known[where] -= 1
            if not known[where]:
                del known[where]

        return gone


class Lasting(Response):
    """`answer` is a stream; `gone` is called at its end, whatever that is."""

    def __init__(self, answer: Response, gone: Callable[[], None]) -> None:
        super().__init__()
        self._answer = answer
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            self._gone()
