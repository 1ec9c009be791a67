"""`kafkapy doctor` and logins: each test breaks the one thing that is found."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.checks.logins import check_logins
from kafkapy.cli.checks.refusals import spoken_at
from kafkapy.cli.main import main
from kafkapy.testing import Broker
from kafkapy.testing.security.secured import SecuredBroker

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required "
Ask = Callable[..., str]


def settings(**changed: str) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "INSIDE://:9092,CONTROLLER://:9093",
        "inter.broker.listener.name": "INSIDE",
        "listener.security.protocol.map": "INSIDE:SASL_SSL,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": "1@kafka-1:9093,2@kafka-2:9093,3@kafka-3:9093",
        "ssl.keystore.location": "of-another-test",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.inside.plain.sasl.jaas.config": PLAIN
        + 'username="node" password="secret" user_node="secret";',
        **{name.replace("_", "."): text for name, text in changed.items()},
    }


def found(told: dict[str, str]) -> dict[str, Finding]:
    return {one.name: one for one in check_logins(BrokerConfig(told))}


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert found(settings()) == {}


def test_nodes_that_log_in_by_what_is_not_offered() -> None:
    told = settings(sasl_mechanism_inter_broker_protocol="SCRAM-SHA-256")
    key = "listener.name.inside.scram-sha-256.sasl.jaas.config"
    told[key] = SCRAM + 'username="node" password="secret";'
    assert "offers PLAIN" in found(told)["login-not-offered"].what


def test_nodes_that_are_not_among_their_own_users() -> None:
    line = PLAIN + 'username="node" password="secret" user_node="another";'
    told = settings(listener_name_inside_plain_sasl_jaas_config=line)
    refused = found(told)["login-refused"]
    assert "node" in refused.what
    assert not any(secret in f"{refused}" for secret in ("secret", "another"))


def test_passwords_that_can_be_read_on_the_way() -> None:
    protocols = "INSIDE:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
    told = settings(listener_security_protocol_map=protocols)
    assert list(found(told)) == ["password-in-the-clear"]
    told["sasl.enabled.mechanisms"] = "SCRAM-SHA-256"
    assert list(found(told)) == ["login-not-offered"]


# --- running ---


@pytest.fixture
def doctor(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Ask:
    """What it prints, asked by a client of these settings."""

    def ask(kafka: Broker, **told: str) -> str:
        file = tmp_path / "client.properties"
        lines = (f"{name.replace('_', '.')}={text}\n" for name, text in told.items())
        file.write_text("".join(lines))
        main(["doctor", "--bootstrap-server", kafka.bootstrap, "--command-config", str(file)])
        return capfd.readouterr().out

    return ask


def login(user: str, password: str) -> dict[str, str]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_jaas_config": f'{SCRAM}username="{user}" password="{password}";',
    }


def test_a_running_broker_that_does_not_let_us_in(doctor: Ask) -> None:
    with SecuredBroker(
        {"listener.name.secured.sasl.enabled.mechanisms": "SCRAM-SHA-256"},
        protocol="SASL_PLAINTEXT",
    ) as kafka:
        kafka.users.add("alice", "secret")
        assert "(login-refused)" in doctor(kafka, **login("alice", "wrong"))
        other = login("alice", "secret") | {"sasl_mechanism": "SCRAM-SHA-512"}
        assert "the broker knows SCRAM-SHA-256" in doctor(kafka, **other)
        assert "it speaks" not in doctor(kafka, **login("alice", "secret"))
        assert "SASL_PLAINTEXT" in doctor(kafka, security_protocol="PLAINTEXT")
        assert "(security-protocol-differs)" in doctor(kafka, security_protocol="SSL")


def test_who_may_not_look_at_the_cluster_is_told_so(doctor: Ask) -> None:
    """Nobody's majority is in doubt because of that."""
    with SecuredBroker(protocol="SASL_PLAINTEXT") as kafka:
        kafka.users.add("alice", "secret")
        told = doctor(kafka, **login("alice", "secret"))
        assert told.count("(not-permitted)") == 1
        assert "no-majority" not in told
        kafka.acls.allow("alice", "describe", cluster=True)
        kafka.acls.allow("alice", "describe_configs", cluster=True)
        assert doctor(kafka, **login("alice", "secret")) == "nothing found\n"


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_what_a_listener_speaks_is_found_out(protocol: str) -> None:
    with SecuredBroker(protocol=protocol) as kafka:
        assert spoken_at(kafka.bootstrap, 10) == protocol


def test_what_a_listener_without_security_speaks() -> None:
    with Broker() as kafka:
        assert spoken_at(kafka.bootstrap, 10) == "PLAINTEXT"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert spoken_at(f"127.0.0.1:{port}", 1) is None
