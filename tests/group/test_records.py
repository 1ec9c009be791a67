"""What Apache Kafka wrote is read, means what it meant, and is written back byte for byte."""

import dataclasses
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkapy.coordinator.registry import Registry
from kafkapy.core.errors import Corrupt
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import TransactionEnded
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.consumer.group import ConsumerGroup, ConsumerGroupState
from kafkapy.group.records import (
    KEY_CLASSES,
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    written_version,
)
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.share.state_partitions import Kept
from kafkapy.protocol.batches.batch import batches, records
from kafkapy.protocol.schemas.codec import encoder
from kafkapy.protocol.schemas.schema import plan
from tests.group.world import World

KAFKAS = Path(__file__).parent.parent / "fixtures" / "groups" / "consumer_offsets.log"


@pytest.fixture
def codec() -> Registry:
    return Registry(KEY_CLASSES, written_version)


@pytest.fixture
def loaded() -> World:
    world = World()
    world.log.batches = []
    data = KAFKAS.read_bytes()
    for position, header in batches(data):
        world.log.batches.append(data[position : position + header.size])
        world.log.end_offset = header.next_offset
    world.restart()
    return world


def test_every_record_of_apache_kafkas_is_written_back_as_it_was(codec: Registry) -> None:
    seen = set()
    data = KAFKAS.read_bytes()
    for position, header in batches(data):
        if header.is_control:
            continue
        for record in records(data[position : position + header.size]):
            assert record.key is not None
            decoded = codec.decode(record.key, record.value)
            assert decoded is not None
            assert codec.encode(decoded) == (record.key, record.value)
            seen.add(type(decoded[0]).__record_type__)
    assert seen >= {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16}


def test_the_groups_apache_kafka_left_are_here(loaded: World) -> None:
    groups = loaded.state.groups
    assert set(groups) == {"classic", "simple", "consumer", "mixed", "eos", "emptied", "sharers"}

    classic = groups["classic"]
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, classic.protocol_name) == (ClassicState.STABLE, "range")
    assert classic.subscribed_topics == frozenset({"orders"})
    assert set(classic.static_members) == {"static-1"}
    assert all(member.assignment for member in classic.members.values())

    consumer = groups["consumer"]
    assert isinstance(consumer, ConsumerGroup)
    assert consumer.state() is ConsumerGroupState.RECONCILING
    assert set(consumer.regexes) == {"(^ord.*)"}
    assert consumer.regexes["(^ord.*)"].topics == {"orders"}
    assert consumer.preferred_assignor() == "range"

    mixed = groups["mixed"]
    assert isinstance(mixed, ConsumerGroup)
    assert mixed.classic_count == 1
    owned = [sum(map(len, holding.assigned.values())) for _, holding in mixed.members()]
    assert owned == [2, 2]

    emptied = groups["emptied"]
    assert isinstance(emptied, ClassicGroup)
    assert (emptied.state, emptied.protocol_type) == (ClassicState.EMPTY, "consumer")
    sharers = groups["sharers"]
    assert isinstance(sharers, ShareGroup)
    assert sharers.epoch == 4
    assert sharers.is_empty
    (kept,) = sharers.state_partitions.initialized.values()
    assert kept == Kept("orders", frozenset(range(4)))


def test_the_offsets_apache_kafka_kept_are_here(loaded: World) -> None:
    fetched = loaded.fetch("orders", 0, group="classic")
    assert fetched.committed is not None
    assert (fetched.committed.offset, fetched.committed.metadata) == (7, "metadata \u20ac\0")
    assert loaded.committed("returns", 1, group="simple") == 12
    assert loaded.committed("returns", 0, group="emptied") == 3
    assert loaded.committed("orders", 0, group="eos") == 100
    assert loaded.committed("orders", 1, group="eos") == -1
    assert loaded.committed("orders", 2, group="eos") == -1
    assert loaded.state.offsets.is_pending("eos", TopicPartition("orders", 2))


def test_an_open_transaction_of_apache_kafkas_can_be_ended_here(loaded: World) -> None:
    (producer_id,) = loaded.state.offsets._open["eos"]
    loaded.shard.complete_transaction(
        TransactionEnded(producer_id, 0, 1, is_committed=True), lambda _: None
    )
    assert loaded.committed("orders", 2, group="eos") == 102


def example(schema: type[Any], nested: int = 0) -> Any:
    """An object of a record class with something in every field."""
    made = {}
    for part in (*plan(schema, 0).untagged, *plan(schema, 0).tagged):
        if part.struct is not None:
            value: Any = example(part.struct.schema, nested + 1)
        elif part.kind == "string":
            value = "x"
        elif part.kind == "bytes":
            value = b"y"
        elif part.kind == "uuid":
            value = UUID(int=9)
        else:
            value = 3
        made[part.name] = (value,) if part.is_array else value
    return schema(**made)


@pytest.mark.parametrize("key_class", KEY_CLASSES, ids=lambda one: one.__name__)
def test_every_type_survives_its_bytes(codec: Registry, key_class: type[Any]) -> None:
    key = example(key_class)
    value = example(key_class.__value_type__)
    if isinstance(value, OffsetCommitValue):
        value = dataclasses.replace(value, topic_id=None)
    encoded_key, encoded = codec.encode((key, value))
    assert encoded is not None
    assert codec.decode(encoded_key, encoded) == (key, value)
    assert codec.decode(encoded_key, None) == (key, None)
    assert codec.encode((key, None)) == (encoded_key, None)


def test_a_commit_with_an_expiry_is_written_as_version_1(codec: Registry) -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=0)
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=2, expire_timestamp=3)
    encoded_key, encoded = codec.encode((key, value))
    assert encoded is not None
    assert encoded[:2] == b"\x00\x01"
    assert codec.decode(encoded_key, encoded) == (key, value)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_older_versions_of_commits_are_read(codec: Registry, version: int) -> None:
    value = OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    data = version.to_bytes(2, "big") + encoder(OffsetCommitValue, version)(value)
    key = codec.encode((OffsetCommitKey(group="g", topic="t", partition=0), None))[0]
    decoded = codec.decode(key, data)
    assert decoded is not None
    assert decoded[1] == value


def test_commits_of_the_oldest_kind_count_too() -> None:
    world = World()
    key = LegacyOffsetCommitKey(group="old", topic="t", partition=0)
    value = LegacyOffsetCommitValue(offset=5, metadata="", commit_timestamp=1)
    world.state.apply((key, value))
    assert world.committed("t", 0, group="old") == 5
    world.state.apply((key, None))
    assert world.committed("t", 0, group="old") == -1


def test_types_of_the_future_are_skipped_and_versions_are_not(codec: Registry) -> None:
    assert codec.decode(b"\x00\x63whatever", b"\x00\x00") is None
    key = codec.encode((GroupMetadataKey(group="g"), None))[0]
    with pytest.raises(Corrupt, match="version 9"):
        codec.decode(key, b"\x00\x09")
    for data in (b"", b"\x00", b"\x00\x03\x00"):
        with pytest.raises(Corrupt):
            codec.decode(key, data)
    with pytest.raises(Corrupt):
        codec.decode(b"\x00", None)
    with pytest.raises(Corrupt):
        codec.decode(b"\x00\x02\x00\x09g", None)
