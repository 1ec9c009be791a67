"""`kafkapy dead-letters` against a real broker in this process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker

TOPIC = "orders.dead"


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.create_topic("elsewhere")
        broker.create_topic(TOPIC)
        yield broker


def run(kafka: Broker, action: str, *arguments: str) -> int:
    return main(["dead-letters", action, TOPIC, *arguments, "--bootstrap-server", kafka.bootstrap])


def shown(kafka: Broker, capfd: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    capfd.readouterr()
    assert run(kafka, "show", "--json", *arguments) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def bury(
    kafka: Broker, value: str, reason: str, origin: str = "orders", partition: int = 1
) -> None:
    headers = {
        "kafkapy.origin.topic": origin,
        "kafkapy.origin.partition": str(partition),
        "kafkapy.origin.offset": "7",
        "kafkapy.attempts": "3",
        "kafkapy.error": reason,
        "trace": "t1",
    }
    kafka.produce(TOPIC, value, key=f"key of {value}", headers=headers)


def test_they_are_counted_by_reason_and_shown(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "list") == 0
    assert "no dead letters" in capfd.readouterr().out
    for number in range(3):
        bury(kafka, f"a{number}", "ValueError: no")
    bury(kafka, "b", "Timeout: late", "elsewhere", 0)
    kafka.wait_for(TOPIC, 4)
    assert run(kafka, "list", "--json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(row["count"], row["origin"], row["reason"]) for row in rows] == [
        (3, "orders", "ValueError: no"),
        (1, "elsewhere", "Timeout: late"),
    ]
    (row,) = shown(kafka, capfd, "--reason", "Timeout")
    assert (row["partition"], row["offset"]) == (0, 3)
    assert (row["origin"], row["key"], row["value"]) == ("elsewhere-0@7", "key of b", "b")
    assert len(shown(kafka, capfd, "--origin", "orders")) == 3
    assert len(shown(kafka, capfd, "--max", "2")) == 2


def test_replayed_they_are_back_as_they_were_and_over(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    bury(kafka, "a", "ValueError: no")
    bury(kafka, "b", "Timeout: late")
    bury(kafka, "c", "ValueError: no")
    kafka.wait_for(TOPIC, 3)
    assert run(kafka, "replay", "--reason", "Timeout") == 0
    assert "1 replayed" in capfd.readouterr().out
    (back,) = kafka.wait_for("orders")
    assert (back.partition, back.key, back.value) == (1, b"key of b", b"b")
    assert dict(back.headers) == {"trace": b"t1"}, "it begins anew"
    assert [row["value"] for row in shown(kafka, capfd)] == ["a", "c"]
    assert run(kafka, "replay", "--to", "elsewhere") == 0
    assert [one.value for one in kafka.wait_for("elsewhere", 2)] == [b"a", b"c"]
    assert shown(kafka, capfd) == []
    assert kafka.records(TOPIC) == [], "nothing is kept of what is over"
    assert run(kafka, "replay") == 0
    assert len(kafka.records("orders")) == 1, "none is replayed twice"


def test_dropped_ones_are_over_in_the_middle_too(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    for value, reason in (("a", "keep"), ("b", "drop"), ("c", "drop"), ("d", "keep")):
        bury(kafka, value, reason)
    kafka.wait_for(TOPIC, 4)
    assert run(kafka, "drop", "--reason", "drop") == 0
    assert "2 dropped" in capfd.readouterr().out
    assert [row["value"] for row in shown(kafka, capfd)] == ["a", "d"]
    bury(kafka, "e", "drop")
    kafka.wait_for(TOPIC, 6)
    assert [row["value"] for row in shown(kafka, capfd)] == ["a", "d", "e"]
    assert run(kafka, "drop") == 0
    assert shown(kafka, capfd) == []


def test_of_a_topic_without_dead_letters_nothing_is_dropped_by_mistake(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.produce(TOPIC, "an order")
    bury(kafka, "a letter", "ValueError: no")
    kafka.wait_for(TOPIC, 2)
    assert run(kafka, "drop", "--dry-run") == 1
    assert "1 would be dropped" in capfd.readouterr().out
    assert len(shown(kafka, capfd)) == 2
    assert run(kafka, "drop") == 1
    assert "1 records have no header that makes them dead letters" in capfd.readouterr().err
    assert [row["value"] for row in shown(kafka, capfd)] == ["an order"]
    assert run(kafka, "drop", "--reason", "unknown") == 0
    assert shown(kafka, capfd) == []


def test_letters_of_others_are_understood(kafka: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    """A share group's, whose content is in the origin; Connect's; Spring's with its numbers."""
    kafka.produce("elsewhere", "whole", key="k")
    kafka.wait_for("elsewhere")

    def others(convention: str, facts: dict[str, str]) -> dict[str, str]:
        return {f"__{convention}.errors.{name}": it for name, it in facts.items()}

    share = {"topic": "elsewhere", "partition": "0", "offset": "0", "message": "too often"}
    kafka.produce(TOPIC, None, headers=others("dlq", share))
    connect = {"topic": "orders", "partition": "0", "offset": "4", "exception.message": "bad"}
    kafka.produce(TOPIC, "c", headers=others("connect", connect))
    spring = {
        "kafka_dlt-original-topic": b"orders",
        "kafka_dlt-original-partition": (1).to_bytes(4, "big"),
        "kafka_dlt-original-offset": (9).to_bytes(8, "big"),
        "kafka_dlt-exception-message": b"worse",
    }
    kafka.produce(TOPIC, "s", headers=spring)
    kafka.produce(TOPIC, "nobody's")
    kafka.wait_for(TOPIC, 4)
    rows = shown(kafka, capfd)
    assert [(row["origin"], row["reason"]) for row in rows] == [
        ("elsewhere-0@0", "too often"),
        ("orders-0@4", "bad"),
        ("orders-1@9", "worse"),
        (None, "unknown"),
    ]
    assert run(kafka, "replay", "--origin", "elsewhere") == 0
    assert [(one.key, one.value) for one in kafka.wait_for("elsewhere", 2)] == [
        (b"k", b"whole")
    ] * 2
    assert run(kafka, "replay") == 1
    assert "--to" in capfd.readouterr().err
