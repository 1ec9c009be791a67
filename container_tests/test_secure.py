"""compose.secure.yaml: who is known gets in and does what it may; nobody else does."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.waiting import wait_for
from container_tests.conftest import MakeCompose
from container_tests.engine import ROOT, Compose
from container_tests.test_compose import bootstrap, goes_round

SECURE = Path("docker/compose.secure.yaml")
PASSWORD = "alice's secret"


class Secure:
    def __init__(self, compose: MakeCompose, ports: list[int], certificates: Path) -> None:
        subprocess.run([ROOT / "docker/secure/make-certificates", certificates], check=True)
        told = {f"KAFKAPY_PORT_{number}": str(port) for number, port in enumerate(ports, 1)}
        self.compose: Compose = compose(SECURE, KAFKAPY_CERTIFICATES=str(certificates), **told)
        self.compose("up", "--detach", "--wait", "--no-build")
        self._settings = {
            "bootstrap.servers": bootstrap(ports),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "ssl.ca.location": str(certificates / "authority.pem"),
            "log_level": "0",
        }

    def kafkapy(self, *arguments: str) -> str:
        return self.compose("exec", "--no-TTY", "kafka-1", "kafkapy", *arguments)

    def add(self, user: str, password: str) -> None:
        add = 'printf %s "$0" | kafkapy users add "$1"'
        self.compose("exec", "--no-TTY", "kafka-1", "sh", "-c", add, password, user)

    def login(self, user: str, password: str) -> dict[str, Any]:
        return {**self._settings, "sasl.username": user, "sasl.password": password}


@pytest.fixture
def secure(compose: MakeCompose, ports: list[int], tmp_path: Path) -> Secure:
    return Secure(compose, ports, tmp_path / "certificates")


def why_not(given: dict[str, Any]) -> int:
    heard: list[KafkaError] = []
    own: dict[str, Any] = {**given, "error_cb": heard.append}
    admin = AdminClient(own)

    def told() -> int | None:
        admin.poll(0.2)
        serious = (KafkaError._AUTHENTICATION, KafkaError._SSL)
        return next((one.code() for one in heard if one.code() in serious), None)

    return wait_for("a refusal", told)


def test_alice_does_what_she_may_and_nobody_else_gets_in(secure: Secure, tmp_path: Path) -> None:
    secure.add("alice", PASSWORD)
    secure.kafkapy("acls", "add", "--topic", "alice.", "--prefixed", "--allow", "User:alice",
                   "--operation", "all")  # fmt: skip
    secure.kafkapy("acls", "add", "--group", "g", "--allow", "User:alice", "--operation", "read")
    alice = secure.login("alice", PASSWORD)
    admin = AdminClient(alice)
    for done in admin.create_topics([NewTopic("alice.orders", 3, 3)]).values():
        done.result(60)
    goes_round(alice["bootstrap.servers"], "alice.orders", settings=alice)
    (refused,) = admin.create_topics([NewTopic("bobs", 1, 3)]).values()
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        refused.result(60)
    assert why_not(secure.login("alice", "another")) == KafkaError._AUTHENTICATION
    assert why_not(secure.login("mallory", PASSWORD)) == KafkaError._AUTHENTICATION
    stranger = {**alice, "ssl.ca.location": str(other_authority(tmp_path))}
    assert why_not(stranger) == KafkaError._SSL
    nobody = Producer({"bootstrap.servers": alice["bootstrap.servers"], "log_level": 0})
    with pytest.raises(Exception, match="_TRANSPORT"):
        nobody.list_topics(timeout=5)
    for text in (PASSWORD, "PRIVATE KEY"):
        assert text not in secure.compose("logs", "--no-color")


def other_authority(directory: Path) -> Path:
    made = directory / "others"
    subprocess.run([ROOT / "docker/secure/make-certificates", made], check=True)
    return made / "authority.pem"
