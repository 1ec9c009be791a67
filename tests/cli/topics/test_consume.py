"""`kafkapy consume`: what it leaves out, and where it ends."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kafkapy.cli.main import main
from kafkapy.testing import Broker


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders")
        yield broker


def consume(kafka: Broker, *arguments: str) -> int:
    return main(["consume", "orders", *arguments, "--bootstrap-server", kafka.bootstrap])


def transactional(kafka: Broker, name: str = "shop") -> Producer:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions(10)
    return producer


def test_every_aborted_transaction_of_a_producer_is_left_out(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """One producer, several of both kinds in one answer: none hides or shows another's."""
    producer = transactional(kafka)
    for number, is_kept in enumerate([True, False, True, False, False, True]):
        producer.begin_transaction()
        producer.produce("orders", f"{number} {'kept' if is_kept else 'aborted'}")
        producer.flush(10)
        if is_kept:
            producer.commit_transaction(10)
        else:
            producer.abort_transaction(10)
    assert consume(kafka, "--committed") == 0
    assert capfd.readouterr().out.splitlines() == ["0 kept", "2 kept", "5 kept"]
    assert consume(kafka, "--committed", "--from", "3") == 0
    assert capfd.readouterr().out.splitlines() == ["2 kept", "5 kept"]


def test_an_open_transaction_is_not_waited_for(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.produce("orders", "before")
    producer = transactional(kafka)
    producer.begin_transaction()
    producer.produce("orders", "open")
    producer.flush(10)
    kafka.produce("orders", "behind")
    assert consume(kafka, "--committed") == 0
    assert capfd.readouterr().out.splitlines() == ["before"]
    assert consume(kafka) == 0
    assert capfd.readouterr().out.splitlines() == ["before", "open", "behind"]
    producer.abort_transaction(10)
