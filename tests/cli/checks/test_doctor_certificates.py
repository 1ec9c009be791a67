"""`kafkapy doctor` and TLS: each test breaks the one thing that is found."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.cli.checks.certificates import check_certificates
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.main import main
from kafkapy.testing.security.certificates import Authority, Certificate
from kafkapy.testing.security.secured import SecuredBroker

LONG = timedelta(days=90)
NAMES = ("kafka-1", "127.0.0.1")
Doctor = Callable[[SecuredBroker, dict[str, str]], str]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def settings(authority: Authority, shown: Certificate, **changed: str) -> dict[str, str]:
    """Of one of three nodes: brokers connect to one another by TLS."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "TLS://:9092,CONTROLLER://:9093",
        "advertised.listeners": "TLS://kafka-1:9092",
        "inter.broker.listener.name": "TLS",
        "listener.security.protocol.map": "TLS:SSL,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": "1@kafka-1:9093,2@kafka-2:9093,3@kafka-3:9093",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.key": shown.key_pem(),
        "ssl.keystore.certificate.chain": shown.pem,
        "ssl.truststore.certificates": authority.pem,
        **{name.replace("_", "."): text for name, text in changed.items()},
    }


def found(told: dict[str, str]) -> dict[str, Finding]:
    return {one.name: one for one in check_certificates(BrokerConfig(told))}


def test_nothing_is_found_where_nothing_is_wrong(authority: Authority) -> None:
    """Nor where clients must show certificates, so that nodes show each other theirs."""
    good = authority.issue("broker", hosts=NAMES, lasts=LONG)
    assert found(settings(authority, good)) == {}
    assert found(settings(authority, good, ssl_client_auth="required")) == {}


def test_a_key_of_another_certificate(authority: Authority) -> None:
    one, other = (authority.issue("broker", hosts=NAMES, lasts=LONG) for _ in range(2))
    mixed = dataclasses.replace(one, key=other.key)
    assert "KEY_VALUES_MISMATCH" in found(settings(authority, mixed))["certificate-unusable"].what


def test_a_certificate_without_the_advertised_name(authority: Authority) -> None:
    of_another = authority.issue("kafka-1", hosts=("kafka-2",), lasts=LONG)
    told = settings(authority, of_another)
    assert "'kafka-1'" in found(told)["certificate-of-another-name"].what
    told["advertised.listeners"] = "TLS://127.0.0.1:9092"
    assert "'127.0.0.1'" in found(told)["certificate-of-another-name"].what
    told["ssl.endpoint.identification.algorithm"] = ""
    assert found(told) == {}, "nobody compares them"


def test_a_controllers_name_is_that_which_voters_are_told(authority: Authority) -> None:
    good = authority.issue("broker", hosts=("kafka-1",), lasts=LONG)
    told = settings(authority, good, listener_security_protocol_map="TLS:SSL,CONTROLLER:SSL")
    assert found(told) == {}
    told["controller.quorum.voters"] = "1@node-1:9093,2@kafka-2:9093,3@kafka-3:9093"
    assert found(told)["certificate-of-another-name"].about == "listener CONTROLLER"


def test_a_certificate_that_has_expired_or_will_soon(authority: Authority) -> None:
    expired = authority.issue("broker", hosts=NAMES, lasts=Authority.EXPIRED)
    assert list(found(settings(authority, expired))) == ["certificate-expired"]
    soon = authority.issue("broker", hosts=NAMES, lasts=timedelta(days=9, hours=1))
    assert "in 9 days" in found(settings(authority, soon))["certificate-expires-soon"].what


def test_a_node_that_would_not_trust_itself(authority: Authority) -> None:
    """As client it looks at what it shows as server; alone it never connects to itself."""
    by_stranger = Authority("a stranger").issue("broker", hosts=NAMES, lasts=LONG)
    told = settings(authority, by_stranger)
    assert list(found(told)) == ["certificate-not-trusted"]
    told["controller.quorum.voters"] = "1@kafka-1:9093"
    assert found(told) == {}


# --- running ---


@pytest.fixture
def doctor(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Doctor:
    """What it prints, asked as a client of this client.properties."""

    def ask(kafka: SecuredBroker, told: dict[str, str]) -> str:
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{name}={text}\n" for name, text in told.items()))
        asked = ["--bootstrap-server", kafka.bootstrap, "--command-config", str(file)]
        main(["doctor", *asked])
        return capfd.readouterr().out

    return ask


def client(kafka: SecuredBroker) -> dict[str, str]:
    return {
        "security.protocol": kafka.protocol,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(kafka.certificates.authority),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="secret";',
    }


def test_a_running_broker_whose_certificate_is_wrong(doctor: Doctor) -> None:
    with SecuredBroker() as kafka:
        kafka.users.add("alice", "secret")
        assert "(certificate-expires-soon)" in doctor(kafka, client(kafka))
        kafka.certificates.show_expired()
        assert "(certificate-expired)" in doctor(kafka, client(kafka))
        kafka.certificates.show_of_another_host()
        assert "(certificate-of-another-name)" in doctor(kafka, client(kafka))
        kafka.certificates.show_of_a_stranger()
        assert "(certificate-not-trusted)" in doctor(kafka, client(kafka))


def test_a_running_broker_that_wants_certificates_of_clients(doctor: Doctor) -> None:
    with SecuredBroker(protocol="SSL") as kafka:
        assert "(certificate-not-trusted)" in doctor(kafka, client(kafka))
