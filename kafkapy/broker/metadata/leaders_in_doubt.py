"""Leaders that have just hung up: they may be dead, and then others lead in a moment.

    the connection to a leader ends --> in doubt --+--> its fetches are answered again, or it is
                                                   |    unfenced
                                                   +--> half a second is over
    who asks who leads what it led: waits until nobody of those in doubt leads it any more, or
    none is in doubt

Before anybody is told who leads elsewhere, that broker is asked for a sign of life
(signs_of_life.py).

A client whose connection broke asks at once who leads now, a few milliseconds before the dead
broker is fenced (controller/dead_brokers.py), and acts on the answer until it asks again, as
librdkafka does after a whole second. So that answer waits. Answers to one connection keep their
order, and those about partitions that are well wait behind it: hence so short.
"""

from collections.abc import Callable, Set
from typing import Final

from kafkapy.broker.metadata.signs_of_life import Connections, SignsOfLife
from kafkapy.core.seams import Callback, Clock, Timer
from kafkapy.core.time import Instant, later
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage

# A death is noticed and told within a tenth of that. If it is the active controller's an election
# comes first, which takes a tenth of a second among machines that are not busy.
DOUBT_MS: Final = 500


class LeadersInDoubt:
    """Of one broker. Empty nearly always."""

    def __init__(self, clock: Clock, connections: Connections) -> None:
        """`connections`: of its own."""
        self._clock = clock
        self._signs = SignsOfLife(clock, connections, self.hung_up, self._answered)
        self._timers: dict[int, Timer] = {}
        # Nobody is in doubt for long, or twice without having been heard between.
        self._silent_since: dict[int, Instant] = {}
        self._waiting: list[Callback] = []

    def when_sure(self, leaders: Callable[[], Set[int]], then: Callback) -> None:
        """`then` once those who lead, other brokers, live or nobody knows better."""

        def look() -> None:
            if self._timers.keys().isdisjoint(leaders()):
                then()
            else:
                self._waiting.append(look)

        self._signs.of(leaders() - self._timers.keys(), look)

    def close(self) -> None:
        self._signs.close()

    def hung_up(self, broker_id: int) -> None:
        """The connection over which its records came ended, or it takes no other one."""
        if broker_id not in self._silent_since:
            now = self._silent_since[broker_id] = self._clock.now()
            until = later(now, DOUBT_MS)
            self._timers[broker_id] = self._clock.call_at(until, lambda: self._settle(broker_id))

    def answers(self, broker_id: int) -> None:
        """It lives."""
        self._silent_since.pop(broker_id, None)
        self._settle(broker_id)

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        """One that the controller heard is back, also if nothing of it is fetched here by now."""
        for broker_id, before in delta.brokers.items():
            broker = image.brokers.get(broker_id)
            if broker is None or (not broker.fenced and (before is None or before.fenced)):
                self.answers(broker_id)
        self.look()

    def silent_since(self, broker_id: int) -> Instant | None:
        """When it hung up, if nothing was heard of it since."""
        return self._silent_since.get(broker_id)

    def look(self) -> None:
        """The metadata changed."""
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()

    def _answered(self, broker_id: int, asked_at: Instant) -> None:
        """What it was asked then; an answer from before it hung up says nothing."""
        silent_since = self._silent_since.get(broker_id)
        if silent_since is not None and silent_since < asked_at:
            self.answers(broker_id)

    def _settle(self, broker_id: int) -> None:
        timer = self._timers.pop(broker_id, None)
        if timer is not None:
            timer.cancel()
            self.look()
