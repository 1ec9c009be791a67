"""Readiness for all sockets of a node, served by one Trio task.

A Trio task per connection costs about 7 us a wake-up and kilobytes of stack; here every
socket is registered once in an epoll of our own, and Trio waits for that epoll only. A
round serves all sockets that are ready, so the price of a wake-up is shared, and an idle
connection is one small object.

    round    read and serve every socket that is ready -> send all answers -> end of the turn

Answers leave together: a client with many connections is woken once for all of them, not once
for each, and that was a sixth of what a small request costs.

Where there is no epoll, `selectors` gives the same rounds; Trio then has nothing to wait
on and a worker thread waits in its place.
"""

import select
import selectors
import time
from typing import Protocol

import trio

from kafkapy.broker.turn import Turn
from kafkapy.core.seams import Callback

# The loop may be kept this long before timers and other tasks get their turn,
ROUND_SECONDS = 0.002
# and answers this long, if what else is ready takes time.
ANSWER_WITHIN_SECONDS = 0.0005
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Ready(Protocol):
    """What a registered socket is served by."""

    def on_readable(self) -> None: ...

    def on_writable(self) -> None: ...


class Reactor(Protocol):
    answered: list[Callback]
    """Whoever has served requests of this round puts the sending of their answers here."""

    def register(self, fd: int, owner: Ready, interest: int) -> None: ...

    def modify(self, fd: int, interest: int) -> None: ...

    def unregister(self, fd: int) -> None: ...

    async def run(self) -> None: ...


class EpollReactor:
    """Linux: an epoll inside Trio's epoll."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.answered: list[Callback] = []
        self._epoll = select.epoll()
        self._owners: dict[int, Ready] = {}

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self._owners[fd] = owner
        self._epoll.register(fd, self._events(interest))

    def modify(self, fd: int, interest: int) -> None:
        self._epoll.modify(fd, self._events(interest))

    def unregister(self, fd: int) -> None:
        # Once `run` has ended, whoever closes late finds nothing to unregister from.
        if self._owners.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    async def run(self) -> None:
        readable = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
        writable = select.EPOLLOUT
        poll, owners, clock = self._epoll.poll, self._owners, time.perf_counter
        turn, answered = self._turn, self.answered
        try:
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                round_ends = clock() + ROUND_SECONDS
                while events := poll(0, 256):
                    turn.begin()
                    answer_by = clock() + ANSWER_WITHIN_SECONDS
                    for fd, event in events:
                        # An earlier one of this round may have closed it.
                        owner = owners.get(fd)
                        if owner is not None and event & writable:
                            owner.on_writable()
                            owner = owners.get(fd)
                        if owner is not None and event & readable:
                            owner.on_readable()
                            if clock() >= answer_by:
                                _send(answered)
                    _send(answered)
                    turn.end()
                    if clock() >= round_ends:
                        await trio.lowlevel.checkpoint()
                        round_ends = clock() + ROUND_SECONDS
        finally:
            owners.clear()
            self._epoll.close()

    @staticmethod
    def _events(interest: int) -> int:
        events = 0
        if interest & READ:
            events |= select.EPOLLIN
        if interest & WRITE:
            events |= select.EPOLLOUT
        return events


class SelectorReactor:
    """Elsewhere: the platform's best selector, waited for in a worker thread."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.answered: list[Callback] = []
        self._selector = selectors.DefaultSelector()
        self._is_closed = False

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self._selector.register(fd, interest or READ, owner)

    def modify(self, fd: int, interest: int) -> None:
        owner = self._selector.get_key(fd).data
        self._selector.modify(fd, interest or READ, owner)

    def unregister(self, fd: int) -> None:
        if not self._is_closed:
            self._selector.unregister(fd)

    async def run(self) -> None:
        try:
            while True:
                events = self._selector.select(0)
                if not events:
                    # Short waits: another socket may be registered meanwhile.
                    events = await trio.to_thread.run_sync(
                        self._selector.select, 0.01, abandon_on_cancel=False
                    )
                self._turn.begin()
                for key, event in events:
                    if event & WRITE:
                        key.data.on_writable()
                    if event & READ and key.fd in self._selector.get_map():
                        key.data.on_readable()
                _send(self.answered)
                self._turn.end()
                await trio.lowlevel.checkpoint()
        finally:
            self._is_closed = True
            self._selector.close()


def _send(answered: list[Callback]) -> None:
    for send in answered:
        send()
    answered.clear()


def make_reactor(turn: Turn) -> Reactor:
    """Each round is a turn: begun before its sockets are served, ended after them."""
    return EpollReactor(turn) if hasattr(select, "epoll") else SelectorReactor(turn)
