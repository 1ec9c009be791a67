import io
import struct
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar
from uuid import UUID

import pytest
from kio.schema.index import api_key_map
from kio.serial import entity_writer

from kafkapy.core.errors import CannotEncode, Corrupt, ErrorCode
from kafkapy.protocol.schemas.codec import decoder, encoder
from kafkapy.protocol.schemas.schema import (
    array,
    int16,
    int32,
    int64,
    plan,
    string,
    uuid,
)
from kafkapy.protocol.schemas.schema import struct as structure
from tests.protocol.samples import Samples, schemas_of

APIS = sorted(api_key_map)


def kio_bytes(value: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(value))(out, value)
    return out.getvalue()


def as_dict(value: Any) -> Any:
    """The same message as a tree of dicts, with plain integers for codes and durations."""
    if is_dataclass(value):
        return {part.name: as_dict(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple):
        return [as_dict(one) for one in value]
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    return int(value) if type(value).__name__ == "ErrorCode" else value


@pytest.mark.parametrize("api_key", APIS, ids=lambda key: api_key_map[key])
def test_every_message_is_written_as_kio_writes_it_and_read_back_the_same(api_key: int) -> None:
    for schema in schemas_of(api_key):
        version = schema.__version__  # type: ignore[attr-defined]  # every kio schema has one
        what = plan(schema, version)
        encode, decode = encoder(schema), decoder(schema)
        for seed in range(4):
            value = Samples(seed).of(what)
            raw = kio_bytes(value)
            assert encode(value) == raw, (schema, value)
            assert encode(as_dict(value)) == raw, (schema, value)
            assert decode(raw, 0) == (value, len(raw))
            assert decode(memoryview(b"pad" + raw + b"behind"), 3) == (value, len(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    epoch: int = int32()
    note: str = string(since=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    __flexible_since__: ClassVar[int] = 1

    number: int = int16()
    topic_id: UUID | None = uuid(since=1)
    old: int = int64(until=0, default=-1)
    ids: tuple[UUID | None, ...] = array("uuid", since=1)
    numbers: tuple[int, ...] | None = array("int8")
    inner: Inner | None = structure(since=1, default=None)
    tagged_inner: Inner | None = structure(since=1, tag=0)
    tagged_plain: Inner = structure(since=1, tag=3, default=Inner(epoch=-1))
    tagged_number: int = int32(since=1, tag=7, default=-1)


SAMPLE = Outer(
    number=258,
    topic_id=UUID(int=1),
    ids=(UUID(int=2), None),
    numbers=(1, -1),
    inner=Inner(epoch=5, note="é"),
    tagged_inner=Inner(epoch=7, note=""),
    tagged_plain=Inner(epoch=8, note="p"),
    tagged_number=9,
)


def test_our_own_record_in_all_its_versions() -> None:
    assert encoder(Outer, 0)(SAMPLE).hex() == "0102" + "ff" * 8 + "0000000201ff"
    read, size = decoder(Outer, 0)(encoder(Outer, 0)(SAMPLE), 0)
    assert read == Outer(number=258, numbers=(1, -1))
    assert size == 16
    raw = encoder(Outer, 1)(SAMPLE)
    assert raw.hex() == (
        "0102"
        + f"{1:032x}"
        + f"03{2:032x}{0:032x}"
        + "0301ff"
        + "01 00000005 03c3a9 00".replace(" ", "")
        # three tags; the nullable struct has its 0x01, the other has none
        + "03"
        + "00 07 01 00000007 01 00".replace(" ", "")
        + "03 07 00000008 0270 00".replace(" ", "")
        + "07 04 00000009".replace(" ", "")
    )
    assert decoder(Outer, 1)(raw, 0) == (SAMPLE, len(raw))


def test_defaults_are_written_where_untagged_and_left_out_where_tagged() -> None:
    raw = encoder(Outer, 1)({"number": 1})
    assert raw.hex() == "0001" + "00" * 16 + "01" + "00" + "ff" + "00"
    assert decoder(Outer, 1)(raw, 0)[0] == Outer(
        number=1, numbers=None, tagged_plain=Inner(epoch=-1)
    )
    same = {"number": 1, "tagged_plain": {"epoch": -1}, "tagged_number": -1}
    assert encoder(Outer, 1)(same) == raw


@dataclass(frozen=True, slots=True, kw_only=True)
class NullIsNotAbsent:
    inner: Inner | None = structure(tag=0, default=Inner(epoch=0))


def test_a_tagged_null_is_written_where_absence_means_something_else() -> None:
    """Apache Kafka's ConsumerGroupMemberMetadataValue has such a field."""
    encode, decode = encoder(NullIsNotAbsent, 0), decoder(NullIsNotAbsent, 0)
    assert encode({"inner": None}).hex() == "01 00 01 00".replace(" ", "")
    assert decode(encode({"inner": None}), 0)[0].inner is None
    assert encode({}).hex() == "00"
    assert decode(encode({}), 0)[0].inner == Inner(epoch=0)


def test_dicts_and_objects_may_be_mixed() -> None:
    tree = as_dict(SAMPLE)
    assert encoder(Outer, 1)(tree) == encoder(Outer, 1)(SAMPLE)
    assert encoder(Outer, 1)({**tree, "inner": SAMPLE.inner}) == encoder(Outer, 1)(SAMPLE)
    assert encoder(Outer, 1)(MappingProxyType(tree)) == encoder(Outer, 1)(SAMPLE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 70_000},
        {"number": "one"},
        {"number": 1, "inner": {"epoch": None}},
        {"number": 1, "inner": {"note": "\ud800"}},
        {"number": 1, "topic_id": "not a uuid"},
        {"number": 1, "ids": None},
        object(),
    ],
)
def test_a_value_that_its_schema_cannot_hold_is_not_written(wrong: Any) -> None:
    with pytest.raises(CannotEncode, match=r"^Outer 1 cannot be written"):
        encoder(Outer, 1)(wrong)


def test_a_key_that_there_is_not_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match=r"Outer has no field 'nmber'"):
        encoder(Outer, 1)({"number": 1, "nmber": 2})


def test_a_schema_of_many_versions_needs_one() -> None:
    with pytest.raises(AssertionError, match="say which"):
        encoder(Outer)
    with pytest.raises(AssertionError, match="say which"):
        decoder(Outer)


def test_fields_of_other_versions_are_not_written() -> None:
    assert encoder(Outer, 0)({"number": 1, "topic_id": UUID(int=3), "numbers": []}) == (
        b"\0\1" + b"\xff" * 8 + bytes(4)
    )


@pytest.mark.parametrize("version", [0, 1])
def test_a_message_cut_short_anywhere_is_corrupt(version: int) -> None:
    raw = encoder(Outer, version)(SAMPLE)
    for size in range(len(raw)):
        with pytest.raises(Corrupt):
            decoder(Outer, version)(raw[:size], 0)
        with pytest.raises(Corrupt):
            decoder(Outer, version)(memoryview(raw)[:size], 0)


def test_tags_we_do_not_know_are_skipped() -> None:
    raw = encoder(Inner, 1)(Inner(epoch=5, note="n"))
    assert raw[-1] == 0
    tagged = raw[:-1] + b"\x02" + b"\x01\x03abc" + b"\xff\x7f\x00"
    assert decoder(Inner, 1)(tagged + b"behind", 0) == (Inner(epoch=5, note="n"), len(tagged))


def test_a_known_tag_that_does_not_fill_its_size_is_corrupt() -> None:
    raw = encoder(Outer, 1)({"number": 1})[:-1]
    assert decoder(Outer, 1)(raw + b"\x01\x07\x04\0\0\0\x09", 0)[0].tagged_number == 9
    for tag in (b"\x01\x07\x05\0\0\0\x09\0", b"\x01\x07\x03\0\0\0\x09"):
        with pytest.raises(Corrupt, match="tagged_number"):
            decoder(Outer, 1)(raw + tag, 0)


@pytest.mark.parametrize("count", [b"\x81\x80\x40", b"\xff\xff\xff\xff\x07"])
def test_a_count_is_held_against_the_bytes_left_before_anything_is_allocated(
    count: bytes,
) -> None:
    raw = encoder(Outer, 1)({"number": 1})
    ids_at = 2 + 16
    with pytest.raises(Corrupt, match=r"Outer\.ids"):
        decoder(Outer, 1)(raw[:ids_at] + count + raw[ids_at:], 0)
    with pytest.raises(Corrupt, match=r"Outer\.numbers"):
        decoder(Outer, 0)(bytes(10) + struct.pack(">i", 2**31 - 1) + bytes(50), 0)


def test_nulls_where_there_must_be_a_value_are_corrupt() -> None:
    with pytest.raises(Corrupt, match=r"Inner\.note is null"):
        decoder(Inner, 1)(b"\0\0\0\5\0\0", 0)


def test_strings_that_are_not_utf8_are_read_as_kafka_reads_them() -> None:
    """Apache Kafka answers such a request: replacement characters, not a hangup."""
    assert decoder(Inner, 1)(b"\0\0\0\5\3\xff\xfe\0", 0)[0].note == "\ufffd\ufffd"


def test_records_are_slices_and_bytes_are_copies() -> None:
    from kio.schema.produce.v9.request import ProduceRequest
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest

    body = {"topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": b"rec"}]}]}
    frame = memoryview(encoder(ProduceRequest)(body))
    records = decoder(ProduceRequest)(frame, 0)[0].topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame.obj
    frame = memoryview(encoder(SaslAuthenticateRequest)({"auth_bytes": b"secret"}))
    assert type(decoder(SaslAuthenticateRequest)(frame, 0)[0].auth_bytes) is bytes


def test_codes_that_kio_does_not_know_are_written_and_read() -> None:
    from kio.schema.heartbeat.v4.response import HeartbeatResponse

    for code in (ErrorCode.CONTROLLER_ID_NOT_REGISTERED, 3000):
        raw = encoder(HeartbeatResponse)({"error_code": code})
        assert decoder(HeartbeatResponse)(raw, 0)[0].error_code == code
    assert decoder(HeartbeatResponse)(raw[:4] + b"\0\x19\0", 0)[0].error_code is (
        ErrorCode.UNKNOWN_MEMBER_ID
    )


def test_durations_and_moments_out_of_python_s_range_are_held_at_its_ends() -> None:
    from kio.schema.create_delegation_token.v3.request import CreateDelegationTokenRequest
    from kio.schema.create_delegation_token.v3.response import CreateDelegationTokenResponse

    for value in (2**63 - 1, -(2**63)):
        raw = encoder(CreateDelegationTokenRequest)({"max_lifetime": value})
        lifetime = decoder(CreateDelegationTokenRequest)(raw, 0)[0].max_lifetime
        assert abs(lifetime.days) > 900_000_000
        raw = encoder(CreateDelegationTokenResponse)({"expiry_timestamp": value})
        expiry = decoder(CreateDelegationTokenResponse)(raw, 0)[0].expiry_timestamp
        assert expiry.year in (1970, 9999)


def test_classes_that_cannot_have_a_twin_are_built_by_their_constructor() -> None:
    @dataclass(frozen=True, kw_only=True)
    class WithoutSlots:
        number: int = int32()
        young: int = int32(since=1, default=4)

    assert decoder(WithoutSlots, 0)(b"\0\0\0\1\0", 0) == (WithoutSlots(number=1), 5)
    assert WithoutSlots(number=1).young == 4


def test_decoded_objects_are_as_frozen_as_constructed_ones() -> None:
    read = decoder(Inner, 1)(b"\0\0\0\5\1\0", 0)[0]
    assert type(read) is Inner
    assert hash(read) == hash(Inner(epoch=5, note=""))
    with pytest.raises(FrozenInstanceError):
        read.epoch = 6  # type: ignore[misc]  # the point of the test
