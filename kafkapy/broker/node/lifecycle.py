"""A broker's life in its cluster: register, catch up, be unfenced, beat, leave.

    wait for a controller --> register --> follow the image --> heartbeat (ready)
      --> unfenced: RUNNING --> heartbeat every broker.heartbeat.interval.ms
      --> heartbeat (want shut down) --> leaderships handed over --> gone
    displaced by another incarnation --> register anew, as long as it takes

formats/controller 1. While no controller is active nobody is asked: the next one is, as soon
as it is there. Who was the controller before does not matter.

That none is there, and why one does not register us, is told once, however often it is tried.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.node.broker_facts import BrokerFacts
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Callback, Clock, Journal, Timer
from kafkapy.core.time import Instant, later

if TYPE_CHECKING:
    from kafkapy.kraft.controller.brokers.liveness import HeartbeatReply
    from kafkapy.kraft.controller.brokers.registration import BrokerRegistered

_RETRY_MS = 50
# A controlled shutdown asks again this soon, then half as often each time: the controller
# of a lone node has committed by then, and a stop should not take longer than its flush.
_FIRST_LEAVE_RETRY_MS = 4
# A broker that leaves and has not found a controller for so long has nobody to hand over to: a
# new one is elected sooner, if there is a majority left to do so. Often it is known before.
_LEAVE_ALONE_MS = 6000


class BrokerState(IntEnum):
    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class Lifecycle:
    """Drives one broker through its states; what it says of itself is in `facts`."""

    def __init__(
        self,
        link: ControllerLink,
        facts: BrokerFacts,
        clock: Clock,
        journal: Journal,
        heartbeat_interval_ms: int,
        *,
        is_alone: Callable[[], bool],
    ) -> None:
        """`is_alone`: it is known that no controller can be elected."""
        self.state = BrokerState.NOT_RUNNING
        self._link = link
        self._facts = facts
        self._clock = clock
        self._journal = journal
        self._is_alone = is_alone
        self._interval_ms = heartbeat_interval_ms
        self._timer: Timer | None = None
        self._is_ready = False
        self._is_amending = False
        self._is_displaced = False
        self._is_waiting_for_controller = False
        self._leave_retry_ms = _FIRST_LEAVE_RETRY_MS
        self._told_last: ErrorCode | None = None
        self._giving_up: Timer | None = None
        self._on_registered: Callback | None = None
        self._on_running: Callback | None = None
        self._on_gone: Callback | None = None

    def start(self, on_registered: Callback) -> None:
        """Register until a controller accepts."""
        self.state = BrokerState.STARTING
        self._on_registered = on_registered
        self._when_active()

    def ready(self, on_running: Callback) -> None:
        """The node has followed the metadata: ask to be unfenced, then keep beating."""
        self._is_ready = True
        self._on_running = on_running
        self._beat()

    def leave(self, on_gone: Callback, *, hands_over: bool = True) -> None:
        """Controlled shutdown: hand leaderships over, then go. Whoever has not registered has
        none."""
        self._on_gone = on_gone
        if not hands_over or not self._facts.is_registered:
            self._gone()
            return
        self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._give_up_in_time()
        self._speak()

    def tell_directories(self) -> None:
        """Amend the registration, until it has them: else nobody hears of one that fails."""
        is_gone = self.state is BrokerState.SHUTTING_DOWN
        if is_gone or self._is_amending or not self._facts.lacks_directories:
            return
        self._is_amending = True

        def answered(answer: "BrokerRegistered | Refused") -> None:
            self._is_amending = False
            if isinstance(answer, Refused):
                self._clock.call_at(later(self._clock.now(), _RETRY_MS), self.tell_directories)

        self._link.register(self._facts.registration(), answered)

    def say_now(self) -> None:
        """What the controller is to hear at once: a directory has failed."""
        if self._facts.is_registered:
            self._speak()

    def _speak(self) -> None:
        """Say now what is next to be said."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        if self._facts.is_registered and not self._is_displaced:
            self._beat()
        else:
            self._link.register(self._facts.registration(), self._registered)

    def _when_active(self) -> None:
        """Go on with the next controller."""
        if self._is_waiting_for_controller:
            return
        self._is_waiting_for_controller = True

        def active() -> None:
            self._is_waiting_for_controller = False
            self._speak()

        self._link.when_active(active)

    def _registered(self, answer: "BrokerRegistered | Refused") -> None:
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        if isinstance(answer, Refused):
            if answer.code is not self._told_last:
                self._tell_refusal("broker registration refused", answer)
            self._again(_RETRY_MS)
            return
        self._told_last = None
        self._is_displaced = False
        self._facts.epoch = answer.epoch
        if self._on_registered is not None:
            registered, self._on_registered = self._on_registered, None
            registered()
        elif self._is_ready:
            self._beat()

    def _beat(self) -> None:
        leaving = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        event = self._facts.heartbeat(wants_fence=not self._is_ready, wants_shutdown=leaving)
        self._link.beat(event, self._answered)

    def _answered(self, answer: "HeartbeatReply | Refused") -> None:
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        wait_ms = self._interval_ms
        if not isinstance(answer, Refused):
            self._told_last = None
            if self._giving_up is not None:
                self._give_up_in_time()
        if isinstance(answer, Refused):
            self._tell_refusal("heartbeat refused", answer)
            if answer.code is ErrorCode.STALE_BROKER_EPOCH and self._on_gone is not None:
                self._gone()
                return
            if answer.code is ErrorCode.STALE_BROKER_EPOCH and self._facts.is_displaced:
                self._is_displaced = True
                self._speak()
                return
            if answer.code is ErrorCode.NOT_CONTROLLER:
                wait_ms = min(self._interval_ms, _RETRY_MS)
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
        self._again(wait_ms)

    def _tell_refusal(self, what: str, refused: Refused) -> None:
        if not refused.code is self._told_last is ErrorCode.NOT_CONTROLLER:
            self._journal.warning(what, reason=refused)
        self._told_last = refused.code

    def _give_up_in_time(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._look_whether_alone(later(self._clock.now(), _LEAVE_ALONE_MS))

    def _look_whether_alone(self, deadline: Instant) -> None:
        now = self._clock.now()
        if now >= deadline or self._is_alone():
            self._leave_alone()
        else:
            look = partial(self._look_whether_alone, deadline)
            self._giving_up = self._clock.call_at(later(now, _RETRY_MS), look)

    def _leave_alone(self) -> None:
        self._journal.warning("leaderships not handed over", reason="there is no controller")
        self._gone()

    def _gone(self) -> None:
        self.state = BrokerState.SHUTTING_DOWN
        for timer in (self._timer, self._giving_up):
            if timer is not None:
                timer.cancel()
        if self._on_gone is not None:
            gone, self._on_gone = self._on_gone, None
            gone()

    def _again(self, wait_ms: int) -> None:
        """Not before `wait_ms`, and not before a controller is active."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(later(self._clock.now(), wait_ms), self._when_active)
