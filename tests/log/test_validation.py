"""Validation: what Apache Kafka 4.3.1 answered to the same batches, and the bytes appended."""

from pathlib import Path
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import Accepted, Origin, RecordsRefused
from kafkapy.log.config import LogConfig
from kafkapy.log.validation import validate
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    STAMP_SIZE,
    Codec,
    NewRecord,
    build_batch,
    crc_is_valid,
    pack_batch,
    pack_header,
    read_header,
    records,
)
from kafkapy.protocol.batches.control_records import build_marker
from kafkapy.protocol.batches.records import encode_record
from kafkapy.protocol.compression.codecs import compress
from tests.log.support import Home

NOW = Instant(1_700_000_000_000)
HOUR = 3_600_000
FIXTURES = Path(__file__).parents[1] / "fixtures" / "batches"

PLAIN = LogConfig()
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
APPEND_TIME = LogConfig(message_timestamp_type="LogAppendTime")
NOT_OLD = LogConfig(message_timestamp_before_max_ms=100_000)
SMALL = LogConfig(max_message_bytes=500)
GZIP = LogConfig(compression_type="gzip")
E = ErrorCode


def check(
    data: bytes, config: LogConfig = PLAIN, origin: Origin = Origin.CLIENT, base_offset: int = 77
) -> Accepted:
    return validate(
        memoryview(data).toreadonly(),
        config,
        origin=origin,
        now=NOW,
        base_offset=base_offset,
        leader_epoch=3,
    )


def appended(data: bytes, config: LogConfig = PLAIN, **how: Any) -> bytes:
    """What goes into the log; always with a right CRC, and as the headers say."""
    valid = check(data, config, **how)
    joined = b"".join(bytes(part) for part in valid.parts)
    assert len(joined) == valid.size
    position = 0
    for header in valid.headers:
        assert read_header(joined, position) == header
        assert crc_is_valid(joined, position, header)
        position += header.size
    return joined


def batch(*keys: bytes | None, timestamp: int = NOW, **how: Any) -> bytes:
    return build_batch([NewRecord(key, b"value" * 8, timestamp) for key in keys], **how)


def patched(data: bytes, **fields: int) -> bytes:
    """The batch with other header fields, and the CRC that belongs to them."""
    header = read_header(data)._replace(**fields)
    return (
        pack_header(
            data[HEADER_SIZE:],
            header.base_offset,
            header.leader_epoch,
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
        + data[HEADER_SIZE:]
    )


def numbered(deltas: list[int], codec: Codec) -> bytes:
    """A batch whose records have these offset deltas."""
    raw = b"".join(b"".join(encode_record(delta, 0, b"k", b"v")) for delta in deltas)
    return pack_batch(
        compress(codec, raw),
        base_offset=0,
        leader_epoch=-1,
        attributes=int(codec),
        last_offset_delta=len(deltas) - 1,
        base_timestamp=NOW,
        max_timestamp=NOW,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=len(deltas),
    )


OK = batch(b"a", b"b")


# -- the fast path


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_is_stamped_and_otherwise_kept(codec: Codec) -> None:
    data = batch(b"a", b"b", codec=codec)
    valid = check(data)
    (header,) = valid.headers
    assert (header.base_offset, header.leader_epoch, header.crc) == (77, 3, read_header(data).crc)
    assert (valid.first_offset, valid.last_offset, valid.log_append_time_ms) == (77, 78, -1)
    assert appended(data)[12 + 4 :] == data[12 + 4 :]


def test_the_records_are_not_copied() -> None:
    data = memoryview(OK).toreadonly()
    valid = validate(data, PLAIN, origin=Origin.CLIENT, now=NOW, base_offset=0, leader_epoch=0)
    head, body = valid.parts
    assert len(head) == STAMP_SIZE
    assert isinstance(body, memoryview)
    assert body.obj is data.obj


def test_no_timestamp_is_a_good_timestamp() -> None:
    assert check(batch(b"a", timestamp=-1)).headers[0].max_timestamp == -1


# -- batches that no client may send (the codes are Apache Kafka's)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (patched(OK, base_offset=5), E.INVALID_RECORD),
        (patched(OK, attributes=0x20), E.INVALID_RECORD),
        (patched(OK, record_count=0), E.INVALID_RECORD),
        (patched(OK, record_count=3), E.INVALID_RECORD),
        (patched(OK, last_offset_delta=5), E.INVALID_RECORD),
        (patched(OK, last_offset_delta=-1, record_count=0), E.INVALID_RECORD),
        (patched(OK, producer_id=5, producer_epoch=0), E.INVALID_RECORD),
        (OK[:30] + b"\xff" + OK[31:], E.CORRUPT_MESSAGE),
        (OK + OK, E.INVALID_RECORD),
        (b"", E.INVALID_RECORD),
        (OK[:-3], E.INVALID_RECORD),
        (OK[:50], E.INVALID_RECORD),
        (OK[:16] + b"\x01" + OK[17:], E.INVALID_RECORD),
        (OK[:16] + b"\x07" + OK[17:], E.CORRUPT_MESSAGE),
        (OK[:8] + (5).to_bytes(4) + OK[12:], E.CORRUPT_MESSAGE),
        (OK[:8] + (40).to_bytes(4) + OK[12:], E.CORRUPT_MESSAGE),
        (OK + bytes(30), E.CORRUPT_MESSAGE),
    ],
)
def test_what_kafka_refuses_is_refused_with_its_code(data: bytes, code: ErrorCode) -> None:
    for config in (PLAIN, COMPACTED, APPEND_TIME, NOT_OLD, SMALL):
        with pytest.raises(Refused) as refused:
            check(data, config)
        assert refused.value.code is code


BOUND = 2**63
TWO_RECORDS = b"".join(encode_record(0, 0, b"k", b"v") + encode_record(1, 0, b"k", b"v"))


def two_records(base_timestamp: int, max_timestamp: int, payload: bytes = TWO_RECORDS) -> bytes:
    return patched(
        pack_batch(
            payload,
            base_offset=0,
            leader_epoch=-1,
            attributes=0,
            last_offset_delta=1,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            record_count=2,
        )
    )


@pytest.mark.parametrize("base", [BOUND - 1, NOW + 2 * HOUR, -BOUND])
def test_a_first_timestamp_that_cannot_be_is_seen_in_the_header(base: int) -> None:
    """As Apache Kafka 4.3.1 answers, also where the log would set the time itself."""
    data = two_records(base, NOW)
    for config in (PLAIN, COMPACTED, NOT_OLD, GZIP):
        with pytest.raises(RecordsRefused) as refused:
            check(data, config)
        assert refused.value.code is E.INVALID_TIMESTAMP
        assert [index for index, _ in refused.value.record_errors] == [0, 1]
    assert check(data, APPEND_TIME)


@pytest.mark.parametrize("base", [NOW, NOW + HOUR // 2, -5])
def test_a_first_timestamp_behind_the_largest_is_looked_into_and_put_right(base: int) -> None:
    (record, _) = records(appended(two_records(base, NOW - HOUR)))
    assert record.timestamp == base
    assert check(two_records(base, NOW - HOUR)).headers[0].max_timestamp == max(base, -1)


@pytest.mark.parametrize("extra", [b"\0", b"xyz", b"".join(encode_record(2, 0, b"k", b"v"))])
def test_where_records_are_walked_they_fill_their_batch(extra: bytes) -> None:
    for config in (COMPACTED, NOT_OLD, GZIP):
        with pytest.raises(Refused) as refused:
            check(two_records(NOW, NOW, TWO_RECORDS + extra), config)
        assert refused.value.code is E.INVALID_RECORD


def test_a_check_of_records_refuses_what_is_no_record() -> None:
    log = Home().open(LogConfig(record_check=lambda record: None))
    rubbish = two_records(NOW, NOW, TWO_RECORDS + b"xyz")
    with pytest.raises(Refused) as refused:
        log.append_as_leader(memoryview(rubbish), leader_epoch=0, now=NOW)
    assert refused.value.code is E.INVALID_RECORD
    assert log.log_end_offset == 0


def test_a_second_batch_that_is_cut_off_is_ignored() -> None:
    assert appended(OK + OK[:40]) == appended(OK)


@pytest.mark.parametrize(
    "data",
    [
        patched(OK[:HEADER_SIZE] + b"\xff" * (len(OK) - HEADER_SIZE)),
        patched(OK, attributes=1),
        patched(OK, attributes=3),
        patched(OK, attributes=4),
        patched(batch(b"a")[:HEADER_SIZE]),
        patched(batch(b"a")[:-1]),
        patched(batch(b"a", codec=Codec.GZIP)[:HEADER_SIZE]),
    ],
)
def test_records_that_cannot_be_are_noticed_without_walking_them(data: bytes) -> None:
    """Kafka, which walks them, answers UNKNOWN_SERVER_ERROR."""
    for config in (PLAIN, COMPACTED, APPEND_TIME):
        with pytest.raises(Refused) as refused:
            check(data, config)
        assert refused.value.code is E.INVALID_RECORD


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        check(patched(OK, attributes=6))
    assert refused.value.code is E.CORRUPT_MESSAGE


def test_a_large_batch_is_refused_by_its_size_on_the_wire() -> None:
    large = build_batch([NewRecord(b"a", b"v" * 600, NOW)])
    with pytest.raises(Refused) as refused:
        check(large, SMALL)
    assert refused.value.code is E.MESSAGE_TOO_LARGE
    check(build_batch([NewRecord(b"a", b"v" * 600, NOW)], codec=Codec.GZIP), SMALL)


# -- records


@pytest.mark.parametrize("codec", list(Codec))
def test_keyless_records_are_named_on_compacted_topics(codec: Codec) -> None:
    data = batch(b"a", None, b"b", None, codec=codec)
    with pytest.raises(RecordsRefused) as refused:
        check(data, COMPACTED)
    assert refused.value.code is E.INVALID_RECORD
    assert [index for index, _ in refused.value.record_errors] == [1, 3]
    assert appended(data)  # elsewhere they are welcome


def test_an_empty_key_is_a_key() -> None:
    assert appended(batch(b""), COMPACTED) == appended(batch(b""))


def test_timestamps_from_the_future_are_named() -> None:
    data = build_batch([NewRecord(b"a", b"v", NOW), NewRecord(b"a", b"v", NOW + HOUR + 1)])
    with pytest.raises(RecordsRefused) as refused:
        check(data)
    assert refused.value.code is E.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [1]
    check(build_batch([NewRecord(b"a", b"v", NOW + HOUR)]))
    check(data, APPEND_TIME)


def test_timestamps_from_the_past_are_named_where_they_are_limited() -> None:
    data = build_batch([NewRecord(b"a", b"v", NOW - 100_001), NewRecord(b"a", b"v", NOW)])
    with pytest.raises(RecordsRefused) as refused:
        check(data, NOT_OLD)
    assert refused.value.code is E.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0]
    check(build_batch([NewRecord(b"a", b"v", NOW - 100_000), NewRecord(b"a", b"v", -1)]), NOT_OLD)
    check(data)


def test_one_bad_timestamp_decides_the_code() -> None:
    data = build_batch([NewRecord(None, b"v", NOW), NewRecord(b"a", b"v", NOW + 2 * HOUR)])
    with pytest.raises(RecordsRefused) as refused:
        check(data, COMPACTED)
    assert refused.value.code is E.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0, 1]


def test_a_maximum_that_claims_too_much_is_put_right() -> None:
    data = patched(OK, max_timestamp=NOW + 2 * HOUR)
    assert read_header(appended(data)).max_timestamp == NOW


# -- LogAppendTime


@pytest.mark.parametrize("codec", list(Codec))
def test_log_append_time_changes_the_header_only(codec: Codec) -> None:
    data = batch(b"a", b"b", codec=codec, timestamp=5)
    assert check(data, APPEND_TIME).log_append_time_ms == NOW
    written = appended(data, APPEND_TIME)
    header = read_header(written)
    assert header.is_log_append_time
    assert (header.max_timestamp, header.base_timestamp) == (NOW, 5)
    assert written[HEADER_SIZE:] == data[HEADER_SIZE:]
    assert [record.timestamp for record in records(written)] == [NOW, NOW]


def test_a_client_may_not_say_log_append_time_itself() -> None:
    """On a CreateTime topic the bit is taken off, unless there is no timestamp at all."""
    data = patched(OK, attributes=8)
    with pytest.raises(RecordsRefused) as refused:
        check(data, APPEND_TIME)
    assert refused.value.code is E.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0, 1]
    assert not read_header(appended(data)).is_log_append_time
    with pytest.raises(RecordsRefused):
        check(patched(batch(b"a", timestamp=-1), attributes=8))


def test_bits_without_a_meaning_go_when_the_header_is_made_anew() -> None:
    data = patched(OK, attributes=0x4080)
    assert read_header(appended(data)).attributes == 0x4080
    assert read_header(appended(data, APPEND_TIME)).attributes == 0x08


# -- another codec


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_recompressed_where_the_topic_says_so(source: Codec, wanted: str) -> None:
    data = batch(b"a", b"b", codec=source, producer_id=9, producer_epoch=1, base_sequence=4)
    for config in (
        LogConfig(compression_type=wanted),
        LogConfig(compression_type=wanted, message_timestamp_type="LogAppendTime"),
    ):
        header = read_header(appended(data, config))
        assert header.codec.name.lower() == wanted.replace("uncompressed", "none")
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 4)
        assert [(r.offset, r.key) for r in records(appended(data, config))] == [
            (77, b"a"),
            (78, b"b"),
        ]


def test_a_batch_with_the_right_codec_is_not_touched() -> None:
    data = batch(b"a", b"b", codec=Codec.LZ4)
    assert appended(data, LogConfig(compression_type="lz4")) == appended(data)


def test_recompression_writes_the_bytes_that_kafka_wrote() -> None:
    """The fixture went through a broker with compression.type=gzip."""
    kafkas = (FIXTURES / "recompressed_gzip.bin").read_bytes()
    sent = build_batch(
        [NewRecord(r.key, r.value, r.timestamp) for r in records(kafkas)], codec=Codec.SNAPPY
    )
    valid = validate(
        memoryview(sent),
        LogConfig(compression_type="gzip", message_timestamp_after_max_ms=2**62),
        origin=Origin.CLIENT,
        now=NOW,
        base_offset=0,
        leader_epoch=0,
    )
    assert b"".join(bytes(part) for part in valid.parts) == kafkas


def test_recompression_may_make_a_batch_too_large() -> None:
    data = build_batch([NewRecord(b"a", b"v" * 600, NOW)], codec=Codec.GZIP)
    with pytest.raises(Refused) as refused:
        check(data, LogConfig(compression_type="uncompressed", max_message_bytes=500))
    assert refused.value.code is E.MESSAGE_TOO_LARGE


def test_wrong_numbers_inside_a_batch_are_put_right_when_it_is_rewritten() -> None:
    for deltas, codec, wanted in (
        ([0, 5, 9], Codec.NONE, "gzip"),
        ([0, 0, 0], Codec.GZIP, "uncompressed"),
    ):
        written = appended(numbered(deltas, codec), LogConfig(compression_type=wanted))
        assert [record.offset for record in records(written)] == [77, 78, 79]


def test_wrong_numbers_in_a_batch_that_is_kept_are_refused_when_seen() -> None:
    with pytest.raises(Refused) as refused:
        check(numbered([0, 0, 0], Codec.GZIP), NOT_OLD)
    assert refused.value.code is E.INVALID_RECORD


def test_levels_are_those_of_the_topic() -> None:
    data = build_batch([NewRecord(b"a", b"%d" % (i * 7919), NOW) for i in range(3000)])
    sizes = [
        len(appended(data, LogConfig(compression_type="gzip", compression_gzip_level=level)))
        for level in (1, 9)
    ]
    assert sizes[0] > sizes[1]


# -- other origins


def test_the_coordinator_and_the_quorum_may_write_several_batches() -> None:
    for origin in (Origin.COORDINATOR, Origin.RAFT):
        valid = check(OK + batch(b"c") + OK, origin=origin)
        assert [header.base_offset for header in valid.headers] == [77, 79, 80]
        assert appended(OK + batch(b"c") + OK, origin=origin)


def test_markers_are_the_coordinators_and_stay_uncompressed() -> None:
    marker = build_marker(
        is_commit=True, coordinator_epoch=1, producer_id=5, producer_epoch=0, timestamp=NOW
    )
    config = LogConfig(compression_type="zstd", cleanup_policy=frozenset({"compact"}))
    assert appended(marker, config, origin=Origin.COORDINATOR)[16:] == marker[16:]
    timed = appended(marker, APPEND_TIME, origin=Origin.COORDINATOR)
    assert read_header(timed).is_log_append_time


def test_the_quorum_writes_records_of_any_size() -> None:
    check(build_batch([NewRecord(None, b"v" * 600, NOW)]), SMALL, Origin.RAFT)
    with pytest.raises(Refused):
        check(build_batch([NewRecord(None, b"v" * 600, NOW)]), SMALL, Origin.COORDINATOR)


def test_broken_bytes_are_refused_whoever_sends_them() -> None:
    for origin in Origin:
        with pytest.raises(Refused) as refused:
            check(OK[:-1] + b"\x00" if OK[-1] else OK[:-1] + b"\x01", origin=origin)
        assert refused.value.code is E.CORRUPT_MESSAGE
