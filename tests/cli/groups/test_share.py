"""`kafkapy groups` about share groups, against a real broker in this process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.finding import GROUP, coordinator
from kafkapy.cli.main import main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("jobs")
        for number in range(5):
            broker.produce("jobs", str(number))
        broker.wait_for("jobs", 5)
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main(["groups", *arguments, "--bootstrap-server", kafka.bootstrap])


def rows(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def begin(kafka: Broker, group: str, offset: int) -> None:
    """A group that was told where to begin, and has no member yet."""
    partitions = [{"partition_index": 0, "start_offset": offset}]
    topics = [{"topic_name": "jobs", "partitions": partitions}]
    with coordinator(kafka.bootstrap, GROUP, group) as client:
        body = {"group_id": group, "topics": topics}
        answer = client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, body)
    assert answer.responses[0].partitions[0].error_code == 0, answer


def beat(kafka: Broker, group: str, epoch: int) -> None:
    body = {
        "group_id": group,
        "member_id": "me",
        "member_epoch": epoch,
        "rack_id": None,
        "subscribed_topic_names": ["jobs"] if epoch == 0 else None,
    }
    with Client(kafka.bootstrap) as client:
        answer = client._ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, body)
    assert answer.error_code == 0, answer


def test_a_share_group_is_described_and_not_taken_for_another(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    begin(kafka, "workers", 2)
    capfd.readouterr()
    assert run(kafka, "describe", "workers", "--json") == 0
    assert rows(capfd) == [{"topic": "jobs", "partition": 0, "start": 2, "lag": 3}]
    assert run(kafka, "describe", "workers", "--members", "--json") == 0
    assert rows(capfd) == []


@pytest.mark.parametrize(
    ("way", "offset"),
    [
        ("--to-earliest", 0),
        ("--to-latest", 5),
        ("--to-current", 2),
        ("--to-offset=4", 4),
        ("--to-offset=400", 5),
        ("--shift-by=-1", 1),
        ("--to-datetime=1970-01-02T00:00+00:00", 0),
        ("--by-duration=0", 5),
    ],
)
def test_a_share_group_goes_on_elsewhere(
    kafka: Broker, capfd: pytest.CaptureFixture[str], way: str, offset: int
) -> None:
    begin(kafka, "moving", 2)
    capfd.readouterr()
    moved = {"topic": "jobs", "partition": 0, "from": 2, "to": offset}
    assert run(kafka, "reset-offsets", "moving", way, "--dry-run", "--json") == 0
    assert rows(capfd) == [moved]
    assert run(kafka, "describe", "moving", "--json") == 0
    assert rows(capfd)[0]["start"] == 2, "nothing was changed"
    assert run(kafka, "reset-offsets", "moving", way, "--json") == 0
    assert rows(capfd) == [moved]
    assert run(kafka, "describe", "moving", "--json") == 0
    assert rows(capfd) == [{"topic": "jobs", "partition": 0, "start": offset, "lag": 5 - offset}]


def test_a_share_group_is_sent_to_a_topic_that_it_has_not_read(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    begin(kafka, "curious", 2)
    kafka.create_topic("more", partitions=2)
    capfd.readouterr()
    assert run(kafka, "reset-offsets", "curious", "--topic=more:1", "--to-latest", "--json") == 0
    assert rows(capfd) == [{"topic": "more", "partition": 1, "from": None, "to": 0}]
    assert run(kafka, "reset-offsets", "curious", "--topic=more:7", "--to-latest") == 1
    assert "no partition 7" in capfd.readouterr().err


def test_an_active_share_group_is_left_alone_and_an_empty_one_deleted(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    begin(kafka, "busy", 2)
    beat(kafka, "busy", 0)
    capfd.readouterr()
    assert run(kafka, "reset-offsets", "busy", "--to-earliest") == 1
    assert "is active: stop its members first" in capfd.readouterr().err
    assert run(kafka, "delete", "busy") == 1
    assert "NON_EMPTY_GROUP" in capfd.readouterr().err
    beat(kafka, "busy", -1)
    assert run(kafka, "delete", "busy") == 0
    capfd.readouterr()
    assert run(kafka, "list", "--json") == 0
    assert "busy" not in [one["group"] for one in rows(capfd)]
    begin(kafka, "busy", 1)
    capfd.readouterr()
    assert run(kafka, "describe", "busy", "--json") == 0
    assert rows(capfd)[0]["start"] == 1
