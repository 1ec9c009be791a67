"""The node's door (broker/quotas/door.py), asked for connections over HTTP.

    HTTP's thread                      the node's loop
    a connection      --- come --->    too many a second: so long it waits, and asks again
                                       too many of its address, or too often: it is turned away
                                       else it is inside
    it has ended      --- leave -->    no more

The door is the node's loop's; what is sent there is done in order, so that whoever hangs up while
it asks leaves after it came. A loop that does not answer soon keeps nobody out: what is wrong with
the node is to be seen by HTTP. How many there are then is bounded all the same (connections.py).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from kafkapy.broker.quotas.door import Door, TurnedAway
from kafkapy.http.entrance.security import LISTENER
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.link import NodeLink

_PATIENCE_SECONDS: Final = 1.0
_SECOND_MS: Final = 1000


@asynccontextmanager
async def at_the_door(link: NodeLink, host: str) -> AsyncIterator[TurnedAway | None]:
    """Why it may not come in; None: it is inside until this ends."""
    guest = _Guest(link.node.door, host)
    try:
        yield await _asked(link, guest)
    finally:
        link.soon(guest.leave)


async def _asked(link: NodeLink, guest: "_Guest") -> TurnedAway | None:
    while True:
        wait_ms = 0
        try:
            with trio.move_on_after(_PATIENCE_SECONDS):
                wait_ms = await link.call(guest.come)
        except KafkaError:
            pass  # the node stops, or its disk has failed
        if not wait_ms:
            return guest.turned_away
        await trio.sleep(wait_ms / _SECOND_MS)


class _Guest:
    """On the node's loop."""

    def __init__(self, door: Door, host: str) -> None:
        self.turned_away: TurnedAway | None = None
        self._door = door
        self._host = host
        self._is_inside = False

    def come(self) -> int:
        """How long it has to wait before it asks again; 0: it is said what becomes of it."""
        wait_ms = self._door.wait_ms(LISTENER)
        if not wait_ms:
            self.turned_away = self._door.came(LISTENER, self._host)
            self._is_inside = self.turned_away is None
        return wait_ms

    def leave(self) -> None:
        if self._is_inside:
            self._door.left(self._host)
