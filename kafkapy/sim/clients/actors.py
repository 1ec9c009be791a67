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
    api_key: ApiKey
    version: int
    body: Mapping[str, Any]


class Sleep(NamedTuple):
    ms: int


Actor = Generator[Ask | Sleep, Any, None]


class Stage:
    """Actors on a world. `run` raises PowerCut when the node dies; then call `node_died`."""

    def __init__(self, world: World, breaks: Callable[[], bool] = lambda: False) -> None:
        """`breaks`: is this answer lost?"""
        self._world = world
        self._breaks = breaks
        self._actors: list[_Playing] = []

    def add(self, actor: Actor) -> None:
        playing = _Playing(self._world, actor, self._breaks)
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


class _Playing:
    def __init__(self, world: World, actor: Actor, breaks: Callable[[], bool]) -> None:
        self._world = world
        self._actor = actor
        self._breaks = breaks
        self._is_asking = False
        # Counts resumptions, so that a timer or an answer from an earlier life is ignored.
        self._turn = 0
        self.is_done = False

    def resume(self, heard: Any) -> None:
        """Go on until the actor waits for something that takes time."""
        while True:
            self._turn += 1
            try:
                wish = self._actor.send(heard)
            except StopIteration:
                self.is_done = True
                return
            if isinstance(wish, Sleep):
                self._is_asking = False
                when = later(self._world.clock.now(), wish.ms)
                self._world.clock.call_at(when, partial(self._woken, self._turn, None))
                return
            self._is_asking = True
            pending = self._world.send(wish.api_key, wish.body, version=wish.version)
            if not pending.is_answered:
                pending.then = partial(self._answered, self._turn)
                return
            heard = self._heard(pending)

    def node_died(self) -> None:
        if not self.is_done:
            self._woken(self._turn, LOST if self._is_asking else None)

    def _answered(self, turn: int, pending: Pending) -> None:
        self._woken(turn, self._heard(pending))

    def _woken(self, turn: int, heard: Any) -> None:
        if turn == self._turn and not self.is_done:
            self.resume(heard)

    def _heard(self, pending: Pending) -> Any:
        assert not isinstance(pending.answer, HungUp), (pending.api_key, pending.answer)
        return LOST if self._breaks() else pending.answer
