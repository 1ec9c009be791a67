"""Internal topics of streams groups: asked for once, and told why they could not be made."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.broker.groups.streams import StreamsWiring
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.settings import GroupSettings
from kafkapy.group.streams.topology import InternalTopic
from kafkapy.kraft.controller.topics.changes import CreateTopics, NewTopic
from tests.broker.handlers.journal import ToldJournal
from tests.coordinator.fakes import FakeClock

LOG = InternalTopic("app-log", 4, 0, (("cleanup.policy", "compact"),))
OTHER = InternalTopic("app-again", 2, 3, ())


class Link:
    """A way to the controller that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[CreateTopics] = []
        self._then: list[Callable[[Any], None]] = []

    def create_topics(self, event: CreateTopics, then: Callable[[Any], None]) -> None:
        self.asked.append(event)
        self._then.append(then)

    def answer(self, verdict: Any) -> None:
        self._then.pop(0)(verdict)


class Fixture:
    def __init__(self) -> None:
        self.link = Link()
        self.clock = FakeClock(1_000)
        groups: Any = SimpleNamespace(settings=GroupSettings())
        link: Any = self.link
        self.streams = StreamsWiring(groups, link, self.clock, ToldJournal())


@pytest.fixture
def made() -> Fixture:
    return Fixture()


def test_topics_are_asked_for_once_with_what_the_topology_says(made: Fixture) -> None:
    made.streams.create_topics([LOG, OTHER], "app")
    made.streams.create_topics([LOG, OTHER], "app")
    (asked,) = made.link.asked
    assert asked.topics == (
        NewTopic("app-log", 4, -1, configs=(("cleanup.policy", "compact"),)),
        NewTopic("app-again", 2, 3),
    )
    made.link.answer({"app-log": object(), "app-again": object()})
    assert made.streams.failures([LOG, OTHER]) == {}


def test_who_waits_is_told_for_two_heartbeats_why_there_is_none(made: Fixture) -> None:
    """Then it is tried again."""
    made.streams.create_topics([LOG, OTHER], "app")
    there = Refused(ErrorCode.TOPIC_ALREADY_EXISTS)
    made.link.answer({"app-log": Refused(ErrorCode.INVALID_CONFIG, "no"), "app-again": there})
    made.clock.advance(9_999)
    made.streams.create_topics([LOG], "app")
    assert made.streams.failures([LOG, OTHER]) == {"app-log": "no"}
    assert len(made.link.asked) == 1
    made.clock.advance(2)
    assert made.streams.failures([LOG]) == {}
    made.streams.create_topics([LOG], "app")
    assert len(made.link.asked) == 2


def test_a_controller_that_is_not_there_is_a_reason(made: Fixture) -> None:
    made.streams.create_topics([LOG, OTHER], "app")
    made.link.answer(Refused(ErrorCode.NOT_CONTROLLER, "nobody leads"))
    assert set(made.streams.failures([LOG, OTHER])) == {"app-log", "app-again"}
