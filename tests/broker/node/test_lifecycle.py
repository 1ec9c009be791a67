"""A broker's life, with a controller that is there when the test says so."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.node.broker_facts import BrokerFacts
from kafkapy.broker.node.lifecycle import BrokerState, Lifecycle
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat, HeartbeatReply
from kafkapy.kraft.controller.brokers.registration import BrokerRegistered, RegisterBroker
from kafkapy.kraft.features import DIRECTORY_ASSIGNMENT
from kafkapy.testing.node.shell import Heard
from tests.coordinator.fakes import FakeClock

INTERVAL_MS = 2000
SERVES = HeartbeatReply(is_caught_up=True, is_fenced=False, should_shut_down=False)
FENCED = HeartbeatReply(is_caught_up=True, is_fenced=True, should_shut_down=False)
GOES = HeartbeatReply(is_caught_up=True, is_fenced=True, should_shut_down=True)
NOT_CONTROLLER = Refused(ErrorCode.NOT_CONTROLLER)
STALE = Refused(ErrorCode.STALE_BROKER_EPOCH)


class FakeLink:
    """Keeps the questions; the test answers."""

    def __init__(self) -> None:
        self.is_active = True
        self.waiting: list[Callable[[], None]] = []
        self.asked: list[tuple[Any, Callable[[Any], None]]] = []

    def when_active(self, then: Callable[[], None]) -> None:
        if self.is_active:
            then()
        else:
            self.waiting.append(then)

    def register(self, event: RegisterBroker, then: Callable[[Any], None]) -> None:
        self.asked.append((event, then))

    def beat(self, event: BrokerHeartbeat, then: Callable[[Any], None]) -> None:
        self.asked.append((event, then))

    def win(self) -> None:
        self.is_active = True
        waiting, self.waiting = self.waiting, []
        for then in waiting:
            then()

    def answer(self, answer: Any) -> Any:
        """To the only question there is, which is returned."""
        ((event, then),) = self.asked
        self.asked.clear()
        then(answer)
        return event


class Broker:
    def __init__(self) -> None:
        self.registered: dict[int, Any] = {}
        self.link = FakeLink()
        self.clock = FakeClock()
        base: Any = SimpleNamespace(
            node_id=1,
            cluster_id="cluster",
            incarnation_id=UUID(int=7),
            endpoints=SimpleNamespace(broker=()),
            config=SimpleNamespace(broker_rack=None),
            image=SimpleNamespace(offset=5, brokers=self.registered),
        )
        self.facts = BrokerFacts(base, {"/data": UUID(int=9)}, -1, lambda: ())
        link: Any = self.link
        self.heard = Heard()
        self.is_alone = False
        self.lifecycle = Lifecycle(
            link, self.facts, self.clock, self.heard, INTERVAL_MS, is_alone=lambda: self.is_alone
        )
        self.told: list[str] = []

    def start(self) -> None:
        self.lifecycle.start(lambda: self.told.append("registered"))

    def run(self) -> None:
        """Registered, unfenced, beating."""
        self.start()
        self.link.answer(BrokerRegistered(42))
        self.lifecycle.ready(lambda: self.told.append("running"))
        self.link.answer(SERVES)
        assert self.told == ["registered", "running"]

    def leave(self) -> None:
        self.lifecycle.leave(lambda: self.told.append("gone"))


def test_a_broker_registers_once_there_is_a_controller() -> None:
    broker = Broker()
    broker.link.is_active = False
    broker.start()
    broker.clock.advance(60_000)
    assert not broker.link.asked
    broker.link.win()
    assert isinstance(broker.link.answer(BrokerRegistered(42)), RegisterBroker)
    assert broker.told == ["registered"]
    assert broker.facts.epoch == 42


def test_a_registration_that_is_refused_is_tried_again() -> None:
    broker = Broker()
    broker.start()
    broker.link.answer(Refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    assert not broker.link.asked
    broker.clock.advance(50)
    broker.link.answer(Refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    broker.clock.advance(50)
    broker.link.answer(BrokerRegistered(42))
    assert broker.told == ["registered"]
    assert len(broker.heard.events) == 1, "the reason is told once"


def test_a_fenced_broker_asks_again_soon_and_one_that_runs_at_its_interval() -> None:
    broker = Broker()
    broker.start()
    broker.link.answer(BrokerRegistered(42))
    broker.lifecycle.ready(lambda: broker.told.append("running"))
    broker.link.answer(FENCED)
    broker.clock.advance(50)
    beat = broker.link.answer(SERVES)
    assert (beat.epoch, beat.metadata_offset, beat.wants_fence) == (42, 5, False)
    assert broker.lifecycle.state is BrokerState.RUNNING
    broker.clock.advance(INTERVAL_MS - 1)
    assert not broker.link.asked
    broker.clock.advance(1)
    broker.link.answer(SERVES)


def test_controllers_come_and_go_and_the_broker_keeps_its_epoch() -> None:
    broker = Broker()
    broker.run()
    for _ in range(3):
        broker.clock.advance(INTERVAL_MS)
        broker.link.is_active = False
        broker.link.answer(NOT_CONTROLLER)
        broker.clock.advance(60_000)
        assert not broker.link.asked, "nobody is there to be asked"
        broker.link.win()
        assert broker.link.answer(SERVES).epoch == 42
    assert broker.told == ["registered", "running"]


def test_leaving_goes_on_until_everything_is_handed_over() -> None:
    broker = Broker()
    broker.run()
    broker.leave()
    for wait_ms in (4, 8, 16, 32, 50, 50):
        assert broker.link.answer(SERVES).wants_shutdown
        broker.clock.advance(wait_ms)
    broker.link.answer(GOES)
    assert broker.told[-1] == "gone"
    broker.clock.advance(60_000)
    assert not broker.link.asked


def test_a_broker_that_leaves_waits_for_the_next_controller() -> None:
    broker = Broker()
    broker.run()
    broker.link.is_active = False
    broker.leave()
    broker.link.answer(NOT_CONTROLLER)
    broker.clock.advance(50)
    assert "gone" not in broker.told
    broker.link.win()
    broker.link.answer(GOES)
    assert broker.told[-1] == "gone"


def test_a_broker_that_leaves_does_not_wait_for_what_cannot_be() -> None:
    """The others have no process any more: nobody can be elected."""
    broker = Broker()
    broker.run()
    broker.link.is_active = False
    broker.leave()
    broker.link.answer(NOT_CONTROLLER)
    broker.is_alone = True
    broker.clock.advance(50)
    assert broker.told[-1] == "gone"


def test_a_broker_that_leaves_without_finding_a_controller_gives_up() -> None:
    """Flushed and marked clean, after a while; a controller that answers starts it anew."""
    broker = Broker()
    broker.run()
    broker.leave()
    broker.clock.advance(5000)
    broker.link.is_active = False
    broker.link.answer(SERVES)
    broker.clock.advance(5900)
    assert "gone" not in broker.told
    broker.clock.advance(150)
    assert broker.told[-1] == "gone"
    assert broker.heard.events[-1][1] == "leaderships not handed over"


def test_a_broker_without_controlled_shutdown_just_goes() -> None:
    broker = Broker()
    broker.run()
    broker.lifecycle.leave(lambda: broker.told.append("gone"), hands_over=False)
    assert broker.told[-1] == "gone"
    broker.clock.advance(INTERVAL_MS)
    assert not broker.link.asked


def test_that_there_is_no_controller_is_told_once() -> None:
    broker = Broker()
    broker.run()
    for _ in range(3):
        broker.clock.advance(INTERVAL_MS)
        broker.link.answer(NOT_CONTROLLER)
    assert [event for _, event, _ in broker.heard.events] == ["heartbeat refused"]


def test_one_that_has_not_registered_has_nothing_to_hand_over() -> None:
    broker = Broker()
    broker.link.is_active = False
    broker.start()
    broker.leave()
    assert broker.told == ["gone"]
    broker.link.win()
    assert not broker.link.asked


def _knows_of_directories(broker: Broker) -> None:
    """metadata.version was raised since it registered."""
    image: Any = broker.facts._base.image
    image.metadata_version = DIRECTORY_ASSIGNMENT
    image.brokers = {1: SimpleNamespace(epoch=42, log_dirs=())}


def test_directories_are_told_until_the_controller_has_them() -> None:
    broker = Broker()
    broker.run()
    _knows_of_directories(broker)
    broker.lifecycle.tell_directories()
    broker.lifecycle.tell_directories()
    assert broker.link.answer(NOT_CONTROLLER).log_dirs == (UUID(int=9),)
    broker.clock.advance(50)
    broker.link.answer(BrokerRegistered(42))


def test_who_is_gone_tells_of_no_directories() -> None:
    """Neither a retry that was due, nor what the metadata still says."""
    broker = Broker()
    broker.run()
    _knows_of_directories(broker)
    broker.lifecycle.tell_directories()
    broker.link.answer(NOT_CONTROLLER)
    broker.lifecycle.leave(lambda: broker.told.append("gone"), hands_over=False)
    broker.lifecycle.tell_directories()
    broker.clock.advance(60_000)
    assert not broker.link.asked


def displaced(broker: Broker) -> None:
    broker.registered[1] = SimpleNamespace(epoch=50, incarnation_id=UUID(int=8))


@pytest.mark.parametrize("was_running", [False, True])
def test_who_was_displaced_registers_anew_as_long_as_it_takes(was_running: bool) -> None:
    """A registration of the process before came late, or somebody has its id."""
    broker = Broker()
    if was_running:
        broker.run()
        broker.clock.advance(INTERVAL_MS)
    else:
        broker.start()
        broker.link.answer(BrokerRegistered(42))
        broker.lifecycle.ready(lambda: broker.told.append("running"))
    displaced(broker)
    assert isinstance(broker.link.answer(STALE), BrokerHeartbeat)
    told = len(broker.heard.events)
    for _ in range(20):
        refused = Refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        assert isinstance(broker.link.answer(refused), RegisterBroker)
        broker.clock.advance(50)
    assert len(broker.heard.events) == told + 1, "the reason is told once"
    broker.link.answer(BrokerRegistered(60))
    broker.registered[1] = SimpleNamespace(epoch=60, incarnation_id=UUID(int=7))
    assert broker.link.answer(SERVES).epoch == 60
    assert broker.told == ["registered", "running"]


def test_who_was_unregistered_does_not_come_back_by_itself() -> None:
    broker = Broker()
    broker.run()
    for _ in range(3):
        broker.clock.advance(INTERVAL_MS)
        assert isinstance(broker.link.answer(STALE), BrokerHeartbeat)
    assert not broker.link.asked


def test_who_is_displaced_while_it_leaves_is_gone() -> None:
    broker = Broker()
    broker.run()
    broker.leave()
    displaced(broker)
    broker.link.answer(STALE)
    assert broker.told[-1] == "gone"
