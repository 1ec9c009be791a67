"""Readiness for all sockets of a node, served by one Trio task.

A Trio task per connection costs about 7 us a wake-up and kilobytes of stack; here every
socket is registered once in an epoll of our own. A round serves all sockets that are ready,
so the price of a wake-up is shared, and an idle connection is one small object. What that
brings, in the node's processor time for a produce of one record (interpreted, two processors):

                                              1 connection    32 connections
    a Trio task for each socket                    33.2 us           17.7 us
    one task, waiting through Trio each round      28.8 us           11.6 us
    this                                           14.2 us           10.5 us

A round is a turn (core/turn.py): every socket that is ready is read and served, then the
answers leave. They leave together: a client with many connections is woken once for all of
them, not once for each, and that was a sixth of what a small request costs.

Waiting for the next round through Trio costs as much again as serving a small request, so
after a round the reactor waits by itself, holding the loop, until

    a socket is ready       the next round
    a thread has something  `run_soon`, then Trio's other tasks
    a timer is due          Trio's other tasks, the clock's among them
    nothing has come        Trio waits in its place: an idle node waits there

and every 10 ms whatever comes, Trio's other tasks have their turn; if none of them has anything
to do, waiting goes on here.

If sockets have lately been ready very soon, it does not even go to sleep (busy_waiting.py).

Where there is no epoll, `selectors` gives the same rounds; Trio then has nothing to wait
on and a worker thread waits in its place.
"""

import os
import select
import selectors
import time
from collections import deque
from threading import RLock
from typing import Protocol

import trio

from kafkapy.core.seams import Callback
from kafkapy.core.turn import Turn
from kafkapy.server.sockets.buffers import Buffers
from kafkapy.server.sockets.busy_waiting import MOST_EVENTS, Haste
from kafkapy.server.sockets.turn_counts import TurnCounts

# Trio's other tasks (signals; housekeeping) may be kept waiting this long,
HOLD_SECONDS = 0.01
# and answers this long, if what else is ready takes time.
ANSWER_WITHIN_SECONDS = 0.0005
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Ready(Protocol):
    """What a registered socket is served by."""

    def on_readable(self) -> None: ...

    def on_writable(self) -> None: ...


class Timers(Protocol):
    @property
    def wakes_at(self) -> float:
        """When something is due, on `time.perf_counter`."""


class Reactor(Protocol):
    turn: Turn
    buffers: Buffers

    def register(self, fd: int, owner: Ready, interest: int) -> None: ...

    def modify(self, fd: int, interest: int) -> None: ...

    def unregister(self, fd: int) -> None: ...

    def run_soon(self, then: Callback) -> None:
        """From any thread: `then` on the loop. trio.RunFinishedError once that has ended."""

    async def run(self) -> None: ...

    def close(self) -> None:
        """Let go of what `run` would have let go of; any number of times."""


class CountingReactor(Reactor, Protocol):
    """One that counts its turns, where somebody looks at that."""

    counts: TurnCounts | None


class EpollReactor:
    """Linux: an epoll inside Trio's epoll."""

    def __init__(self, turn: Turn, timers: Timers) -> None:
        self.turn = turn
        self.buffers = Buffers()
        self.counts: TurnCounts | None = None
        self._timers = timers
        self._epoll = select.epoll()
        self._owners: dict[int, Ready] = {}
        self._inbox = _Inbox()
        self.register(self._inbox.fd, self._inbox, READ)

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self._owners[fd] = owner
        self._epoll.register(fd, self._events(interest))

    def modify(self, fd: int, interest: int) -> None:
        self._epoll.modify(fd, self._events(interest))

    def unregister(self, fd: int) -> None:
        # Once `run` has ended, whoever closes late finds nothing to unregister from.
        if self._owners.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def run_soon(self, then: Callback) -> None:
        self._inbox.put(then)

    async def run(self) -> None:
        readable = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
        writable = select.EPOLLOUT
        poll, owners, clock = self._epoll.poll, self._owners, time.perf_counter
        turn, timers = self.turn, self._timers
        haste, others = Haste(poll, clock), _Others()
        trio.lowlevel.add_instrument(others)
        try:
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                hold_until = clock() + HOLD_SECONDS
                patience = 0.0
                while events := (haste.poll() or poll(patience, MOST_EVENTS)):
                    turn.begin(gathers=len(events) > 1)
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
                                turn.write_and_answer()
                    counts = self.counts
                    ending = clock() if counts is not None else 0.0
                    turn.end()
                    now = clock()
                    if counts is not None:
                        began = answer_by - ANSWER_WITHIN_SECONDS
                        counts.took(now - began, now - ending, len(events))
                    were_asleep = not others.were_woken
                    if not were_asleep or now >= hold_until or now >= timers.wakes_at:
                        others.were_woken = False
                        await trio.lowlevel.checkpoint()
                        were_asleep = were_asleep and not others.were_woken
                        now = clock()
                        hold_until = now + HOLD_SECONDS
                    # Who runs now may want others to run: unless somebody is ready here, Trio
                    # waits next.
                    patience = timers.wakes_at - now if were_asleep else 0.0
                    patience = max(0.0, min(HOLD_SECONDS, patience))
        finally:
            trio.lowlevel.remove_instrument(others)
            self.close()

    def close(self) -> None:
        self._owners.clear()
        self._epoll.close()
        self._inbox.close()

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
        self.turn = turn
        self.buffers = Buffers()
        self.counts: TurnCounts | None = None
        self._selector = selectors.DefaultSelector()
        self._is_closed = False
        self._token = trio.lowlevel.current_trio_token()

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self._selector.register(fd, interest or READ, owner)

    def modify(self, fd: int, interest: int) -> None:
        owner = self._selector.get_key(fd).data
        self._selector.modify(fd, interest or READ, owner)

    def unregister(self, fd: int) -> None:
        if not self._is_closed:
            self._selector.unregister(fd)

    def run_soon(self, then: Callback) -> None:
        self._token.run_sync_soon(then)

    async def run(self) -> None:
        try:
            while True:
                events = self._selector.select(0)
                if not events:
                    # Short waits: another socket may be registered meanwhile.
                    events = await trio.to_thread.run_sync(
                        self._selector.select, 0.01, abandon_on_cancel=False
                    )
                began = time.perf_counter()
                self.turn.begin(gathers=len(events) > 1)
                for key, event in events:
                    if event & WRITE:
                        key.data.on_writable()
                    if event & READ and key.fd in self._selector.get_map():
                        key.data.on_readable()
                ending = time.perf_counter()
                self.turn.end()
                if self.counts is not None and events:
                    now = time.perf_counter()
                    self.counts.took(now - began, now - ending, len(events))
                await trio.lowlevel.checkpoint()
        finally:
            self.close()

    def close(self) -> None:
        self._is_closed = True
        self._selector.close()


class _Others(trio.abc.Instrument):
    """All of Trio's tasks but the one that made this."""

    def __init__(self) -> None:
        self.were_woken = False
        """One of them has been made runnable since this was last set to False."""
        self._own = trio.lowlevel.current_task()

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        if task is not self._own:
            self.were_woken = True


class _Inbox:
    """What other threads hand to the loop, and a descriptor that is readable while there is
    something."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waiting: deque[Callback] = deque()
        # Whoever holds it may be interrupted by the collector, and what that collects may put
        # something here too: a test's broker that nobody holds is told to end.
        self._closing = RLock()
        self._is_closed = False

    def put(self, then: Callback) -> None:
        with self._closing:
            if self._is_closed:
                raise trio.RunFinishedError
            self._waiting.append(then)
            os.eventfd_write(self.fd, 1)

    def on_readable(self) -> None:
        os.eventfd_read(self.fd)
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()

    def on_writable(self) -> None:
        raise AssertionError("nobody waits to write here")

    def close(self) -> None:
        with self._closing:
            if not self._is_closed:
                self._is_closed = True
                os.close(self.fd)


def make_reactor(turn: Turn, timers: Timers) -> CountingReactor:
    """Made inside the Trio loop that will run it. Each round is a turn."""
    if hasattr(select, "epoll") and hasattr(os, "eventfd"):
        return EpollReactor(turn, timers)
    return SelectorReactor(turn)
