"""Who has used up a quota gets no more by HTTP than by Kafka's protocol."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.core.time import Instant
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.throttled import Throttled
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker, Cluster
from tests.http.pages import HTTP, client_of, link_of, with_kafka

A_LOT = [NewRecord(None, bytes(30_000), 1000)]


def set_quota(broker: Broker, **values: float) -> None:
    async def work(kafka: Kafka) -> None:
        ops = [{"key": key, "value": value, "remove": False} for key, value in values.items()]
        entity = [{"entity_type": "user", "entity_name": "green"}]
        body = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
        answer = await kafka.ask(ApiKey.ALTER_CLIENT_QUOTAS, body)
        assert not answer.entries[0].error_code

    with_kafka(broker, work)


def use(broker: Broker, topic: str, partition: int = 0) -> None:
    """As green."""

    async def work(kafka: Kafka) -> None:
        await records.produce(kafka, topic, partition, A_LOT)

    with_kafka(broker, work, principal="User:green")


def throttled_ms(broker: Broker, principal: str = "User:green") -> int:
    link = link_of(broker)
    return link.throttled.wait_ms(principal, "127.0.0.1", link.node.clock.now())


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(HTTP) as started:
        yield started


def test_who_is_over_a_quota_is_refused_until_he_may_be_heard(broker: Broker) -> None:
    broker.create_topic("loud")
    set_quota(broker, producer_byte_rate=1000)
    use(broker, "loud")
    assert 15_000 < throttled_ms(broker) <= 25_000
    assert throttled_ms(broker, "User:blue") == 0
    broker.clock.advance(seconds=26)
    assert throttled_ms(broker) == 0


def test_pages_say_for_how_long(broker: Broker) -> None:
    broker.create_topic("loud")
    link = link_of(broker)
    now = link.node.clock.now()
    with client_of(broker) as http:
        assert _topics(http).status_code == 200
        link.throttled.note("User:ANONYMOUS", "127.0.0.1", Instant(now + 60_000), now)
        refused = _topics(http)
        assert refused.status_code == 429
        assert 50 < int(refused.headers["retry-after"]) <= 60
        assert http.get("/health/live").status_code == 200
        link.throttled.note("User:ANONYMOUS", "127.0.0.9", Instant(now + 600_000), now)
        broker.clock.advance(seconds=61)
        assert _topics(http).status_code == 200


def _topics(http: httpx.Client) -> Any:
    return http.get("/api/v1/topics")


def test_what_another_broker_did_for_him_counts_too() -> None:
    with Cluster(3, settings=HTTP) as cluster:
        cluster.create_topic("loud", partitions=3)
        one = cluster.node(1)
        set_quota(one, producer_byte_rate=1000)
        node = link_of(one).node
        cluster.wait_for(lambda: node.quotas is not None, "the quota is known")
        others = [at for at in range(3) if cluster.leader("loud", at) != 1]
        use(one, "loud", others[0])
        assert 15_000 < throttled_ms(one) <= 25_000


def test_those_who_wait_no_longer_are_forgotten() -> None:
    throttled = Throttled()
    for at in range(30_000):
        throttled.note(f"User:{at}", "", Instant(1000 + at), Instant(at))
    assert len(throttled._until) < 20_000
    assert throttled.wait_ms("User:29999", "", Instant(30_000)) == 999
