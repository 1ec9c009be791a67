"""kafka-python and aiokafka log in and are refused alike on both servers."""

import asyncio
import gc
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AsyncTokenProvider
from aiokafka.errors import KafkaConnectionError
from aiokafka.errors import KafkaError as AsyncKafkaError
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from compat_tests.behaviours import covers
from compat_tests.security.provider import FORGER, STRANGER
from compat_tests.security.servers import (
    BAD_CERTIFICATES,
    EACH_WAY,
    MECHANISMS,
    OAUTHBEARER,
    PASSWORD,
    USER,
    Secured,
    Shown,
    Way,
    bad_certificate,
)

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
    return showing(server, server.certificates.client if way.listener == "MTLS" else None)


def showing(server: Secured, certificate: Shown | None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(server.certificates.authority))
    if certificate is not None:
        made.load_cert_chain(certificate.certificate, certificate.key)
    return made


def settings(server: Secured, way: Way) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap_servers": server.address(way.listener),
        "security_protocol": way.protocol,
        "ssl_context": context(server, way),
    }
    if way.mechanism == OAUTHBEARER:
        found["sasl_mechanism"] = OAUTHBEARER
    elif way.mechanism is not None:
        found |= {
            "sasl_mechanism": way.mechanism,
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
        }
    return found


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """For kafka-python, which fetches none by itself."""

    def __init__(self, server: Secured, client: str = USER) -> None:
        super().__init__()
        self._server = server
        self._client = client

    def token(self) -> str:
        return self._server.provider.token(self._client)


class AsyncTokens(AsyncTokenProvider):  # type: ignore[misc]  # nor has aiokafka
    """For aiokafka, which does not either."""

    def __init__(self, server: Secured, client: str = USER) -> None:
        self._tokens = Tokens(server, client)

    async def token(self) -> str:
        return self._tokens.token()


def for_kafka_python(server: Secured, way: Way, client: str = USER) -> dict[str, Any]:
    found = settings(server, way)
    if way.mechanism == OAUTHBEARER:
        found["sasl_oauth_token_provider"] = Tokens(server, client)
    return found


def for_aiokafka(server: Secured, way: Way, client: str = USER) -> dict[str, Any]:
    found = settings(server, way)
    if way.mechanism == OAUTHBEARER:
        found["sasl_oauth_token_provider"] = AsyncTokens(server, client)
    return found


@pytest.mark.client("kafka_python")
@pytest.mark.parametrize("way", EACH_WAY)
def test_kafka_python_sends_and_receives(secured: Secured, topic: str, way: Way) -> None:
    producer = KafkaProducer(**for_kafka_python(secured, way))
    for value in SENT:
        producer.send(topic, value).get(20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        **for_kafka_python(secured, way),
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
        group_id=None,
    )
    # In this order: it does not ask for one more record than there are.
    got = [record.value for _, record in zip(SENT, consumer, strict=False)]
    consumer.close()
    assert got == SENT


@pytest.mark.client("kafka_python")
@covers("login-refused", "sasl-oauthbearer")
@pytest.mark.parametrize("client", [FORGER, STRANGER])
def test_kafka_python_with_a_token_that_is_not_good_is_refused(
    secured: Secured, client: str
) -> None:
    given = for_kafka_python(secured, Way("OAUTH", OAUTHBEARER), client)
    with pytest.raises(KafkaError):
        KafkaProducer(**given, bootstrap_timeout_ms=3000)


@pytest.mark.client("kafka_python")
@covers("login-refused")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_with_another_password_is_refused(secured: Secured, mechanism: str) -> None:
    given = settings(secured, Way("SASL_PLAINTEXT", mechanism)) | {"sasl_plain_password": "wrong"}
    with pytest.raises(KafkaError):
        KafkaProducer(**given, bootstrap_timeout_ms=3000)


@pytest.mark.client("kafka_python")
@covers("mtls", "login-refused")
@pytest.mark.parametrize("whose", BAD_CERTIFICATES)
def test_kafka_python_without_a_good_certificate_is_refused(secured: Secured, whose: str) -> None:
    shown = showing(secured, bad_certificate(secured, whose))
    given = settings(secured, Way("MTLS")) | {"ssl_context": shown}
    with pytest.raises(KafkaError):
        KafkaProducer(**given, bootstrap_timeout_ms=3000)


@pytest.mark.client("aiokafka")
@pytest.mark.parametrize("way", EACH_WAY)
def test_aiokafka_sends_and_receives(secured: Secured, topic: str, way: Way) -> None:
    async def there_and_back() -> list[bytes | None]:
        async with AIOKafkaProducer(**for_aiokafka(secured, way)) as producer:
            for value in SENT:
                await producer.send_and_wait(topic, value)
        given = for_aiokafka(secured, way)
        async with AIOKafkaConsumer(topic, **given, auto_offset_reset="earliest") as consumer:
            async with asyncio.timeout(20):
                return [(await consumer.getone()).value for _ in SENT]

    assert asyncio.run(there_and_back()) == SENT


def refused_to_aiokafka(given: dict[str, Any], topic: str) -> None:
    """It takes the refusal of a token for its end, and goes on: Apache Kafka answers each request
    that it may not, kafkapy hangs up. Nothing gets in either way."""

    async def write() -> None:
        producer = AIOKafkaProducer(**given, request_timeout_ms=3000)
        try:
            await producer.start()
            async with asyncio.timeout(10):
                await producer.send_and_wait(topic, b"not let in")
        finally:
            await producer.stop()
            await asyncio.sleep(0)  # what it has closed is let go by the loop's next turn

    with pytest.raises((AsyncKafkaError, TimeoutError)):
        asyncio.run(write())


@pytest.mark.client("aiokafka")
@covers("login-refused", "sasl-oauthbearer")
@pytest.mark.parametrize("client", [FORGER, STRANGER])
def test_aiokafka_with_a_token_that_is_not_good_is_refused(
    secured: Secured, topic: str, client: str
) -> None:
    refused_to_aiokafka(for_aiokafka(secured, Way("OAUTH_SSL", OAUTHBEARER), client), topic)


@pytest.mark.client("aiokafka")
@covers("login-refused")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_with_another_password_is_refused(secured: Secured, mechanism: str) -> None:
    async def log_in() -> None:
        given = settings(secured, Way("SASL_SSL", mechanism)) | {"sasl_plain_password": "wrong"}
        producer = AIOKafkaProducer(**given)
        try:
            await producer.start()
        finally:
            await producer.stop()
            await asyncio.sleep(0)  # as above

    with pytest.raises(KafkaConnectionError):
        asyncio.run(log_in())


@pytest.mark.client("aiokafka")
@covers("mtls", "login-refused")
@pytest.mark.parametrize("whose", BAD_CERTIFICATES)
def test_aiokafka_without_a_good_certificate_is_refused(
    secured: Secured, topic: str, whose: str
) -> None:
    shown = showing(secured, bad_certificate(secured, whose))
    refused_to_aiokafka(settings(secured, Way("MTLS")) | {"ssl_context": shown}, topic)
