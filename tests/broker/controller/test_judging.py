"""What a broker judges of itself before the controller hears of it."""

from typing import Any

import pytest

from kafkapy.broker.controller import judging
from kafkapy.broker.requests.request import Call, Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import request_head
from kafkapy.protocol.messages import decode_request, encode_request
from tests.broker.config.kafka import minimal
from tests.broker.handlers.journal import ToldJournal

BOTH = pytest.mark.parametrize("api", [ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS])
KEY_STORE = "listener.name.plaintext.ssl.keystore.location"


class Told:
    """Where requests are forwarded to."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def forward(self, request: memoryview, call: Call[Any]) -> dict[str, Any]:
        self.bodies.append(call.body)
        return {"throttle_time": 0, "responses": []}


class Asked:
    """A broker that nobody may alter unless `anybody`, asked to alter itself and topics."""

    def __init__(self, api: ApiKey, *, anybody: bool = False) -> None:
        self.api = api
        self.config = minimal()
        self.link = Told()
        journal = ToldJournal()
        self.authorizer = Authorizer((), allows_without_acl=anybody, journal=journal)

    def __call__(self, key: str, value: str, *resources: tuple[int, str]) -> list[Any]:
        change: dict[str, object] = {"name": key, "value": value}
        if self.api is ApiKey.INCREMENTAL_ALTER_CONFIGS:
            change["config_operation"] = 0
        rows = [
            {"resource_type": kind, "resource_name": name, "configs": [change]}
            for kind, name in resources
        ]
        head = request_head(self.api, 1, 1, "test")
        body = encode_request(self.api, 1, {"resources": rows, "validate_only": True})
        asked = decode_request(self.api, 1, memoryview(body))
        peer = Peer("PLAINTEXT", "127.0.0.1")
        call: Any = Call(self.api, 1, 1, "test", asked, peer, Instant(0))
        broker: Any = self
        answer: Any = judging.forward(broker, memoryview(head + body), call)
        return list(answer["responses"])


@BOTH
def test_who_may_not_alter_it_is_refused_before_a_file_is_looked_at(api: ApiKey) -> None:
    """The same answer whether the file is there or not, and nothing is forwarded."""

    def look(after: object, altered: object) -> None:
        raise AssertionError("it is looked at files for somebody who may not")

    asked = Asked(api)
    asked.config.check_files = look
    answers = [asked(KEY_STORE, path, (4, "1"), (8, "1")) for path in ("/dev/null", "/nowhere")]
    broker, logger = answers[0]
    assert broker["error_code"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if api is ApiKey.INCREMENTAL_ALTER_CONFIGS:
        assert logger["error_code"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answers[0] == answers[1]
    assert asked.link.bodies == []


@BOTH
def test_what_it_does_not_refuse_is_forwarded_without_what_it_does(api: ApiKey) -> None:
    asked = Asked(api, anybody=True)
    (refused,) = asked("num.io.threads", "1000", (4, "1"), (2, "orders"))
    assert refused["error_code"] == ErrorCode.INVALID_REQUEST
    (body,) = asked.link.bodies
    assert [one.resource_name for one in body.resources] == ["orders"]
    assert [one.value for one in body.resources[0].configs] == ["1000"]
