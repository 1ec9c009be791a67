"""Internal topics of streams groups: asked for once, and told why they could not be made."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.broker.groups.streams import StreamsWiring
from kafkapy.broker.handlers.create_topics import STRICT_ABOUT_QUOTAS
from kafkapy.broker.quotas.mutations import EXCEEDED
from kafkapy.broker.requests.request import Call, Hangup, Later, Peer
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.settings import GroupSettings
from kafkapy.group.streams.topology import InternalTopic
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader, read_request_header
from tests.broker.handlers.journal import ToldJournal
from tests.coordinator.fakes import FakeClock

LOG = InternalTopic("app-log", 4, 0, (("cleanup.policy", "compact"),))
OTHER = InternalTopic("app-again", 2, 3, ())


class Link:
    """A way to the controller that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Call[Any]] = []
        self.headers: list[RequestHeader] = []
        self._answers: list[Later] = []

    def forward(self, request: memoryview, call: Call[Any]) -> Later:
        self.asked.append(call)
        self.headers.append(read_request_header(request)[0])
        self._answers.append(Later())
        return self._answers[-1]

    def answer(self, **verdicts: Refused | None) -> None:
        rows = [
            {
                "name": name.replace("_", "-"),
                "topic_id": None,
                "error_code": 0 if one is None else one.code,
                "error_message": None if one is None else one.message,
            }
            for name, one in verdicts.items()
        ]
        self._answers.pop(0).resolve({"throttle_time": 0, "topics": rows})

    def hang_up(self) -> None:
        self._answers.pop(0).resolve(Hangup("nobody leads"))


class Fixture:
    def __init__(self) -> None:
        self.link = Link()
        self.clock = FakeClock(1_000)
        groups: Any = SimpleNamespace(settings=GroupSettings())
        link: Any = self.link
        self.streams = StreamsWiring(groups, link, self.clock, ToldJournal())
        peer = Peer("PLAINTEXT", "10.0.0.1", principal="User:app")
        self.heartbeat: Any = Call(88, 0, 7, "app-1", None, peer, self.clock.now())

    def create(self, *topics: InternalTopic) -> None:
        self.streams.create_topics(topics, "app", self.heartbeat)


@pytest.fixture
def made() -> Fixture:
    return Fixture()


def test_topics_are_asked_for_once_with_what_the_topology_says(made: Fixture) -> None:
    made.create(LOG, OTHER)
    made.create(LOG, OTHER)
    (asked,) = made.link.asked
    found = [
        (one.name, one.num_partitions, one.replication_factor, one.assignments)
        for one in asked.body.topics
    ]
    assert found == [("app-log", 4, -1, ()), ("app-again", 2, 3, ())]
    configs = [(one.name, one.value) for one in asked.body.topics[0].configs]
    assert configs == [("cleanup.policy", "compact")]
    made.link.answer(app_log=None, app_again=None)
    assert made.streams.failures([LOG, OTHER]) == {}


def test_who_waits_is_told_for_two_heartbeats_why_there_is_none(made: Fixture) -> None:
    """Then it is tried again."""
    made.create(LOG, OTHER)
    there = Refused(ErrorCode.TOPIC_ALREADY_EXISTS)
    made.link.answer(app_log=Refused(ErrorCode.INVALID_CONFIG, "no"), app_again=there)
    made.clock.advance(9_999)
    made.create(LOG)
    assert made.streams.failures([LOG, OTHER]) == {"app-log": "no"}
    assert len(made.link.asked) == 1
    made.clock.advance(2)
    assert made.streams.failures([LOG]) == {}
    made.create(LOG)
    assert len(made.link.asked) == 2


def test_a_controller_that_is_not_there_is_a_reason(made: Fixture) -> None:
    made.create(LOG, OTHER)
    made.link.hang_up()
    assert set(made.streams.failures([LOG, OTHER])) == {"app-log", "app-again"}


def test_they_are_asked_for_in_the_members_name(made: Fixture) -> None:
    """It is its quota of mutations that they count against; and no more is done than fits."""
    made.create(LOG)
    (asked,) = made.link.asked
    (header,) = made.link.headers
    assert asked.peer is made.heartbeat.peer
    assert asked.client_id == header.client_id == "app-1"
    assert header.api_key == ApiKey.CREATE_TOPICS
    assert asked.version == header.api_version >= STRICT_ABOUT_QUOTAS
    made.link.answer(app_log=EXCEEDED)
    assert made.streams.failures([LOG]) == {"app-log": EXCEEDED.message}


def test_a_client_id_that_no_header_holds_is_left_out(made: Fixture) -> None:
    made.heartbeat.client_id = "\ufffd" * 20_000
    made.create(LOG)
    assert made.link.headers[0].client_id is None
