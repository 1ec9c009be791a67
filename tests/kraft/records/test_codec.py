"""Metadata records as Kafka frames them: bytes of a real log, and hostile ones."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.records.codec import (
    decode_record,
    decode_versioned,
    encode_record,
    version_to_write,
)
from kafkapy.kraft.records.metadata import (
    RECORDS,
    BrokerRegistrationChangeRecord,
    DelegationTokenRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.world.rng import SimRng
from tests.kraft import fixtures

ID = new_uuid(SimRng(1))


@pytest.mark.parametrize("name", fixtures.ALL)
def test_every_record_that_kafka_wrote_is_written_the_same_again(name: str) -> None:
    for record in fixtures.framed_of(name):
        assert record.value is not None
        decoded, version = decode_versioned(record.value)
        assert encode_record(decoded, version) == record.value


@pytest.mark.parametrize("name", fixtures.ALL)
def test_the_version_written_is_the_one_kafka_chose(name: str) -> None:
    for record in fixtures.framed_of(name):
        assert record.value is not None
        decoded, version = decode_versioned(record.value)
        assert version_to_write(decoded, 30) == version, decoded


def test_the_fixtures_hold_nearly_every_kind_of_record() -> None:
    seen = {type(record) for name in fixtures.ALL for _, record in fixtures.records_of(name)}
    # The rest is of ZooKeeper's days, of 4.4, or of what needs SASL to be made.
    assert {one.__name__ for one in set(RECORDS) - seen} == {
        "AbortTransactionRecord",
        "DelegationTokenRecord",
        "FenceBrokerRecord",
        "RemoveDelegationTokenRecord",
        "UnfenceBrokerRecord",
        "UnregisterBrokerRecord",
        "UnregisterControllerRecord",
        "ZkMigrationStateRecord",
    }


def test_a_topic_record_is_framed_as_written_down() -> None:
    raw = encode_record(TopicRecord(name="foo", topic_id=ID), 0)
    assert raw.hex() == "01020004666f6f" + ID.hex + "00"


def test_api_keys_are_unique() -> None:
    assert len({record.__api_key__ for record in RECORDS}) == len(RECORDS) == 27


@pytest.mark.parametrize(
    ("metadata_version", "broker", "partition"),
    [(7, 1, 0), (8, 2, 0), (16, 2, 0), (17, 3, 1), (22, 3, 1), (23, 3, 2), (29, 3, 2), (30, 4, 2)],
)
def test_versions_follow_the_metadata_version(
    metadata_version: int, broker: int, partition: int
) -> None:
    registration = RegisterBrokerRecord(
        broker_id=1, incarnation_id=ID, broker_epoch=1, end_points=(), features=()
    )
    assert version_to_write(registration, metadata_version) == broker
    state = PartitionRecord(topic_id=ID)
    assert version_to_write(state, metadata_version) == partition
    change = PartitionChangeRecord(topic_id=ID)
    assert version_to_write(change, metadata_version) == partition
    assert version_to_write(NoOpRecord(), metadata_version) == 0


@pytest.mark.parametrize(
    ("change", "version"),
    [
        ({"fenced": 1}, 0),
        ({"in_controlled_shutdown": 1}, 1),
        ({"log_dirs": (ID,), "fenced": -1}, 2),
        ({"cordoned_log_dirs": ()}, 3),
    ],
)
def test_a_registration_change_is_written_in_the_lowest_version_that_can_say_it(
    change: dict[str, Any], version: int
) -> None:
    record = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, **change)
    assert version_to_write(record, 30) == version
    assert decode_record(encode_record(record, version)) == record


def test_what_a_version_cannot_say_is_left_out() -> None:
    record = PartitionRecord(topic_id=ID, replicas=(1,), directories=(ID,), last_known_elr=(1,))
    assert decode_record(encode_record(record, 0)) == PartitionRecord(topic_id=ID, replicas=(1,))


def test_a_delegation_token_survives() -> None:
    token = DelegationTokenRecord(
        owner="User:a",
        requester="User:b",
        renewers=("User:c", "User:d"),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="t",
    )
    assert decode_record(encode_record(token, 0)) == token


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x01",
        b"\x01\x14",
        b"\x00\x14\x00\x00",  # frame version 0
        b"\x02\x14\x00\x00",
        b"\x01\x06\x00\x00",  # an api key that is not used
        b"\x01\x14\x01\x00",  # a version that does not exist
        b"\x01\x14\x00\x00\x00",  # one byte too many
        b"\x01\x02\x00\x04fo",  # cut short
        b"\xff" * 20,
    ],
)
def test_what_is_not_exactly_one_frame_is_corrupt(raw: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_record(raw)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_corrupt_or_a_record(raw: bytes) -> None:
    try:
        record, version = decode_versioned(b"\x01" + raw)
    except Corrupt:
        return
    decode_record(encode_record(record, version))


@given(st.data())
def test_a_damaged_record_is_corrupt_or_another_record(data: st.DataObject) -> None:
    good = [record.value or b"" for record in fixtures.framed_of(fixtures.LOGS[1])]
    raw = bytearray(data.draw(st.sampled_from(good)))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Corrupt):
        decode_record(bytes(raw))
