"""The command line against a real broker in this process."""

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main([*arguments, "--server", kafka.bootstrap])


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def test_a_topic_is_created_listed_altered_and_deleted(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "topics", "create", "life", "--partitions", "2", "--json") == 0
    assert json.loads(capfd.readouterr().out)["partitions"] == 2
    assert run(kafka, "topics", "alter", "life", "--partitions", "3") == 0
    assert run(kafka, "topics", "alter", "life", "--config", "retention.ms=5000") == 0
    assert run(kafka, "topics", "describe", "life", "--json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["partition"] for row in rows] == [0, 1, 2]
    assert run(kafka, "topics", "configs", "life") == 0
    assert "retention.ms" in capfd.readouterr().out
    assert run(kafka, "topics", "delete", "life") == 0
    assert run(kafka, "topics", "list", "--json") == 0
    assert "life" not in capfd.readouterr().out


def test_records_go_in_and_come_out_with_keys_and_headers(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(kafka, "topics", "create", "notes", "--partitions", "1") == 0
    typed(monkeypatch, "a:1\nb:2\n")
    assert run(kafka, "produce", "notes", "--format", "key:value", "--compression", "zstd") == 0
    typed(monkeypatch, '{"key": "c", "value": {"n": 3}, "headers": {"h": "x"}}\n')
    assert run(kafka, "produce", "notes", "--format", "json") == 0
    capfd.readouterr()
    assert run(kafka, "consume", "notes", "--format", "json", "--from", "1") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(row["offset"], row["key"], row["value"]) for row in rows] == [
        (1, "b", "2"),
        (2, "c", '{"n": 3}'),
    ]
    assert rows[1]["headers"] == [["h", "x"]]
    assert run(kafka, "consume", "notes", "--max", "1") == 0
    assert capfd.readouterr().out == "1\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("topics", "describe", "missing"), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("topics", "create", "x", "--config", "novalue"), "expected KEY=VALUE"),
        (("topics", "create", "x", "--config", "retention.ms=soon"), "retention.ms"),
        (("consume", "missing"), "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_1(
    kafka: Broker, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert run(kafka, *arguments) == 1
    told = capfd.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_nobody_at_the_address_is_said_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--server", "127.0.0.1:1"]) == 1
    assert "cannot reach a broker at 127.0.0.1:1" in capfd.readouterr().err
