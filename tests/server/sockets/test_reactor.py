"""A round: everybody who is ready is served, then all answers leave, then the turn ends."""

import itertools
import os
import select
import socket
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import trio

from kafkapy.core.seams import Callback
from kafkapy.core.time import later
from kafkapy.core.turn import Turn
from kafkapy.server.clock import LoopClock
from kafkapy.server.sockets import reactor
from kafkapy.server.sockets.reactor import (
    HOLD_SECONDS,
    READ,
    WRITE,
    EpollReactor,
    Reactor,
    SelectorReactor,
)

NEVER_SECONDS = 10  # a failure instead of a hanging test; nothing waits for it
Make = Callable[[Turn, LoopClock], Reactor]
REACTORS: list[Make] = [lambda turn, _: SelectorReactor(turn)]
if hasattr(select, "epoll"):
    REACTORS.append(EpollReactor)


class Recorder:
    """One end of a socket pair; what is done to it is noted in `log`."""

    def __init__(self, name: str, reactor: Reactor, turn: Turn, log: list[str]) -> None:
        self.name = name
        self.socket, self.peer = socket.socketpair()
        self.socket.setblocking(False)
        self.is_done = trio.Event()
        self.when_ended: Callback = lambda: None
        self._reactor = reactor
        self._turn = turn
        self._log = log
        reactor.register(self.socket.fileno(), self, READ)

    def on_readable(self) -> None:
        self.socket.recv(100)
        self._log.append(f"serve {self.name}")
        self._turn.answer(lambda: self._log.append(f"answer {self.name}"))
        self._turn.at_end(self._end)

    def on_writable(self) -> None:
        self._log.append(f"write {self.name}")
        self._reactor.modify(self.socket.fileno(), READ)
        self.is_done.set()

    def _end(self) -> None:
        self._log.append(f"end {self.name}")
        self.when_ended()
        self.is_done.set()

    def close(self) -> None:
        self._reactor.unregister(self.socket.fileno())
        self.socket.close()
        self.peer.close()


class Kit:
    """A reactor with two sockets; made within Trio, by `run`."""

    reactor: Reactor
    both: list[Recorder]

    def __init__(self, make: Make) -> None:
        self.log: list[str] = []
        self.turn = Turn()
        self.clock = LoopClock()
        self._make = make

    def run(self, prepare: Callable[[], None]) -> None:
        """Until both have had something done to them."""

        async def main() -> None:
            self.reactor = self._make(self.turn, self.clock)
            self.both = [Recorder(name, self.reactor, self.turn, self.log) for name in "ab"]
            prepare()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.clock.run)
                nursery.start_soon(self.reactor.run)
                with trio.fail_after(NEVER_SECONDS):
                    for one in self.both:
                        await one.is_done.wait()
                nursery.cancel_scope.cancel()
            for one in self.both:
                one.close()

        trio.run(main)

    def question_both(self) -> None:
        for one in self.both:
            one.peer.send(b"question")


@pytest.fixture(params=REACTORS)
def kit(request: pytest.FixtureRequest) -> Kit:
    return Kit(request.param)


def test_all_are_served_before_any_answer_leaves_and_the_turn_ends_last(kit: Kit) -> None:
    kit.run(kit.question_both)
    steps = [entry.split()[0] for entry in kit.log]
    assert steps == ["serve", "serve", "answer", "answer", "end", "end"]


def test_what_the_end_of_the_turn_answers_leaves_with_it(kit: Kit) -> None:
    def prepare() -> None:
        kit.question_both()
        for one in kit.both:
            one.when_ended = lambda name=one.name: kit.turn.answer(  # type: ignore[misc]  # its default
                lambda: kit.log.append(f"late answer {name}, {kit.turn.is_on}")
            )

    kit.run(prepare)
    assert kit.log[-2:] == ["late answer a, True", "late answer b, True"]


class Gatherer:
    """A file that has something to write whenever somebody is served or a turn ends."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def append_when_served(self, one: Recorder) -> None:
        serve = one.on_readable

        def on_readable() -> None:
            self._append()
            serve()

        def when_ended() -> None:
            self._append()
            self._kit.turn.answer(lambda: self._kit.log.append("late answer"))

        one.on_readable = on_readable  # type: ignore[method-assign]  # and this before it
        one.when_ended = when_ended

    def write_kept(self) -> None:
        self._kit.log.append(f"write {len(self._kit.turn.take())}")

    def _append(self) -> None:
        if self._kit.turn.takes(self, 1):
            self._kit.turn.keep(self, b"x")


def test_what_was_appended_is_written_before_any_answer_leaves(kit: Kit) -> None:
    def prepare() -> None:
        file = Gatherer(kit)
        for one in kit.both:
            file.append_when_served(one)
        kit.question_both()

    kit.run(prepare)
    served = sorted(kit.log[:2])
    answered = sorted(kit.log[3:5])
    assert [*served, kit.log[2], *answered] == [
        *("serve a", "serve b", "write 2", "answer a", "answer b"),
    ]
    assert kit.log[7:] == ["write 2", "late answer", "late answer"]
    assert not kit.turn.gathers


def test_one_alone_gathers_nothing(kit: Kit) -> None:
    def prepare() -> None:
        Gatherer(kit).append_when_served(kit.both[0])
        kit.both[0].peer.send(b"question")
        kit.both[1].is_done.set()

    kit.run(prepare)
    assert not [entry for entry in kit.log if entry.startswith("write")]


def test_who_can_be_written_to_is_told_if_it_asked(kit: Kit) -> None:
    def prepare() -> None:
        for one in kit.both:
            kit.reactor.modify(one.socket.fileno(), READ | WRITE)

    kit.run(prepare)
    assert sorted(kit.log) == ["write a", "write b"]


def test_one_that_another_closed_in_the_same_round_is_left_alone(kit: Kit) -> None:
    def close_both() -> None:
        kit.log.append("closed")
        for one in kit.both:
            kit.reactor.unregister(one.socket.fileno())
            one.is_done.set()

    def prepare() -> None:
        kit.question_both()
        for one in kit.both:
            one.on_readable = close_both  # type: ignore[method-assign]  # whoever comes first

    kit.run(prepare)
    assert kit.log == ["closed"]


def test_what_a_thread_hands_over_runs_on_the_loop_and_lets_tasks_go_on(kit: Kit) -> None:
    """`run` ends only if the events that are set so wake the task that waits for them."""
    loops: list[int] = []

    def on_loop(done: trio.Event) -> None:
        loops.append(threading.get_ident())
        done.set()

    def in_thread() -> None:
        for one in kit.both:
            kit.reactor.run_soon(partial(on_loop, one.is_done))

    thread = threading.Thread(target=in_thread)
    kit.run(thread.start)
    thread.join()
    assert loops == [threading.get_ident()] * 2


def watch(reactor: Reactor, polled: Callable[[float], None]) -> None:
    """`polled` hears how long each poll would wait, before it does."""

    class Epoll(NamedTuple):
        real: select.epoll

        def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
            polled(timeout)
            return self.real.poll(timeout, most)

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

    assert isinstance(reactor, EpollReactor)
    reactor._epoll = Epoll(reactor._epoll)  # type: ignore[assignment]  # it passes for one


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only an epoll is slept in")
def test_who_was_made_runnable_does_not_wait_for_the_reactor_to_sleep() -> None:
    kit = Kit(EpollReactor)
    slept: list[float] = []

    def prepare() -> None:
        watch(kit.reactor, slept.append)
        for one in kit.both:
            kit.reactor.run_soon(one.is_done.set)

    kit.run(prepare)
    assert max(slept) == 0


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only an epoll is slept in")
def test_when_trios_other_tasks_had_their_turn_waiting_goes_on_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every round is a long one, so they have it after each; after the first nobody wants it."""
    kit = Kit(EpollReactor)
    a_while = itertools.count(step=10 * HOLD_SECONDS)
    monkeypatch.setattr(reactor, "time", SimpleNamespace(perf_counter=lambda: next(a_while)))

    questions = [b"one more"]

    def serve() -> None:
        a = kit.both[0]
        a.socket.recv(100)
        if questions:
            a.peer.send(questions.pop())

    def polled(timeout: float) -> None:
        if timeout > 0:
            kit.log.append("waits")
            for one in kit.both:
                one.is_done.set()

    def prepare() -> None:
        watch(kit.reactor, polled)
        kit.both[0].on_readable = serve  # type: ignore[method-assign]  # nobody is told
        kit.both[0].peer.send(b"question")

    kit.run(prepare)
    assert kit.log == ["waits"]


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only an epoll has an inbox")
def test_the_collector_may_hand_something_over_while_something_is_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kit = Kit(EpollReactor)
    write = os.eventfd_write

    def interrupted(fd: int, value: int) -> None:
        monkeypatch.setattr(os, "eventfd_write", write)
        kit.reactor.run_soon(kit.both[1].is_done.set)
        write(fd, value)

    def prepare() -> None:
        monkeypatch.setattr(os, "eventfd_write", interrupted)
        kit.reactor.run_soon(kit.both[0].is_done.set)

    kit.run(prepare)


def test_a_thread_is_told_that_the_loop_has_ended(kit: Kit) -> None:
    kit.run(kit.question_both)
    with pytest.raises(trio.RunFinishedError):
        kit.reactor.run_soon(lambda: None)


def test_a_timer_fires_though_somebody_is_always_ready(kit: Kit) -> None:
    """A connection that always has the next request holds the loop, but not for ever."""

    def serve_and_ask_again() -> None:
        kit.both[0].socket.recv(100)
        kit.both[0].peer.send(b"more")

    def prepare() -> None:
        kit.both[0].on_readable = serve_and_ask_again  # type: ignore[method-assign]  # for once
        kit.both[0].peer.send(b"question")
        kit.clock.call_at(later(kit.clock.now(), 1), kit.both[0].is_done.set)
        kit.clock.call_soon(kit.both[1].is_done.set)

    kit.run(prepare)
