"""Examined in slices, a batch gets the verdict that it gets in one step; and no slice is long."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import Accepted, Origin, RecordsRefused, TooMuchAtOnce
from kafkapy.log.config import LogConfig
from kafkapy.log.examining import to_be_examined
from kafkapy.log.validation import records_at_once, validate
from kafkapy.log.validation_records import check_each
from kafkapy.protocol.batches.batch import (
    Codec,
    NewRecord,
    build_batch,
    pack_batch,
    read_header,
    records,
)
from kafkapy.protocol.batches.records import Record, encode, encode_record
from kafkapy.protocol.compression.codecs import compress

NOW = Instant(1_700_000_000_000)
MIB = 1024 * 1024
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def _no_x(record: Record) -> str | None:
    return "an x" if record.value and record.value.startswith(b"x") else None


CONFIGS = {
    "compacted": LogConfig(cleanup_policy=frozenset({"compact"})),
    "not old": LogConfig(message_timestamp_before_max_ms=100_000),
    "append time": LogConfig(message_timestamp_type="LogAppendTime"),
    "compacted, not old": LogConfig(
        cleanup_policy=frozenset({"compact"}), message_timestamp_before_max_ms=100_000
    ),
    "to gzip": LogConfig(compression_type="gzip"),
    "to snappy": LogConfig(compression_type="snappy", cleanup_policy=frozenset({"compact"})),
    "to lz4": LogConfig(compression_type="lz4", message_timestamp_type="LogAppendTime"),
    "to zstd": LogConfig(compression_type="zstd"),
    "to none": LogConfig(compression_type="uncompressed", max_message_bytes=300),
    "to none, large": LogConfig(compression_type="uncompressed", max_message_bytes=2 * MIB),
    "checked": LogConfig(record_check=_no_x),
    "compacted, checked": LogConfig(cleanup_policy=frozenset({"compact"}), record_check=_no_x),
}


def drive(batch: bytes, config: LogConfig) -> tuple[bytes, list[int]]:
    """What is to be appended, and what each step cost."""
    examining = to_be_examined(batch, config, NOW)
    if examining is None:
        return batch, []
    costs, work = [], examining.work()
    while True:
        try:
            costs.append(next(work))
        except StopIteration as done:
            return done.value, costs


def at_once(batch: bytes, config: LogConfig, origin: Origin = Origin.CLIENT) -> Accepted:
    view = memoryview(batch).toreadonly()
    accepted = validate(view, config, origin=origin, now=NOW, base_offset=70, leader_epoch=3)
    if config.record_check is not None and origin is Origin.CLIENT:
        check_each(records_at_once(view), config.record_check)
    return accepted


def outcome(batch: bytes, config: LogConfig, *, in_slices: bool) -> Any:
    """Headers but for their CRC and size, and records; or the refusal."""
    try:
        if in_slices:
            accepted = at_once(drive(batch, config)[0], config, Origin.EXAMINED)
        else:
            accepted = at_once(batch, config)
    except Refused as refused:
        return type(refused), refused.code, getattr(refused, "record_errors", None)
    written = b"".join(bytes(part) for part in accepted.parts)
    header = read_header(written)._replace(crc=0, length=0)
    try:
        return header, list(records(written)), accepted.log_append_time_ms
    except Corrupt:
        return written  # nobody looked


TIMES = st.sampled_from([-1, NOW, NOW - 5, NOW - 200_000, NOW + 90_000_000])
RECORDS = st.lists(
    st.builds(
        NewRecord,
        key=st.sampled_from([None, b"", b"k", b"key" * 40]),
        value=st.sampled_from([None, b"", b"x-ray", b"value" * 30]),
        timestamp=TIMES,
        headers=st.sampled_from([(), (("h", b"1"), ("g", None))]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
@given(made=RECORDS, codec=st.sampled_from(list(Codec)), is_sane=st.booleans())
@settings(max_examples=60)
def test_the_verdict_is_the_one_of_a_single_step(
    config: LogConfig, made: list[NewRecord], codec: Codec, is_sane: bool
) -> None:
    if is_sane:
        made = [one._replace(key=one.key or b"k", timestamp=NOW - 7) for one in made]
    batch = build_batch(made, codec=codec)
    assert outcome(batch, config, in_slices=True) == outcome(batch, config, in_slices=False)


@pytest.mark.parametrize("name", ["compacted", "not old", "to gzip"])
@pytest.mark.parametrize("codec", PACKED)
@given(data=st.data())
@settings(max_examples=25)
def test_broken_records_are_refused_as_in_a_single_step(
    name: str, codec: Codec, data: st.DataObject
) -> None:
    """A byte of the records is another one, or the last ones are missing, or they are more."""
    config = CONFIGS[name]
    payload = bytearray(encode([NewRecord(b"k", b"v" * 20, NOW - 1)] * 5, NOW - 1))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] = data.draw(st.integers(0, 255))
    payload = payload[: data.draw(st.integers(1, len(payload)))]
    count = data.draw(st.sampled_from([5, 5, 5, 4, 6]))
    batch = batch_of(codec, bytes(payload), count)
    assert outcome(batch, config, in_slices=True) == outcome(batch, config, in_slices=False)


def batch_of(codec: Codec, payload: bytes, count: int) -> bytes:
    return pack_batch(
        compress(codec, payload),
        base_offset=0,
        leader_epoch=-1,
        attributes=codec,
        last_offset_delta=count - 1,
        base_timestamp=NOW - 1,
        max_timestamp=NOW - 1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("name", ["compacted", "not old", "to none, large", "checked"])
def test_what_unpacks_to_more_than_a_megabyte_is_too_much_at_once(name: str, codec: Codec) -> None:
    config = CONFIGS[name]
    batch = build_batch([NewRecord(b"k", bytes(MIB), NOW)], codec=codec)
    with pytest.raises(TooMuchAtOnce):
        at_once(batch, config)
    made, _ = drive(batch, config)
    accepted = at_once(made, config, Origin.EXAMINED)
    written = b"".join(bytes(part) for part in accepted.parts)
    assert [one.value for one in records(written)] == [bytes(MIB)]


def test_what_is_not_compressed_is_looked_at_at_once_as_ever() -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_message_bytes=3 * MIB)
    assert at_once(build_batch([NewRecord(b"k", bytes(2 * MIB), NOW)]), config)


def test_a_long_record_among_others_is_numbered_and_timed_anew() -> None:
    payload = b"".join(
        b"".join(encode_record(delta, since, b"k", value, (("h", b"1"),)))
        for delta, since, value in [(4, 300, b"a"), (9, 500, bytes(2 * MIB)), (9, 7, b"b")]
    )
    batch = batch_of(Codec.GZIP, payload, 3)
    made, _ = drive(batch, LogConfig(compression_type="zstd"))
    found = [(r.offset, r.timestamp, r.key, len(r.value or b""), r.headers) for r in records(made)]
    h = (("h", b"1"),)
    assert found == [
        (0, NOW + 299, b"k", 1, h),
        (1, NOW + 499, b"k", 2 * MIB, h),
        (2, NOW + 6, b"k", 1, h),
    ]
    assert read_header(made).max_timestamp == NOW + 499
    with pytest.raises(Refused, match="instead of") as refused:
        drive(batch, CONFIGS["not old"])
    assert refused.value.code == ErrorCode.INVALID_RECORD


def test_a_long_record_without_a_key_or_of_another_time_is_named() -> None:
    made = [NewRecord(b"k", b"", NOW), NewRecord(None, bytes(MIB), NOW), NewRecord(b"k", b"", NOW)]
    with pytest.raises(RecordsRefused) as refused:
        drive(build_batch(made, codec=Codec.LZ4), CONFIGS["compacted"])
    assert [index for index, _ in refused.value.record_errors] == [1]
    made[1] = NewRecord(b"k", bytes(MIB), NOW - 200_000)
    with pytest.raises(RecordsRefused) as refused:
        drive(build_batch(made, codec=Codec.LZ4), CONFIGS["not old"])
    assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [1]


@pytest.mark.parametrize("name", ["compacted", "not old", "to lz4", "to none"])
def test_a_bomb_is_examined_in_small_steps_and_little_memory(name: str) -> None:
    bombs = [
        batch_of(Codec.GZIP, encode([NewRecord(b"k", bytes(24 * MIB), NOW - 1)], NOW - 1), 1),
        build_batch([NewRecord(b"k", bytes(1000), NOW - 1)] * 8_000, codec=Codec.ZSTD),
    ]
    for bomb in bombs:
        tracemalloc.start()
        try:
            try:
                _, costs = drive(bomb, CONFIGS[name])
            except Refused as refused:
                assert refused.code == ErrorCode.MESSAGE_TOO_LARGE
            else:
                assert max(costs) < 5000
                assert len(costs) > 20
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 6 * MIB
