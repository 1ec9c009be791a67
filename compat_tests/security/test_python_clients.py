"""kafka-python and aiokafka log in and are refused alike on both servers."""

import asyncio
import gc
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from compat_tests.security.servers import MECHANISMS, PASSWORD, USER, WAYS, Secured, Way

# One server of each kind serves them all.
pytestmark = [
    pytest.mark.xdist_group("secured"),
    # Clients that are refused leave their sockets to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("collected"),
]


@pytest.fixture
def collected() -> Iterator[None]:
    yield
    gc.collect()


SENT = [bytes([n]) * 20_000 for n in range(20)]


def context(server: Secured, way: Way) -> ssl.SSLContext | None:
    if not way.has_tls:
        return None
    made = ssl.create_default_context(cafile=str(server.certificates.authority))
    if way.listener == "MTLS":
        made.load_cert_chain(server.certificates.certificate, server.certificates.key)
    return made


def settings(server: Secured, way: Way) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap_servers": server.address(way.listener),
        "security_protocol": way.protocol,
        "ssl_context": context(server, way),
    }
    if way.mechanism is not None:
        found |= {
            "sasl_mechanism": way.mechanism,
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
        }
    return found


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_kafka_python_sends_and_receives(secured: Secured, topic: str, way: Way) -> None:
    producer = KafkaProducer(**settings(secured, way))
    for value in SENT:
        producer.send(topic, value).get(20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        **settings(secured, way),
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
        group_id=None,
    )
    got = [record.value for record, _ in zip(consumer, SENT, strict=False)]
    consumer.close()
    assert got == SENT


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_with_another_password_is_refused(secured: Secured, mechanism: str) -> None:
    given = settings(secured, Way("SASL_PLAINTEXT", mechanism)) | {"sasl_plain_password": "wrong"}
    with pytest.raises(KafkaError):
        KafkaProducer(**given, bootstrap_timeout_ms=3000)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_aiokafka_sends_and_receives(secured: Secured, topic: str, way: Way) -> None:
    async def there_and_back() -> list[bytes | None]:
        async with AIOKafkaProducer(**settings(secured, way)) as producer:
            for value in SENT:
                await producer.send_and_wait(topic, value)
        given = settings(secured, way)
        async with AIOKafkaConsumer(topic, **given, auto_offset_reset="earliest") as consumer:
            async with asyncio.timeout(20):
                return [(await consumer.getone()).value for _ in SENT]

    assert asyncio.run(there_and_back()) == SENT


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_with_another_password_is_refused(secured: Secured, mechanism: str) -> None:
    async def log_in() -> None:
        given = settings(secured, Way("SASL_SSL", mechanism)) | {"sasl_plain_password": "wrong"}
        producer = AIOKafkaProducer(**given)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(KafkaConnectionError):
        asyncio.run(log_in())
