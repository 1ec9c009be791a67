"""Who comes by IPv4 to a listener on [::] has its IPv4 address: for ACLs, quotas, the journal."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from kafkapy.core.time import later
from kafkapy.http.kafka.client import Kafka
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL
from tests.http.pages import ALLOW, LITERAL, link_of, logged, with_kafka

EVERYWHERE = {"http.listeners": "http://[::]:0"}


def by_ipv4(broker: Broker) -> httpx.Client:
    base = f"http://127.0.0.1:{urlsplit(broker.http).port}"
    return httpx.Client(base_url=base, trust_env=False, timeout=30)


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker({**SASL, **EVERYWHERE}) as broker:
        yield broker


def test_acls_of_an_ipv4_address_are_its(secured: Broker) -> None:
    secured.create_topic("orders")
    row = {
        "resource_type": int(ResourceType.TOPIC),
        "resource_name": "orders",
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "127.0.0.1",
        "operation": int(Operation.DESCRIBE),
        "permission_type": ALLOW,
    }

    async def work(kafka: Kafka) -> None:
        answer = await kafka.ask(ApiKey.CREATE_ACLS, {"creations": [row]})
        assert not answer.results[0].error_code, answer

    with_kafka(secured, work)
    with by_ipv4(secured) as client:
        topics = client.get("/api/v1/topics", auth=("alice", PASSWORD)).json()
    assert "orders" in str(topics)


def test_the_journal_names_an_ipv4_address(secured: Broker) -> None:
    with by_ipv4(secured) as client:
        assert client.get("/api/v1/topics", auth=("alice", "wrong")).status_code == 401
    assert {one["peer"] for one in logged(secured, "authentication failed")} == {"127.0.0.1"}


def test_whoever_is_throttled_is_so_by_its_ipv4_address() -> None:
    with Broker(EVERYWHERE) as broker, by_ipv4(broker) as client:
        assert client.get("/api/v1/topics").status_code == 200
        link = link_of(broker)
        now = link.node.clock.now()
        link.throttled.note("User:ANONYMOUS", "127.0.0.1", later(now, 600_000), now)
        assert client.get("/api/v1/topics").status_code == 429
