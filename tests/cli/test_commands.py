"""The command line against a real broker in this process."""

import io
import json
import socket
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.main import main
from kafkapy.cli.topics.produce import _partitions
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.uuids import uuid_from_text, uuid_to_text
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main([*arguments, "--bootstrap-server", kafka.bootstrap])


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def test_a_topic_is_created_listed_altered_and_deleted(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "topics", "create", "life", "--partitions", "2", "--json") == 0
    made = json.loads(capfd.readouterr().out)
    assert made["partitions"] == 2
    assert uuid_to_text(uuid_from_text(made["id"])) == made["id"]  # as Kafka prints it
    assert run(kafka, "topics", "list") == 0
    assert made["id"] in capfd.readouterr().out.split()
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


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("[]", "expected an object"),
        ("{}", 'expected an object with a "value"'),
        ('{"value": 1, "partition": "x"}', "not a whole number"),
        ('{"value": 1, "partition": 1.5}', "not a whole number"),
        ('{"value": 1, "partition": 9}', "has no partition 9"),
        ('{"value": 1, "timestamp": "now"}', "not in milliseconds"),
        ('{"value": 1, "timestamp": 1.5}', "not in milliseconds"),
        ('{"value": 1, "timestamp": 99999999999999999999}', "not in milliseconds"),
        ('{"value": 1, "headers": "x"}', "headers"),
        ('{"value": 1, "headers": [["x"]]}', "headers"),
        ('{"value": 1, "headers": {"\\ud800": 1}}', "surrogates"),
        ('{"value": {"base64": "?"}}', "base64"),
    ],
)
def test_a_line_that_is_no_record_is_named(
    kafka: Broker,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    sentence: str,
) -> None:
    typed(monkeypatch, line + "\n")
    assert run(kafka, "produce", "refusing", "--format", "json") == 1
    told = capfd.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_what_consume_prints_produce_reads(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that are no text, headers that come twice, tombstones and times included."""
    line = (
        '{"partition": 0, "offset": 0, "timestamp": 1700000000000, "key": "k", '
        '"value": {"base64": "/wA="}, "headers": [["h", "1"], ["h", null]]}\n'
        '{"partition": 0, "offset": 1, "timestamp": 1700000000001, "key": "k", '
        '"value": null, "headers": []}\n'
    )
    typed(monkeypatch, line)
    assert run(kafka, "produce", "round", "--format", "json") == 0
    capfd.readouterr()
    assert run(kafka, "consume", "round", "--format", "json") == 0
    assert capfd.readouterr().out == line


def test_a_topic_that_is_being_created_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The broker makes it, and says that it does not know it until its leaders serve."""
    unknown = SimpleNamespace(error_code=3, partitions=[])
    made = SimpleNamespace(
        error_code=0,
        partitions=[
            SimpleNamespace(partition_index=0, leader_id=-1),
            SimpleNamespace(partition_index=1, leader_id=1),
        ],
    )
    answers = iter([unknown] * 60 + [made])
    slept: list[float] = []
    monkeypatch.setattr("kafkapy.cli.topics.produce.time.sleep", slept.append)
    client = SimpleNamespace(
        metadata=lambda topics, create: SimpleNamespace(topics=[next(answers)])
    )
    assert _partitions(client, "slow") == ([0, 1], [1])  # type: ignore[arg-type]  # what it asks of one
    assert len(slept) == 60


@pytest.mark.parametrize("start", ["²", "-3", "yesterday"])
def test_where_to_start_is_said_in_one_line(
    kafka: Broker, capfd: pytest.CaptureFixture[str], start: str
) -> None:
    assert run(kafka, "topics", "create", f"start-{ord(start[0])}") == 0
    assert run(kafka, "consume", f"start-{ord(start[0])}", f"--from={start}") == 1
    assert "expected start, end, an offset or a time" in capfd.readouterr().err


def test_a_partition_that_is_offline_does_not_hide_the_others(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One partition of two has no offsets to tell: describe shows the other's, for the topic
    and for a group; what cannot do without them says which it is."""
    assert run(kafka, "topics", "create", "half", "--partitions", "2") == 0
    typed(monkeypatch, "1\n2\n3\n4\n")
    assert run(kafka, "produce", "half") == 0
    assert run(kafka, "groups", "reset-offsets", "g", "--topic", "half", "--to-earliest") == 0
    known_offsets = Client.known_offsets

    def offline(
        client: Client, topic: str, timestamps: dict[int, int], *, committed: bool = False
    ) -> tuple[dict[int, int], dict[int, int]]:
        found, refused = known_offsets(client, topic, timestamps)
        del found[1]
        return found, {**refused, 1: ErrorCode.KAFKA_STORAGE_ERROR}

    monkeypatch.setattr(Client, "known_offsets", offline)
    capfd.readouterr()
    assert run(kafka, "topics", "describe", "half", "--json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["end"] for row in rows] == [2, None]
    assert run(kafka, "groups", "describe", "g", "--json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["lag"] for row in rows] == [2, None]
    assert run(kafka, "groups", "reset-offsets", "g", "--to-latest") == 1
    assert "half-1: KAFKA_STORAGE_ERROR" in capfd.readouterr().err


def test_each_topic_that_was_not_deleted_is_named(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "topics", "create", "there") == 0
    assert run(kafka, "topics", "delete", "gone-1", "there", "gone-2") == 1
    told = capfd.readouterr().err
    assert "gone-1" in told
    assert "gone-2" in told
    assert "there:" not in told


def test_a_full_disk_under_the_output_is_one_line(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(kafka, "topics", "create", "printed") == 0
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert run(kafka, "topics", "list") == 1
    assert capfd.readouterr().err == "kafkapy: cannot write the output: No space left on device\n"


def test_output_that_was_closed_is_no_failure(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert run(kafka, "topics", "list") == 0
    sys.stdout.close()


def test_what_is_no_broker_is_said_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            peer, _ = stranger.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{stranger.getsockname()[1]}"
        assert main(["topics", "list", "--bootstrap-server", address]) == 1
        thread.join()
    assert "is no Kafka broker" in capfd.readouterr().err


def test_nobody_at_the_address_is_said_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap-server", "127.0.0.1:1"]) == 1
    assert "cannot reach a broker at 127.0.0.1:1" in capfd.readouterr().err


def test_of_several_addresses_the_first_that_answers_is_asked(
    kafka: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["topics", "list", "--bootstrap-server", f"127.0.0.1:1, {kafka.bootstrap}"]) == 0
    monkeypatch.setenv("KAFKAPY_BOOTSTRAP_SERVER", kafka.bootstrap)
    assert main(["topics", "list"]) == 0
    monkeypatch.setenv("KAFKAPY_BOOTSTRAP_SERVER", "127.0.0.1:1,127.0.0.1:2")
    capfd.readouterr()
    assert main(["topics", "list"]) == 1
    assert "cannot reach a broker at 127.0.0.1:1,127.0.0.1:2: " in capfd.readouterr().err
