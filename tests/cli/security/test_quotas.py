"""`kafkapy quotas` against a real broker in this process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main(["quotas", *arguments, "--bootstrap-server", kafka.bootstrap])


def described(
    kafka: Broker, capfd: pytest.CaptureFixture[str], *arguments: str
) -> list[dict[str, Any]]:
    capfd.readouterr()
    assert run(kafka, "describe", *arguments, "--json") == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_quotas_are_set_described_and_removed(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    alter = ("alter", "--user", "alice", "--client-id-default", "--set", "producer-byte-rate=1000")
    assert run(kafka, *alter, "--dry-run") == 0
    assert described(kafka, capfd) == []
    assert run(kafka, *alter) == 0
    assert run(kafka, "alter", "--ip", "10.0.0.1", "--set", "connection-creation-rate=5") == 0
    row = {
        "user": "alice",
        "client_id": "(default)",
        "ip": None,
        "key": "producer_byte_rate",
        "value": 1000.0,
    }
    assert row in described(kafka, capfd)
    assert described(kafka, capfd, "--user", "alice") == [row]
    assert described(kafka, capfd, "--user", "alice", "--strict") == []
    assert len(described(kafka, capfd, "--ip", "10.0.0.1")) == 1
    whose = ("--user", "alice", "--client-id-default")
    assert run(kafka, "alter", *whose, "--remove", "producer_byte_rate") == 0
    assert described(kafka, capfd, "--user", "alice") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("alter", "--set", "producer-byte-rate=1"), "say whose"),
        (("alter", "--user", "a"), "say what"),
        (("alter", "--user", "a", "--set", "speed=1"), "expected one of"),
        (("alter", "--user", "a", "--set", "producer-byte-rate=fast"), "KEY=NUMBER"),
        (("alter", "--user", "a", "--set", "producer-byte-rate=-1"), "greater than 0"),
        (("alter", "--user", "a", "--set", "connection-creation-rate=1"), "INVALID_REQUEST"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    kafka: Broker, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    capfd.readouterr()
    assert run(kafka, *arguments) == 1
    assert sentence in capfd.readouterr().err
