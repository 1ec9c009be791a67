"""Whether other brokers live now: they are asked, and answer, or the connection ends.

    who leads? --> the leader is asked for its versions --+--> it answers: alive
                                                          +--> it hangs up or refuses: in doubt
                                                          +--> nothing for a moment: never mind

A process that dies closes its sockets one after the other. So a client may know of the death of a
leader, and ask another broker who leads, before that broker has been told by the connections of its
own. It would name the dead leader, and librdkafka would believe that for a second. What is sent to
the leader after the client's question settles it: either the leader answers, or its kernel does.

Who is silent, because it is paused or cut off, is asked once and waited for once.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from kafkapy.broker.peers.connection import PeerConnection
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.core.seams import Callback, Clock, Timer
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey

# Far more than an answer takes, and no more than a client can wait for one that is not well.
PATIENCE_MS: Final = 50
# Its connection goes when it is over.
_TIMEOUT_MS: Final = 10_000
# Until one that hung up is asked once more: perhaps only the connection was lost.
_RECHECK_MS: Final = 20


class Connections(Protocol):
    def to(self, broker_id: int) -> PeerConnection | None: ...

    def close(self) -> None: ...


class SignsOfLife:
    """`hung_up(broker)` and `answers(broker, asked_at)` hear what was found."""

    def __init__(
        self,
        clock: Clock,
        connections: Connections,
        hung_up: Callable[[int], None],
        answers: Callable[[int, Instant], None],
    ) -> None:
        self._clock = clock
        self._connections = connections
        self._hung_up = hung_up
        self._answers = answers
        self._questions: dict[int, _Question] = {}

    def of(self, brokers: Iterable[int], then: Callback) -> None:
        """`then` once each of them was asked after this and answered, or hung up, or is silent."""
        asks = [one for one in brokers if not self._is_silent(one)]
        if not asks:
            then()
            return
        waiting = _Waiting(len(asks), then)
        waiting.timer = self._clock.call_at(later(self._clock.now(), PATIENCE_MS), waiting.give_up)
        for broker in asks:
            question = self._questions.get(broker)
            if question is None:
                self._ask(broker, [waiting])
            else:
                question.behind.append(waiting)

    def close(self) -> None:
        self._connections.close()

    def _is_silent(self, broker: int) -> bool:
        question = self._questions.get(broker)
        return question is not None and question.asked_at + PATIENCE_MS <= self._clock.now()

    def _ask(self, broker: int, waiting: "list[_Waiting]", *, again: bool = True) -> None:
        connection = self._connections.to(broker)
        if connection is None:
            for one in waiting:
                one.heard()
            return
        question = self._questions[broker] = _Question(self._clock.now(), waiting)

        def answered(answer: Any) -> None:
            del self._questions[broker]
            if not isinstance(answer, CallFailed):
                self._answers(broker, question.asked_at)
            elif answer.why in (Why.BROKEN, Why.REFUSED):
                self._hung_up(broker)
                if again:
                    self._clock.call_at(
                        later(self._clock.now(), _RECHECK_MS), lambda: self._recheck(broker)
                    )
            for one in question.waiting:
                one.heard()
            if question.behind:
                self._ask(broker, question.behind)

        connection.call(
            ApiKey.API_VERSIONS,
            {},
            answered,
            versions=(0, 0),
            timeout_ms=_TIMEOUT_MS,
            decode=lambda version, view: None,
        )

    def _recheck(self, broker: int) -> None:
        if broker not in self._questions:
            self._ask(broker, [], again=False)


class _Question:
    """`behind`: who asked after it was sent, and wants another one."""

    __slots__ = ("asked_at", "behind", "waiting")

    def __init__(self, asked_at: Instant, waiting: "list[_Waiting]") -> None:
        self.asked_at = asked_at
        self.waiting = waiting
        self.behind: list[_Waiting] = []


class _Waiting:
    __slots__ = ("_left", "_then", "timer")

    def __init__(self, left: int, then: Callback) -> None:
        self._left = left
        self._then: Callback | None = then
        self.timer: Timer | None = None

    def heard(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.give_up()

    def give_up(self) -> None:
        """Or be done."""
        if self.timer is not None:
            self.timer.cancel()
        then, self._then = self._then, None
        if then is not None:
            then()
