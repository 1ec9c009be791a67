"""librdkafka logs in and is refused alike on both servers."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from compat_tests.behaviours import covers
from compat_tests.security.provider import FORGER, STRANGER
from compat_tests.security.raw import Tokens
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
from compat_tests.waiting import wait_for

# One server of each kind serves them all.
pytestmark = [pytest.mark.xdist_group("secured"), pytest.mark.client("confluent_kafka")]


def settings(server: Secured, way: Way, **other: Any) -> dict[str, Any]:
    files = server.certificates
    found: dict[str, Any] = {
        "bootstrap.servers": server.address(way.listener),
        "security.protocol": way.protocol,
        "log_level": 0,
    }
    if way.mechanism == OAUTHBEARER:
        found |= by_token(server, USER)
    elif way.mechanism is not None:
        found |= {"sasl.mechanism": way.mechanism}
        found |= {"sasl.username": USER, "sasl.password": PASSWORD}
    if way.has_tls:
        found["ssl.ca.location"] = str(files.authority)
    if way.listener == "MTLS":
        found |= showing(files.client)
    return found | {key.replace("_", "."): str(value) for key, value in other.items()}


def showing(certificate: Shown) -> dict[str, Any]:
    return {
        "ssl.certificate.location": str(certificate.certificate),
        "ssl.key.location": str(certificate.key),
    }


def by_token(server: Secured, client: str) -> dict[str, Any]:
    """librdkafka asks the provider by itself."""
    return {
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": client,
        "sasl.oauthbearer.client.secret": PASSWORD,
        "sasl.oauthbearer.token.endpoint.url": server.provider.token_url,
    }


@pytest.mark.parametrize("way", EACH_WAY)
def test_records_go_there_and_back(secured: Secured, topic: str, group: str, way: Way) -> None:
    """A megabyte, so that answers are larger than a record of TLS, and come from files."""
    sent = [bytes([n]) * 20_000 for n in range(50)]
    producer = Producer(settings(secured, way))
    for value in sent:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    consumer = Consumer(settings(secured, way, group_id=group, auto_offset_reset="earliest"))
    consumer.subscribe([topic])
    got: list[bytes | None] = []

    def all_are_here() -> bool:
        got.extend(one.value() for one in consumer.consume(50, 0.2) if one.error() is None)
        return len(got) >= len(sent)

    wait_for("the records", all_are_here)
    consumer.close()
    assert got == sent


def why_not(given: Mapping[str, Any]) -> tuple[int, str]:
    """The error that a client hears of when it is not let in."""
    heard: list[KafkaError] = []
    own: dict[str, Any] = {**given, "error_cb": heard.append, "log_level": 0}
    admin = AdminClient(own)

    def told() -> KafkaError | None:
        admin.poll(0.2)
        serious = (KafkaError._AUTHENTICATION, KafkaError._SSL)
        return next((one for one in heard if one.code() in serious), None)

    error = wait_for("a refusal", told)
    return error.code(), error.str()


@covers("login-refused")
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("wrong", ["password", "user"])
def test_who_is_wrong_is_told_what_kafka_tells(
    secured: Secured, listener: str, mechanism: str, wrong: str
) -> None:
    given = settings(secured, Way(listener, mechanism))
    given["sasl.password" if wrong == "password" else "sasl.username"] = "wrong"
    code, text = why_not(given)
    assert code == KafkaError._AUTHENTICATION
    if mechanism == "PLAIN":
        assert "Authentication failed: Invalid username or password" in text
    else:
        assert (
            "Authentication failed during authentication due to invalid credentials with SASL "
            f"mechanism {mechanism}"
        ) in text


@covers("login-refused", "sasl-oauthbearer")
@pytest.mark.parametrize("client", [FORGER, STRANGER])
def test_a_token_that_is_not_good_is_refused(secured: Secured, client: str) -> None:
    given = settings(secured, Way("OAUTH", OAUTHBEARER)) | by_token(secured, client)
    code, text = why_not(given)
    assert code == KafkaError._AUTHENTICATION
    assert "invalid_token" in text


@covers("login-refused")
def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are(secured: Secured) -> None:
    given = settings(secured, Way("SASL_PLAINTEXT", "PLAIN"))
    given |= {"sasl.mechanism": "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt": "true"}
    code, text = why_not({**given, "sasl.oauthbearer.config": "principal=alice"})
    assert code == KafkaError._AUTHENTICATION
    assert "PLAIN" in text


@covers("wrong-authority")
def test_a_server_of_another_authority_is_not_spoken_to(secured: Secured) -> None:
    given = settings(secured, Way("SSL"), ssl_ca_location=secured.certificates.other_authority)
    code, text = why_not(given)
    assert code == KafkaError._SSL
    assert "certificate verify failed" in text


@covers("mtls", "login-refused")
@pytest.mark.parametrize("whose", BAD_CERTIFICATES)
def test_a_client_without_a_good_certificate_is_not_let_in(secured: Secured, whose: str) -> None:
    given = settings(secured, Way("SSL"), bootstrap_servers=secured.address("MTLS"))
    shown = bad_certificate(secured, whose)
    given |= {} if shown is None else showing(shown)
    with pytest.raises(KafkaException):
        AdminClient(given).list_topics(timeout=3)


@covers("users")
def test_users_are_described_without_their_secrets(secured: Secured) -> None:
    admin = AdminClient({"bootstrap.servers": secured.address("PLAINTEXT")})
    described: Any = admin.describe_user_scram_credentials([USER])
    found = described[USER].result(20)
    infos = sorted((one.mechanism.name, one.iterations) for one in found.scram_credential_infos)
    assert infos == [("SCRAM_SHA_256", 4096), ("SCRAM_SHA_512", 4096)]


@covers("login-refused")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_token_without_the_word_that_it_is_one_is_nobodys_login(
    secured: Secured, mechanism: str
) -> None:
    """librdkafka has no way to say it (tokenauth=true), so nobody gets in by a token with it."""
    with Tokens(secured) as tokens:
        token = tokens.make()
        given = settings(secured, Way("SASL_PLAINTEXT", mechanism))
        given |= {"sasl.username": token.id, "sasl.password": token.hmac_text}
        code, _ = why_not(given)
        assert code == KafkaError._AUTHENTICATION
        tokens.end(token)
