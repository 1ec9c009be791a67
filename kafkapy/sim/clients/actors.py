"""Clients as generators: what they do next follows from what they heard.

    answer = yield Ask(api, version, body)      a decoded response, or LOST
    yield Sleep(ms)

LOST is all that a client learns of a node that died, or of a connection that broke before
the answer came: what it asked may have happened or not. The stage keeps every actor going,
breaks connections as often as it is told to, and tells the actors when the node died.
"""

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from kafkapy.core.seams import Clock
from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.world.frames import HungUp, Pending
from kafkapy.sim.world.world import World


class Lost:
    """The connection broke before an answer came."""

    def __repr__(self) -> str:
        return "LOST"


LOST: Final = Lost()


class Ask(NamedTuple):
    """`to`: the id of a node; None: whoever serves it."""

    api_key: ApiKey
    version: int
    body: Mapping[str, Any]
    to: int | None = None


class Together(NamedTuple):
    """Asked one after the other without waiting; heard as a list."""

    asks: tuple[Ask, ...]


class Sleep(NamedTuple):
    ms: int


Actor = Generator[Ask | Together | Sleep, Any, None]
Heard = Callable[[Any], None]
# Sends a request; `then` hears the answer, or LOST, later.
Send = Callable[[Ask, Heard], None]


class Stage:
    """Actors on a world. `run` raises PowerCut when the node dies; then call `node_died`."""

    def __init__(self, world: World, breaks: Callable[[], bool] = lambda: False) -> None:
        """`breaks`: is this answer lost?"""
        self._world = world
        self._breaks = breaks
        self._actors: list[Playing] = []

    def add(self, actor: Actor) -> None:
        playing = Playing(self._world.clock, actor, self._send)
        self._actors.append(playing)
        playing.resume(None)

    @property
    def is_over(self) -> bool:
        return all(playing.is_done for playing in self._actors)

    def run(self, until: Callable[[], bool], within_ms: int) -> bool:
        return self._world.clock.run_until(until, within_ms)

    def node_died(self) -> None:
        """A new node serves by now: whoever waited for the old one hears that it is gone."""
        for playing in self._actors:
            playing.node_died()

    def _send(self, wish: Ask, then: Heard) -> None:
        def answered(pending: Pending) -> None:
            assert not isinstance(pending.answer, HungUp), (pending.api_key, pending.answer)
            then(LOST if self._breaks() else pending.answer)

        self._world.send(wish.api_key, wish.body, version=wish.version, then=answered)


class Playing:
    """One actor, kept going."""

    def __init__(self, clock: Clock, actor: Actor, send: Send) -> None:
        self._clock = clock
        self._actor = actor
        self._send = send
        self._waits_for = 0  # answers
        # Counts resumptions, so that a timer or an answer from an earlier life is ignored.
        self._turn = 0
        self.is_done = False

    def resume(self, heard: Any) -> None:
        """Go on until the actor waits for something that takes time."""
        self._turn += 1
        try:
            wish = self._actor.send(heard)
        except StopIteration:
            self.is_done = True
            return
        if isinstance(wish, Sleep):
            self._waits_for = 0
            when = later(self._clock.now(), wish.ms)
            self._clock.call_at(when, partial(self._woken, self._turn, None))
        elif isinstance(wish, Ask):
            self._waits_for = 1
            self._send(wish, partial(self._woken, self._turn))
        else:
            answers: list[Any] = [LOST] * len(wish.asks)
            self._waits_for = len(answers)
            turn = self._turn
            for index, ask in enumerate(wish.asks):
                self._send(ask, partial(self._one_of, turn, answers, index))

    def node_died(self) -> None:
        if not self.is_done:
            self._woken(self._turn, LOST if self._waits_for else None)

    def _one_of(self, turn: int, answers: list[Any], index: int, answer: Any) -> None:
        if turn == self._turn:
            answers[index] = answer
            self._waits_for -= 1
            if not self._waits_for:
                self._woken(turn, answers)

    def _woken(self, turn: int, heard: Any) -> None:
        if turn == self._turn and not self.is_done:
            self.resume(heard)
