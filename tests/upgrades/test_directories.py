"""The directory of version 0.1.0, under this one: all is there, and what was begun goes on."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from kafkapy.cli.main import main
from kafkapy.testing import Broker, Record
from tests.upgrades.contents import (
    ABORTED,
    ARCHIVE,
    COMMITTED,
    GROUPS,
    IN_TRANSACTION,
    LATEST,
    LATEST_GONE,
    MESSAGE_MAX_BYTES,
    OPEN,
    PLAIN,
    TOPICS,
    Written,
)

# The archive grows old: nobody's offsets may expire for that.
SETTINGS = {"offsets.retention.minutes": str(2**31 - 1)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


@pytest.fixture
def kafka(data: Path) -> Iterator[Broker]:
    with Broker(SETTINGS, directory=data) as broker:
        yield broker


def of(records: list[Record], partition: int) -> list[tuple[bytes | None, bytes | None, int]]:
    found = [one for one in records if one.partition == partition]
    return [(one.key, one.value, one.timestamp) for one in found]


def committed(kafka: Broker, group: str) -> dict[int, int]:
    return {where.partition: offset for where, offset in kafka.committed(group).items()}


def test_topics_have_their_partitions_settings_and_records(kafka: Broker) -> None:
    """Also the settings of the broker itself."""
    there = kafka.topics()
    assert {name: there[name] for name in TOPICS} == {
        name: one for name, (one, _) in TOPICS.items()
    }
    found = kafka.records("plain")
    for partition in (0, 1):
        wrote = [(one.key, one.value, one.at) for one in PLAIN if one.partition == partition]
        assert of(found, partition) == wrote
    assert [one.value for one in kafka.records("latest")] == [
        *(one.value for one in LATEST),
        None,
    ]
    settings = config(kafka, ResourceType.TOPIC, "latest")
    assert settings["cleanup.policy"] == "compact"
    assert config(kafka, ResourceType.BROKER, "1")["message.max.bytes"] == MESSAGE_MAX_BYTES
    assert LATEST_GONE in {one.key for one in kafka.records("latest")}


def config(kafka: Broker, kind: ResourceType, name: str) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (asked,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    return {key: one.value for key, one in asked.result(30).items()}


def test_groups_of_both_protocols_go_on_where_they_were(kafka: Broker) -> None:
    for group, (_, offsets) in GROUPS.items():
        assert committed(kafka, group) == offsets
    group, in_transaction = IN_TRANSACTION
    assert committed(kafka, group) == in_transaction
    for group, (protocol, offsets) in GROUPS.items():
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "error",
            }
        )
        consumer.subscribe(["plain"])
        left = [one for at, offset in offsets.items() for one in in_partition(at)[offset:]]
        seen: set[bytes | None] = set()
        while len(seen) < len(left):
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None, message.error()
            seen.add(message.key())
        consumer.close()
        assert seen == {one.key for one in left}


def in_partition(index: int) -> list[Written]:
    return [one for one in PLAIN if one.partition == index]


def test_transactions_are_what_they_were_and_the_open_one_can_be_ended(kafka: Broker) -> None:
    """Its producer comes back and fences its former self: what it left open is aborted."""
    outcomes = [(one.value, one.transaction) for one in kafka.records("paid")]
    assert outcomes[:4] == [
        *((value, "committed") for value in COMMITTED),
        *((value, "aborted") for value in ABORTED),
    ]
    (left,) = outcomes[4:]
    assert left[0] == OPEN[0]
    assert left[1] in ("open", "aborted"), "its time may be up by now"
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "open"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("paid", b"after", partition=0)
    producer.commit_transaction(30)
    assert read_committed(kafka, until=b"after") == [*COMMITTED, b"after"]


def read_committed(kafka: Broker, until: bytes) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition("paid", 0, 0)])
    values: list[bytes | None] = []
    while until not in values:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None, message.error()
        values.append(message.value())
    consumer.close()
    return values


def test_it_is_written_to_and_opened_again_and_features_are_raised(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A level of before is lowered and raised, as after an upgrade of the last node."""
    with Broker(SETTINGS, directory=data) as broker:
        before = len(broker.records("plain"))
        broker.produce("plain", "new")
        at = ("--bootstrap-server", broker.bootstrap)
        assert main(["features", "downgrade", "transaction.version=1", *at]) == 0
        assert main(["features", "upgrade", *at]) == 0
        assert "transaction.version" in capfd.readouterr().out
    with Broker(SETTINGS, directory=data) as broker:
        assert len(broker.records("plain")) == before + 1
        at = ("--bootstrap-server", broker.bootstrap)
        assert main(["features", "upgrade", *at]) == 0
        assert "nothing to change" in capfd.readouterr().out
