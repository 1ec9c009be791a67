"""Fetches that found nothing new and wait for it, so that what is appended travels at once.

A replica asks with how long it is ready to wait. Whatever may be news for it (the log grew, the
high watermark moved, another leads) asks all who wait again, together, after what is going on
now: a turn's appends are one answer.
"""

from collections.abc import Callable

from kafkapy.core.errors import Refused
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later
from kafkapy.kraft.quorum.messages import FetchRequest, FetchResponse, QuorumStopped

Answered = Callable[[FetchResponse | Exception], None]
Judge = Callable[[FetchRequest], FetchResponse]


class _Waiting:
    __slots__ = ("is_answered", "request", "then", "timer")

    def __init__(self, request: FetchRequest, then: Answered) -> None:
        self.request = request
        self.then = then
        self.timer: Timer | None = None
        self.is_answered = False


class WaitingFetches:
    """`judge` answers as of now, with the records if there are some; it may raise."""

    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._waiting: list[_Waiting] = []
        self._is_due = False

    def ask(self, request: FetchRequest, then: Answered) -> None:
        """`then` now, or once there is news, or when the request's time is up."""
        waiting = _Waiting(request, then)
        if not self._try(waiting, may_wait=request.max_wait_ms > 0):
            deadline = later(self._clock.now(), request.max_wait_ms)
            waiting.timer = self._clock.call_at(deadline, lambda: self._time_is_up(waiting))
            self._waiting.append(waiting)

    def news(self) -> None:
        """Something changed that somebody may wait for."""
        if self._waiting and not self._is_due:
            self._is_due = True
            self._clock.call_soon(self._ask_again)

    def end(self, why: Exception) -> None:
        """Nobody is answered any more but with this."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self._answer(one, why)

    def _ask_again(self) -> None:
        self._is_due = False
        waiting, self._waiting = self._waiting, []
        self._waiting += [one for one in waiting if not self._try(one, may_wait=True)]

    def _time_is_up(self, waiting: _Waiting) -> None:
        self._waiting = [one for one in self._waiting if one is not waiting]
        if not waiting.is_answered:
            self._try(waiting, may_wait=False)

    def _try(self, waiting: _Waiting, *, may_wait: bool) -> bool:
        request = waiting.request
        try:
            answer = self._judge(request)
        except (Refused, QuorumStopped) as refused:
            self._answer(waiting, refused)
            return True
        if may_wait and not _is_news(request, answer):
            return False
        self._answer(waiting, answer)
        return True

    @staticmethod
    def _answer(waiting: _Waiting, answer: FetchResponse | Exception) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        if not waiting.is_answered:
            waiting.is_answered = True
            waiting.then(answer)


def _is_news(request: FetchRequest, answer: FetchResponse) -> bool:
    if answer.error or answer.records or answer.diverging or answer.snapshot:
        return True
    # Kafka 4.1 on (KIP-1166): a replica that is behind with what is committed hears at once.
    return answer.high_watermark is not None and answer.high_watermark > request.high_watermark
