"""`kafkapy quorum` against a broker in this process, through it and its controller."""

import json
from collections.abc import Iterator

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main(["quorum", *arguments, "--bootstrap-server", kafka.bootstrap])


def test_status_names_every_replica(kafka: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(kafka, "status", "--json") == 0
    (row,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (row["node"], row["role"], row["lag"]) == (1, "leader", 0)
    controller = row["address"]
    assert main(["quorum", "status", "--bootstrap-server", controller]) == 0
    assert "leader" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "2"), "expected ID@HOST:PORT"),
        (("add", "2@127.0.0.1:9093"), "is it running"),
        (("add", "2@127.0.0.1:9093", "--directory", "x"), "base64"),
        (("add", "1@127.0.0.1:9093", "--directory", "JEXY6aqzQY-32P5TStzaFg"), "DUPLICATE_VOTER"),
        (("remove", "2"), "no node 2 votes"),
        (("remove", "1"), "VOTER_NOT_FOUND"),
    ],
)
def test_what_cannot_be_is_told(
    kafka: Broker, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    assert run(kafka, *arguments) == 1
    assert told in capfd.readouterr().err
