"""Share partitions that are loaded while those who wanted them go."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.share.dead_letters import DeadLetters
from kafkapy.broker.share.led import LedShare, LedShares
from kafkapy.broker.share.settings import ShareSettings
from kafkapy.broker.share.states import ShareStates
from kafkapy.core.errors import Refused
from kafkapy.core.seams import Clock
from kafkapy.share.coordinator.events import StateRead
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.partition import ShareLimits

KEY = ShareKey("g", UUID(int=7), 0)
PARTITION = cast("Partition", SimpleNamespace(is_leader=True, leader_epoch=3))


class Coordinator:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Any]] = []

    def ask(self, event: Any, then: Any) -> None:
        self.asked.append((event, then))

    def answer(self, reply: Any) -> None:
        _, then = self.asked.pop(0)
        then(reply)


def shares(coordinator: Coordinator) -> LedShares:
    settings = SimpleNamespace(limits=lambda _: ShareLimits())
    return LedShares(
        clock=cast("Clock", SimpleNamespace()),
        states=cast("ShareStates", coordinator),
        dead_letters=cast("DeadLetters", None),
        settings=lambda: cast("ShareSettings", settings),
    )


def test_what_is_loaded_after_the_last_session_ended_is_not_kept() -> None:
    """Else nobody would notice that the group is altered before it comes again."""
    coordinator, found = Coordinator(), list[LedShare | Refused]()
    led = shares(coordinator)
    led.load(KEY, PARTITION, found.append)
    led.forget_group("g")
    coordinator.answer(StateRead(1, 0, ()))
    assert len(found) == 1
    assert led.get(KEY) is None


def test_what_another_one_wants_meanwhile_is_kept() -> None:
    coordinator, found = Coordinator(), list[LedShare | Refused]()
    led = shares(coordinator)
    led.load(KEY, PARTITION, found.append)
    led.forget_group("g")
    led.load(KEY, PARTITION, found.append)
    coordinator.answer(StateRead(1, 0, ()))
    assert found == [led.get(KEY)] * 2
    assert not coordinator.asked
