"""The answer to CreateTopics waits for this broker's metadata, and no longer than it may."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.controller.created_topics import forward
from kafkapy.broker.metadata.awaited_topics import AwaitedTopics
from kafkapy.broker.requests.request import Call, Encoded, Later, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.core.seams import Callback
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response
from kafkapy.sim.world.clock import SimClock

VERSION = 5  # which tells no ids
TIMEOUT_MS = 5_000


class Kit:
    """A broker, as far as it is asked here; `answer` is the controller's."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.topics: dict[str, Any] = {}
        self.to_serve: list[Callback] = []
        self.awaited_topics = AwaitedTopics(
            lambda: SimpleNamespace(topics_by_name=self.topics),  # type: ignore[arg-type, return-value]
            lambda _, then: self.to_serve.append(then),
        )
        self.answer = Later()
        self.link = SimpleNamespace(forward=lambda request, call: self.answer)

    def ask(self, validate_only: bool = False) -> Later:
        body = SimpleNamespace(
            validate_only=validate_only, timeout=timedelta(milliseconds=TIMEOUT_MS)
        )
        self.call: Call[Any] = Call(
            ApiKey.CREATE_TOPICS, VERSION, 1, None, body, Peer("l", "h"), self.clock.now()
        )
        promise = forward(self, memoryview(b""), self.call)  # type: ignore[arg-type]  # what is used of a broker
        assert isinstance(promise, Later)
        return promise

    def created(self, **codes: ErrorCode) -> Encoded:
        rows: list[dict[str, Any]] = [
            {
                "name": name,
                "error_code": code,
                "error_message": None,
                "num_partitions": 1,
                "replication_factor": 1,
                "configs": [],
            }
            for name, code in codes.items()
        ]
        data = encode_response(ApiKey.CREATE_TOPICS, VERSION, {"throttle_time": 0, "topics": rows})
        answer = Encoded((frame(response_head(ApiKey.CREATE_TOPICS, VERSION, 1), data),))
        self.answer.resolve(answer)
        return answer

    def learn(self, *names: str) -> None:
        self.topics |= {name: SimpleNamespace(id=UUID(int=7)) for name in names}
        self.awaited_topics.look()


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_it_waits_until_all_are_known_and_served(kit: Kit) -> None:
    promise = kit.ask()
    answer = kit.created(a=ErrorCode.NONE, b=ErrorCode.NONE, c=ErrorCode.INVALID_PARTITIONS)
    kit.learn("a")
    assert not kit.to_serve
    kit.learn("b")
    (serve,) = kit.to_serve
    assert not promise.is_resolved
    serve()
    assert promise.answer is answer
    kit.clock.advance(TIMEOUT_MS)


def test_the_request_waits_no_longer_than_it_may(kit: Kit) -> None:
    promise = kit.ask()
    kit.clock.advance(2_000)
    answer = kit.created(a=ErrorCode.NONE)
    kit.clock.advance(2_999)
    assert not promise.is_resolved
    kit.clock.advance(1)
    assert promise.answer is answer
    assert not kit.awaited_topics
    kit.learn("a")


def test_with_nothing_created_there_is_nothing_to_wait_for(kit: Kit) -> None:
    promise = kit.ask()
    answer = kit.created(a=ErrorCode.TOPIC_ALREADY_EXISTS)
    assert promise.answer is answer


def test_what_was_only_to_be_judged_is_not_waited_for(kit: Kit) -> None:
    promise = kit.ask(validate_only=True)
    answer = kit.created(a=ErrorCode.NONE)
    assert promise.answer is answer


def test_an_answer_of_this_process_has_waited(kit: Kit) -> None:
    promise = kit.ask()
    fields: dict[str, Any] = {"throttle_time": 0, "topics": []}
    kit.answer.resolve(fields)
    assert promise.answer is fields
