"""A round: everybody who is ready is served, then all answers leave, then the turn ends."""

import select
import socket
from collections.abc import Callable, Iterator

import pytest
import trio

from kafkapy.broker.turn import Turn
from kafkapy.server.reactor import READ, WRITE, EpollReactor, Reactor, SelectorReactor

Make = Callable[[Turn], Reactor]
REACTORS: list[Make] = [SelectorReactor]
if hasattr(select, "epoll"):
    REACTORS.append(EpollReactor)


class Recorder:
    """One end of a socket pair; what is done to it is noted in `log`."""

    def __init__(self, name: str, reactor: Reactor, turn: Turn, log: list[str]) -> None:
        self.name = name
        self.socket, self.peer = socket.socketpair()
        self.socket.setblocking(False)
        self.is_done = trio.Event()
        self._reactor = reactor
        self._turn = turn
        self._log = log
        reactor.register(self.socket.fileno(), self, READ)

    def on_readable(self) -> None:
        self.socket.recv(100)
        self._log.append(f"serve {self.name}")
        self._reactor.answered.append(lambda: self._log.append(f"answer {self.name}"))
        self._turn.at_end(self._end)

    def on_writable(self) -> None:
        self._log.append(f"write {self.name}")
        self._reactor.modify(self.socket.fileno(), READ)
        self.is_done.set()

    def _end(self) -> None:
        self._log.append(f"end {self.name}")
        self.is_done.set()

    def close(self) -> None:
        self._reactor.unregister(self.socket.fileno())
        self.socket.close()
        self.peer.close()


class Kit:
    def __init__(self, make: Make) -> None:
        self.log: list[str] = []
        self.turn = Turn()
        self.reactor = make(self.turn)
        self.both = [Recorder(name, self.reactor, self.turn, self.log) for name in "ab"]

    def run(self) -> None:
        """Until both have had something done to them."""

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.reactor.run)
                for one in self.both:
                    await one.is_done.wait()
                nursery.cancel_scope.cancel()

        trio.run(main)


@pytest.fixture(params=REACTORS)
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    kit = Kit(request.param)
    yield kit
    for one in kit.both:
        one.close()


def test_all_are_served_before_any_answer_leaves_and_the_turn_ends_last(kit: Kit) -> None:
    for one in kit.both:
        one.peer.send(b"question")
    kit.run()
    steps = [entry.split()[0] for entry in kit.log]
    assert steps == ["serve", "serve", "answer", "answer", "end", "end"]


def test_who_can_be_written_to_is_told_if_it_asked(kit: Kit) -> None:
    for one in kit.both:
        kit.reactor.modify(one.socket.fileno(), READ | WRITE)
    kit.run()
    assert sorted(kit.log) == ["write a", "write b"]


def test_one_that_another_closed_in_the_same_round_is_left_alone(kit: Kit) -> None:
    first, second = kit.both

    def close_both() -> None:
        kit.log.append("closed")
        kit.reactor.unregister(first.socket.fileno())
        kit.reactor.unregister(second.socket.fileno())
        first.is_done.set()
        second.is_done.set()

    for one in kit.both:
        one.peer.send(b"question")
        one.on_readable = close_both  # type: ignore[method-assign]  # whoever comes first
    kit.run()
    assert kit.log == ["closed"]
