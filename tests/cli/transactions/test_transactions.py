"""`kafkapy transactions` against a real broker in this process."""

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.finding import TRANSACTION, coordinator
from kafkapy.cli.main import main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.testing import Broker

# Without verification a client's mistake can still leave a transaction that hangs.
SETTINGS = {"transaction.partition.verification.enable": "false"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        broker.create_topic("orders", 2)
        yield broker


@pytest.fixture
def told(kafka: Broker, capfd: pytest.CaptureFixture[str]) -> "Told":
    return Told(kafka, capfd)


class Told:
    """Runs the command; what it said."""

    def __init__(self, kafka: Broker, capfd: pytest.CaptureFixture[str]) -> None:
        self._kafka, self._capfd = kafka, capfd

    def text(self, *arguments: str) -> str:
        assert main(["transactions", *arguments, "--bootstrap-server", self._kafka.bootstrap]) == 0
        return self._capfd.readouterr().out

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text(*arguments, "--json").splitlines()]

    def mistake(self, *arguments: str) -> str:
        assert main(["transactions", *arguments, "--bootstrap-server", self._kafka.bootstrap]) == 1
        said = self._capfd.readouterr().err
        assert said.count("\n") == 1
        return said


class Producer(NamedTuple):
    """A producer of protocol v1 that forgets to add its partitions if it is told to."""

    kafka: Broker
    transactional_id: str
    producer_id: int
    epoch: int

    @classmethod
    def started(cls, kafka: Broker, transactional_id: str) -> "Producer":
        body = {
            "transactional_id": transactional_id,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        with coordinator(kafka.bootstrap, TRANSACTION, transactional_id) as client:
            answer = client.ask(ApiKey.INIT_PRODUCER_ID, body)
        assert answer.error_code == 0
        return cls(kafka, transactional_id, answer.producer_id, answer.producer_epoch)

    def add(self, topic: str, partition: int) -> None:
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": [partition]}],
        }
        with Client(self.kafka.bootstrap) as client:
            answer = client._ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, body)
        row = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
        assert row.partition_error_code == 0

    def send(self, topic: str, partition: int, written_at: int | None = None) -> int:
        """The offset of a record of now, or of another time."""
        timestamp = int(time.time() * 1000) if written_at is None else written_at
        batch = build_batch(
            [NewRecord(None, b"v", timestamp)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=0,
            is_transactional=True,
        )
        body = {
            "transactional_id": self.transactional_id,
            "acks": -1,
            "timeout": 30_000,
            "topic_data": [
                {"name": topic, "partition_data": [{"index": partition, "records": batch}]}
            ],
        }
        with Client(self.kafka.bootstrap) as client:
            answer = client._ask(ApiKey.PRODUCE, 11, body)
        row = answer.responses[0].partition_responses[0]
        assert row.error_code == 0
        offset: int = row.base_offset
        return offset


LONG_AGO = 1_600_000_000_000


def test_an_open_transaction_is_listed_described_and_aborted(kafka: Broker, told: Told) -> None:
    producer = Producer.started(kafka, "shop-1")
    idle = Producer.started(kafka, "shop-2")
    producer.add("orders", 1)
    offset = producer.send("orders", 1)

    listed = told.rows("list", "--pattern", "shop-.*")
    assert [(one["id"], one["state"]) for one in listed] == [
        ("shop-1", "Ongoing"),
        ("shop-2", "Empty"),
    ]
    assert [one["id"] for one in told.rows("list", "--state", "Ongoing")] == ["shop-1"]
    by_producer = told.rows("list", "--producer-id", str(idle.producer_id))
    assert [one["id"] for one in by_producer] == ["shop-2"]
    assert told.rows("list", "--longer-than-ms", "3600000", "--state", "Ongoing") == []

    (described,) = told.rows("describe", "shop-1")
    assert described["epoch"] == 0
    assert described["open_for_ms"] >= 0
    (where,) = described["partitions"]
    assert (where["topic"], where["partition"], where["start_offset"]) == ("orders", 1, offset)
    assert "Ongoing" in told.text("describe", "shop-1")
    assert told.rows("find-hanging", "--topic", "orders:1", "--max-timeout-ms", "0") == []

    assert "aborted the transaction of shop-1" in told.text("abort", "shop-1")
    (described,) = told.rows("describe", "shop-1")
    assert (described["state"], described["partitions"]) == ("Empty", [])
    assert described["epoch"] > producer.epoch
    assert "nothing is open" in told.mistake("abort", "shop-1")


def test_a_transaction_that_hangs_is_found_and_aborted(kafka: Broker, told: Told) -> None:
    producer = Producer.started(kafka, "lost")
    offset = producer.send("orders", 0, LONG_AGO)
    slow = Producer.started(kafka, "slow")
    slow.add("orders", 0)
    slow.send("orders", 0, LONG_AGO)

    (found,) = told.rows("find-hanging")
    assert (found["topic"], found["partition"], found["start_offset"]) == ("orders", 0, offset)
    assert (found["id"], found["producer"]) == ("lost", producer.producer_id)
    assert found["last_write"].startswith("2020-09-13")
    assert told.rows("find-hanging", "--topic", "orders:1") == []

    place = ("--topic", "orders", "--partition", "0", "--start-offset")
    assert "no open transaction starts at 999" in told.mistake("abort", *place, "999")
    assert told.rows("abort", *place, str(offset)) == [
        {"aborted": "orders-0", "start_offset": offset, "producer": producer.producer_id}
    ]
    assert "no transaction hangs" in told.text("find-hanging")
    told.text("abort", "slow")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("describe", "nobody"), "nobody: TRANSACTIONAL_ID_NOT_FOUND"),
        (("abort", "nobody"), "nobody: TRANSACTIONAL_ID_NOT_FOUND"),
        (("abort",), "needs an id, or --topic"),
        (("abort", "nobody", "--topic", "orders"), "not both"),
        (("list", "--state", "Asleep"), "no such state: Asleep"),
        (("list", "--producer-id", "me"), "expected numbers"),
        (("list", "--pattern", "("), "INVALID_REGULAR_EXPRESSION"),
        (("find-hanging", "--topic", "orders:7"), "no partition 7"),
    ],
)
def test_a_mistake_is_one_line(told: Told, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in told.mistake(*arguments)
