"""A broker that passes for an older release: what it says, and that stock clients work with it."""

import asyncio
import socket
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.testing import Broker

RELEASES = ["2.0", "2.8", "3.3", "3.9", "4.0"]


def exchange(kafka: Broker, api: ApiKey, version: int, read_as: int, body: bytes) -> object:
    """One request; the response read in version `read_as`. OSError if the broker hangs up."""
    host, _, port = kafka.bootstrap.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(frame(request_head(api, version, 7, "test"), body))
        with client.makefile("rb") as answers:
            size = answers.read(4)
            if len(size) < 4:
                raise ConnectionResetError("the broker hung up")
            view = memoryview(answers.read(int.from_bytes(size, "big")))
    _, at = read_response_head(api, read_as, view)
    return decode_response(api, read_as, view[at:])


def advertised(kafka: Broker) -> dict[str, tuple[int, int]]:
    answer = exchange(kafka, ApiKey.API_VERSIONS, 0, 0, b"")
    names = {int(api): api.camel_name for api in ApiKey}
    return {
        names[row.api_key]: (row.min_version, row.max_version)
        for row in answer.api_keys  # type: ignore[attr-defined]  # decoded: an ApiVersionsResponse
    }


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        # As real brokers of these releases answer, without what Kafka 4 has dropped.
        ("2.0", {"Produce": (0, 6), "Fetch": (4, 8), "Metadata": (0, 6), "JoinGroup": (0, 3)}),
        ("2.8", {"Produce": (0, 9), "Fetch": (4, 12), "Metadata": (0, 11), "JoinGroup": (0, 7)}),
        ("3.3", {"Produce": (0, 9), "Fetch": (4, 13), "Metadata": (0, 12), "JoinGroup": (0, 9)}),
        ("3.9", {"Produce": (0, 11), "Fetch": (4, 17), "Metadata": (0, 12), "EndTxn": (0, 4)}),
        ("4.0", {"Produce": (0, 12), "Fetch": (4, 17), "Metadata": (0, 13), "EndTxn": (0, 5)}),
    ],
)
def test_it_advertises_what_that_release_does(
    release: str, expected: dict[str, tuple[int, int]]
) -> None:
    with Broker(api_versions=release) as kafka:
        rows = advertised(kafka)
    assert {name: rows[name] for name in expected} == expected
    assert ("IncrementalAlterConfigs" in rows) == (release != "2.0")
    assert ("ConsumerGroupHeartbeat" in rows) == (release in ("3.9", "4.0"))


@pytest.mark.parametrize(
    ("release", "levels"),
    [("2.8", {}), ("3.9", {"metadata.version": 21}), ("4.0", {"metadata.version": 25})],
)
def test_its_features_are_those_of_that_release(release: str, levels: dict[str, int]) -> None:
    body = {"client_software_name": "test", "client_software_version": "1"}
    with Broker(api_versions=release) as kafka:
        data = encode_request(ApiKey.API_VERSIONS, 3, body)
        answer = exchange(kafka, ApiKey.API_VERSIONS, 3, 3, data)
    finalized = {one.name: one.max_version_level for one in answer.finalized_features}  # type: ignore[attr-defined]  # decoded
    assert {name: finalized[name] for name in levels} == levels
    assert bool(finalized) == bool(levels)
    assert ("transaction.version" in finalized) == (release == "4.0")


def test_a_version_of_later_is_refused_as_that_release_would() -> None:
    with Broker(api_versions="2.8") as kafka:
        answer = exchange(kafka, ApiKey.API_VERSIONS, 4, 0, b"")
        assert answer.error_code == 35  # type: ignore[attr-defined]  # decoded
        (row,) = answer.api_keys  # type: ignore[attr-defined]  # decoded
        assert (row.api_key, row.max_version) == (ApiKey.API_VERSIONS, 3)
        with pytest.raises(ConnectionResetError):
            exchange(kafka, ApiKey.METADATA, 12, 12, b"")
        kafka.topics()  # by then the broker has written down why it hung up
        assert "Kafka 2.8 does not know API 3 in version 12" in str(kafka.events())


def test_an_unknown_release_is_said_at_once() -> None:
    with pytest.raises(
        ValueError, match=r"'2\.7': known releases are 2\.0, 2\.8, 3\.3, 3\.9, 4\.0"
    ):
        Broker(api_versions="2.7")


@pytest.mark.kafka(api_versions="2.8")
def test_the_mark_says_which_release_a_test_wants(kafka: Broker) -> None:
    assert advertised(kafka)["Fetch"] == (4, 12)


def librdkafka(bootstrap: str) -> bytes | None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("orders", b"1")
    assert producer.flush(10) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    try:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
        value = message.value()
        return value.encode() if isinstance(value, str) else value
    finally:
        consumer.close()


def kafka_python(bootstrap: str) -> bytes | None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send("orders", b"1").get(10)
    producer.close()
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest"
    )
    try:
        value: bytes = next(consumer).value
        consumer.commit()
        return value
    finally:
        consumer.close()


def aiokafka(bootstrap: str) -> bytes | None:
    async def play() -> bytes | None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait("orders", b"1")
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest"
        )
        async with consumer:
            value: bytes = (await consumer.getone()).value
            await consumer.commit()
            return value

    return asyncio.run(play())


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("client", [librdkafka, kafka_python, aiokafka])
def test_stock_clients_work_with_it(release: str, client: Callable[[str], bytes | None]) -> None:
    with Broker(api_versions=release) as kafka:
        kafka.create_topic("orders")
        assert client(kafka.bootstrap) == b"1"
        assert kafka.lag("g") == 0
        highest = {one.version for one in kafka.requests("Fetch")}
        assert max(highest) <= advertised(kafka)["Fetch"][1]


@pytest.mark.parametrize("release", ["2.0", "2.8", "3.9"])
def test_transactions_of_that_release_work(release: str) -> None:
    with Broker(api_versions=release) as kafka:
        kafka.create_topic("orders")
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("orders", b"1")
        producer.commit_transaction(10)
        assert [one.transaction for one in kafka.records("orders")] == ["committed"]
