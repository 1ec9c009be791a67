"""A broker's life in its cluster: register, catch up, be unfenced, beat, leave.

    register --> follow the image --> heartbeat (ready) --> unfenced: RUNNING
             --> heartbeat every broker.heartbeat.interval.ms
             --> heartbeat (want shut down) --> leaderships handed over --> gone

formats/controller 1. The controller is called through `ControllerLink`: in process when this
node is the active controller, over the wire otherwise.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Protocol
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Callback, Clock, Journal, Timer
from kafkapy.core.time import later

_RETRY_MS = 50
# A controlled shutdown asks again this soon, then half as often each time: the controller
# of a lone node has committed by then, and a stop should not take longer than its flush.
_FIRST_LEAVE_RETRY_MS = 4


class BrokerState(IntEnum):
    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class ControllerLink(Protocol):
    """The active controller, as a broker sees it."""

    def register(self, then: Callable[[int | Refused], None]) -> None:
        """`then` gets this broker's epoch."""

    def beat(
        self, *, want_fence: bool, want_shut_down: bool, then: Callable[[Any | Refused], None]
    ) -> None:
        """`then` gets a reply with is_caught_up, is_fenced, should_shut_down."""


class Lifecycle:
    """Drives one broker through its states; `epoch` is -1 until it is registered."""

    def __init__(
        self,
        link: ControllerLink,
        clock: Clock,
        journal: Journal,
        heartbeat_interval_ms: int,
    ) -> None:
        self.state = BrokerState.NOT_RUNNING
        self.epoch = -1
        self.incarnation_id: UUID | None = None
        self._link = link
        self._clock = clock
        self._journal = journal
        self._interval_ms = heartbeat_interval_ms
        self._timer: Timer | None = None
        self._is_ready = False
        self._leave_retry_ms = _FIRST_LEAVE_RETRY_MS
        self._on_running: Callback | None = None
        self._on_gone: Callback | None = None

    def start(self, on_registered: Callback) -> None:
        """Register until the controller accepts."""
        self.state = BrokerState.STARTING

        def registered(answer: int | Refused) -> None:
            if isinstance(answer, Refused):
                self._journal.warning("broker registration refused", reason=answer)
                self._again(_RETRY_MS, lambda: self.start(on_registered))
                return
            self.epoch = answer
            on_registered()

        self._link.register(registered)

    def ready(self, on_running: Callback) -> None:
        """The node has followed the metadata: ask to be unfenced, then keep beating."""
        self._is_ready = True
        self._on_running = on_running
        self._beat()

    def leave(self, on_gone: Callback) -> None:
        """Controlled shutdown: hand leaderships over, then go."""
        self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._on_gone = on_gone
        self._beat()

    def stop(self) -> None:
        self.state = BrokerState.SHUTTING_DOWN
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        leaving = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._link.beat(want_fence=not self._is_ready, want_shut_down=leaving, then=self._answered)

    def _answered(self, answer: Any | Refused) -> None:
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        wait_ms = self._interval_ms
        if isinstance(answer, Refused):
            self._journal.warning("heartbeat refused", reason=answer)
            if answer.code is ErrorCode.STALE_BROKER_EPOCH and self._on_gone is not None:
                self._gone()
                return
        elif answer.should_shut_down:
            self._gone()
            return
        elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            wait_ms = self._leave_retry_ms
            self._leave_retry_ms = min(2 * wait_ms, _RETRY_MS)
        elif not answer.is_fenced and self.state is not BrokerState.RUNNING:
            self.state = BrokerState.RUNNING
            if self._on_running is not None:
                running, self._on_running = self._on_running, None
                running()
        elif answer.is_fenced:
            wait_ms = min(self._interval_ms, _RETRY_MS)
        self._again(wait_ms, self._beat)

    def _gone(self) -> None:
        self.stop()
        if self._on_gone is not None:
            gone, self._on_gone = self._on_gone, None
            gone()

    def _again(self, wait_ms: int, then: Callback) -> None:
        self._timer = self._clock.call_at(later(self._clock.now(), wait_ms), then)
