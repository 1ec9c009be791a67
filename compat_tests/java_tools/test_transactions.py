"""`kafka-transactions`: list, describe, describe-producers, find-hanging, abort."""

import re
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create, producer, read, write
from compat_tests.java_tools.hanging import LOOK_AWAY, leave_hanging
from compat_tests.java_tools.tools import failing, tool
from compat_tests.targets import Server
from compat_tests.waiting import PATIENCE_S

TOOL = "kafka-transactions"
COMMITTED = {"isolation.level": "read_committed"}


@pytest.fixture
def transactional_id() -> str:
    return f"txn-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def open_transaction(broker: str, topic: str, transactional_id: str) -> Iterator[Producer]:
    create(broker, topic, partitions=2)
    client = producer(broker, {"transactional.id": transactional_id})
    client.init_transactions(PATIENCE_S)
    client.begin_transaction()
    for partition in (0, 1):
        client.produce(topic, b"open", partition=partition)
    client.flush(PATIENCE_S)
    yield client
    client.abort_transaction(PATIENCE_S)


@covers("txn-describe")
def test_an_open_transaction_is_listed_by_every_filter(
    broker: str, open_transaction: Producer, transactional_id: str
) -> None:
    said = tool(TOOL, broker, "list")
    row = re.search(rf"^{transactional_id}\s+(\d+)\s+(\d+)\s+Ongoing", said, re.MULTILINE)
    assert row is not None, said
    pattern = f"{transactional_id[:-1]}."
    assert transactional_id in tool(TOOL, broker, "list", "--transactional-id-pattern", pattern)
    assert transactional_id not in tool(TOOL, broker, "list", "--duration-filter", "3600000")


@covers("txn-describe", "describe-producers")
def test_it_is_described_with_its_partitions_and_they_with_their_producers(
    broker: str, topic: str, open_transaction: Producer, transactional_id: str
) -> None:
    said = tool(TOOL, broker, "describe", "--transactional-id", transactional_id)
    assert re.search(rf"{transactional_id}\s.*Ongoing", said), said
    assert f"{topic}-0" in said
    assert f"{topic}-1" in said
    said = tool(TOOL, broker, "describe-producers", "--topic", topic, "--partition", "1")
    header, row = said.strip().splitlines()
    columns = dict(zip(header.split(), row.split(), strict=True))
    assert columns["ProducerEpoch"] == "0"
    assert columns["CurrentTransactionStartOffset"] == "0"
    missing = failing(TOOL, broker, "describe", "--transactional-id", "nobody")
    assert "the ID could not be found" in missing


@covers("txn-admin-abort")
def test_a_hanging_transaction_is_found_and_aborted(
    own_server: Callable[..., Server], topic: str, transactional_id: str
) -> None:
    broker = own_server(LOOK_AWAY).bootstrap
    create(broker, topic)
    producer_id, offset = leave_hanging(broker, topic, transactional_id)
    write(broker, topic, [b"behind it"])

    said = tool(TOOL, broker, "find-hanging", "--broker-id", "1")
    (row,) = [line.split() for line in said.splitlines() if line.startswith(topic)]
    assert row[:5] == [topic, "0", str(producer_id), "0", row[4]], said
    assert str(offset) in row

    where = ["--topic", topic, "--partition", "0", "--start-offset", str(offset)]
    tool(TOOL, broker, "abort", *where)
    assert topic not in tool(TOOL, broker, "find-hanging", "--broker-id", "1")
    (message,) = read(broker, topic, 1, settings=COMMITTED)
    assert message.value() == b"behind it"
