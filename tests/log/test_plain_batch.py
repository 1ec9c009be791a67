"""The plain way takes what the long way takes, with the same bytes, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.plain_batch import stamp_if_plain
from kafkapy.log.validation import validate
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    STAMP_SIZE,
    Codec,
    NewRecord,
    build_batch,
    pack_batch,
    stamp_of,
)
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.support import Home

NOW = Instant(1_700_000_000_000)
HOUR = 3_600_000
DEFAULTS = LogConfig()


def plain(data: bytes, config: LogConfig = DEFAULTS) -> tuple[Any, bytes] | None:
    view = memoryview(data).toreadonly()
    newest = NOW + config.message_timestamp_after_max_ms
    header = stamp_if_plain(view, newest, 77, 3)
    return None if header is None else (header, stamp_of(header) + data[STAMP_SIZE:])


def long_way(data: bytes, config: LogConfig = DEFAULTS) -> tuple[Any, bytes] | None:
    try:
        valid = validate(
            memoryview(data).toreadonly(),
            config,
            origin=Origin.CLIENT,
            now=NOW,
            base_offset=77,
            leader_epoch=3,
        )
    except Refused:
        return None
    assert valid.size == len(data)
    assert valid.log_append_time_ms == -1
    return valid.headers[0], b"".join(bytes(part) for part in valid.parts)


def one(value: bytes = b"v" * 100, **how: Any) -> bytes:
    return build_batch([NewRecord(b"k", value, NOW)], **how)


def at_times(base_timestamp: int, max_timestamp: int) -> bytes:
    return pack_batch(
        one()[HEADER_SIZE:],
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=0,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=1,
    )


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [1, 2, 50])
def test_what_producers_send_is_plain_and_appended_as_the_long_way_does(
    codec: Codec, count: int
) -> None:
    records = [NewRecord(b"k%d" % i, b"value" * i, NOW - i, (("h", b"1"),)) for i in range(count)]
    producers: list[dict[str, Any]] = [
        {},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": 7},
    ]
    for producer in producers:
        data = build_batch(records, codec=codec, **producer)
        assert plain(data) == long_way(data)
        assert plain(data) is not None


@pytest.mark.parametrize(
    "data",
    [
        one()[:-1],
        one() + b"\0",
        one() + one(),
        one(base_offset=1),
        one(log_append_time_ms=NOW),
        one(producer_id=5, producer_epoch=0, base_sequence=-1),
        build_batch([NewRecord(b"k", b"v", NOW + 2 * HOUR)]),
        at_times(2**63 - 1, NOW),
        at_times(NOW, NOW - 1),
        at_times(-(2**63), NOW),
        at_times(-2, NOW),
        build_marker(
            is_commit=True, coordinator_epoch=0, producer_id=5, producer_epoch=0, timestamp=NOW
        ),
        b"",
        bytes(61),
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_what_needs_a_decision_is_not_plain(data: bytes) -> None:
    assert plain(data) is None


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_of_a_transaction_is_plain_whether_that_is_open_is_for_its_producers_to_say(
    codec: Codec,
) -> None:
    data = one(codec=codec, is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)
    assert plain(data) == long_way(data)
    assert plain(data) is not None


@pytest.mark.parametrize(
    "data",
    [
        one(is_transactional=True, base_sequence=-1),
        one(is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=-1),
    ],
    ids=["no producer", "no sequence"],
)
def test_a_transaction_makes_nothing_else_plain(data: bytes) -> None:
    assert plain(data) is None


@pytest.mark.parametrize("position", range(8, 72))
def test_a_flipped_bit_is_never_taken_if_the_long_way_refuses_it(position: int) -> None:
    data = bytearray(one(value=b"v" * 300))
    for bit in range(8):
        data[position] ^= 1 << bit
        taken = plain(bytes(data))
        assert taken is None or taken == long_way(bytes(data)), (position, bit)
        data[position] ^= 1 << bit


@settings(max_examples=200)
@given(
    records=st.binary(max_size=300),
    count=st.integers(-1, 40),
    attributes=st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 48, 64, 128, 1 << 14]),
    delta=st.integers(-1, 1),
    age=st.integers(-2 * HOUR, 2 * HOUR),
    producer_id=st.sampled_from([-1, 5]),
)
@example(records=b"\x0c" + b"\0" * 6, count=1, attributes=0, delta=0, age=0, producer_id=-1)
@example(records=b"\x8a\0" + b"\0" * 5, count=1, attributes=0, delta=0, age=0, producer_id=-1)
def test_whatever_is_in_a_batch_the_plain_way_agrees_with_the_long_one(
    records: bytes, count: int, attributes: int, delta: int, age: int, producer_id: int
) -> None:
    data = pack_batch(
        records,
        base_offset=0,
        leader_epoch=-1,
        attributes=attributes,
        last_offset_delta=max(count - 1 + delta, 0),
        base_timestamp=NOW,
        max_timestamp=NOW + age,
        producer_id=producer_id,
        producer_epoch=min(producer_id, 0),
        base_sequence=min(producer_id, 0),
        record_count=count,
    )
    taken = plain(data)
    assert taken is None or taken == long_way(data)


def batches_up_to(size: int) -> LogConfig:
    return LogConfig(max_message_bytes=size)


def segments_up_to(size: int) -> LogConfig:
    return LogConfig(segment_bytes=size)


@pytest.mark.parametrize("limited_to", [batches_up_to, segments_up_to])
def test_a_batch_above_a_limit_is_refused_as_soon_as_there_is_that_limit(
    limited_to: Callable[[int], LogConfig],
) -> None:
    data = memoryview(one())
    log = Home().open(limited_to(len(data)))
    log.append_as_leader(data, leader_epoch=0, now=NOW)
    log.config = limited_to(len(data) - 1)
    with pytest.raises(Refused):
        log.append_as_leader(data, leader_epoch=0, now=NOW)
    assert log.log_end_offset == 1


@pytest.mark.parametrize(
    "config",
    [
        LogConfig(compression_type="zstd"),
        LogConfig(message_timestamp_type="LogAppendTime"),
        LogConfig(message_timestamp_before_max_ms=1000),
        LogConfig(cleanup_policy=frozenset({"compact"})),
    ],
)
def test_topics_that_ask_about_records_know_no_plain_batches(config: LogConfig) -> None:
    assert not config.asks_nothing_of_records
    assert DEFAULTS.asks_nothing_of_records
