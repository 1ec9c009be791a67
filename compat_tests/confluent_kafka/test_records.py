"""Producing and consuming through librdkafka."""

import time

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    attempted,
    consumer,
    create,
    delivered,
    error_of,
    polled,
    producer,
    read,
    watermarks,
    write,
)

HOUR_MS = 3_600_000


@covers("produce-codecs")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_come_back_as_they_went_in(
    broker: str, topic: str, codec: str
) -> None:
    create(broker, topic)
    values = [b"%d " % i + b"compress me " * (i % 50) for i in range(500)]
    write(broker, topic, values, compression_type=codec, linger_ms=50)
    got = read(broker, topic, len(values))
    assert [message.value() for message in got] == values
    assert [message.offset() for message in got] == list(range(len(values)))


@covers("headers")
def test_headers_keep_order_duplicates_and_nulls(broker: str, topic: str) -> None:
    create(broker, topic)
    headers = [("b", b"1"), ("a", b""), ("b", None), ("\u00fc", b"\x00\xff"), ("", b"empty name")]
    record = {"topic": topic, "value": b"v", "headers": headers}
    delivered(producer(broker), [record, {"topic": topic, "value": b"none"}])
    with_headers, without = read(broker, topic, 2)
    assert with_headers.headers() == headers
    assert without.headers() is None


@covers("null-key-value")
def test_null_and_empty_keys_and_values_stay_apart(broker: str, topic: str) -> None:
    create(broker, topic)
    pairs = [(None, None), (b"", None), (None, b""), (b"", b""), (b"k", None), (b"k", b"v")]
    records = [{"topic": topic, "key": key, "value": value} for key, value in pairs]
    delivered(producer(broker), records)
    got = read(broker, topic, len(pairs))
    assert [(message.key(), message.value()) for message in got] == pairs


@covers("ordering", "many-partitions")
def test_each_partition_keeps_the_order_in_which_it_was_written(broker: str, topic: str) -> None:
    create(broker, topic, partitions=3)
    records = [{"topic": topic, "value": b"%d" % i, "partition": i % 3} for i in range(3000)]
    settings = {"linger.ms": 5, "batch.num.messages": 100, "enable.idempotence": True}
    delivered(producer(broker, settings), records)
    with consumer(broker) as client:
        client.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(3)])
        got = polled(client, 3000)
    for partition in range(3):
        values = [int(m.value() or b"") for m in got if m.partition() == partition]
        assert values == list(range(partition, 3000, 3))


@covers("large-records")
def test_a_record_of_almost_a_megabyte_fits_the_defaults(broker: str, topic: str) -> None:
    create(broker, topic)
    value = bytes(range(256)) * 3900  # 998,400 bytes; the limit is 1,048,588 with the batch
    write(broker, topic, [value], message_max_bytes=2_000_000)
    assert read(broker, topic, 1)[0].value() == value


@covers("large-records")
def test_a_topic_that_allows_more_takes_records_of_several_megabytes(
    broker: str, topic: str
) -> None:
    create(broker, topic, configs={"max.message.bytes": "10000000"})
    values = [b"a" * 3_000_000, b"small", b"b" * 5_000_000]
    write(broker, topic, values, message_max_bytes=9_000_000)
    got = read(broker, topic, 3, settings={"fetch.message.max.bytes": 1000})
    assert [message.value() for message in got] == values


@covers("too-large-refused")
def test_a_record_over_the_limit_is_refused_and_the_next_is_not(broker: str, topic: str) -> None:
    create(broker, topic, configs={"max.message.bytes": "20000"})
    client = producer(broker)
    ((error, _),) = attempted(client, [{"topic": topic, "value": b"x" * 30_000}])
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    (message,) = delivered(client, [{"topic": topic, "value": b"y" * 10_000}])
    assert message.offset() == 0


@covers("acks")
@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_arrive_at_every_setting_of_acks(broker: str, topic: str, acks: int | str) -> None:
    create(broker, topic)
    sent = write(broker, topic, [b"1", b"2", b"3"], acks=acks)
    assert [m.value() for m in read(broker, topic, 3)] == [b"1", b"2", b"3"]
    if acks != 0:
        assert [message.offset() for message in sent] == [0, 1, 2]


@covers("idempotence")
def test_an_idempotent_producer_keeps_order_with_five_requests_in_flight(
    broker: str, topic: str
) -> None:
    create(broker, topic)
    settings = {"enable.idempotence": True, "batch.num.messages": 10, "linger.ms": 1}
    records = [{"topic": topic, "value": b"%d" % i} for i in range(2000)]
    delivered(producer(broker, settings), records)
    got = read(broker, topic, 2000)
    assert [int(message.value() or b"") for message in got] == list(range(2000))


@covers("seek", "assignment")
def test_seek_back_forward_and_to_both_ends(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"%d" % i for i in range(100)], linger_ms=20)
    with consumer(broker) as client:
        client.assign([TopicPartition(topic, 0, 10)])
        assert polled(client, 1)[0].offset() == 10
        for where, offset in [(50, 50), (3, 3), (OFFSET_BEGINNING, 0), (99, 99)]:
            client.seek(TopicPartition(topic, 0, where))
            assert polled(client, 1)[0].offset() == offset
        client.seek(TopicPartition(topic, 0, OFFSET_END))
        assert client.poll(0.5) is None
        write(broker, topic, [b"new"])
        assert polled(client, 1)[0].offset() == 100


@covers("mid-batch")
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_fetch_from_the_middle_of_a_batch_gives_the_rest_of_it(
    broker: str, topic: str, codec: str
) -> None:
    create(broker, topic)
    values = [b"%d" % i for i in range(1000)]
    write(broker, topic, values, compression_type=codec, linger_ms=200)
    for offset in (1, 499, 999):
        got = read(broker, topic, 1000 - offset, offset=offset)
        assert [message.offset() for message in got] == list(range(offset, 1000))


@covers("offsets-by-time", "create-time")
def test_offsets_by_time_are_the_first_at_or_after_it(broker: str, topic: str) -> None:
    create(broker, topic)
    start = int(time.time() * 1000) - HOUR_MS
    times = [start + 1000 * i for i in range(10)]
    records = [{"topic": topic, "value": b"v", "timestamp": when} for when in times]
    delivered(producer(broker, {"linger.ms": 100}), records)
    asked = {
        times[0] - 5000: 0,
        times[0]: 0,
        times[3] - 1: 3,
        times[3]: 3,
        times[3] + 1: 4,
        times[9]: 9,
        times[9] + 1: OFFSET_END,
    }
    with consumer(broker) as client:
        for when, offset in asked.items():
            (found,) = client.offsets_for_times([TopicPartition(topic, 0, when)], timeout=20)
            assert found.offset == offset, f"asked {when - start} ms after the first"
    got = read(broker, topic, 10)
    assert [message.timestamp() for message in got] == [(TIMESTAMP_CREATE_TIME, t) for t in times]


@covers("append-time")
def test_log_append_time_replaces_the_timestamps_of_the_producer(broker: str, topic: str) -> None:
    create(broker, topic, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    records = [{"topic": topic, "value": b"v", "timestamp": 1000 + i} for i in range(3)]
    sent = delivered(producer(broker), records)
    after = int(time.time() * 1000)
    for message in [*sent, *read(broker, topic, 3)]:
        kind, when = message.timestamp()
        assert kind == TIMESTAMP_LOG_APPEND_TIME
        assert before <= when <= after


@covers("append-time", "offsets-by-time")
def test_offsets_by_time_follow_the_append_time(broker: str, topic: str) -> None:
    create(broker, topic, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    write(broker, topic, [b"a", b"b"])
    with consumer(broker) as client:
        (found,) = client.offsets_for_times([TopicPartition(topic, 0, before)], timeout=20)
    assert found.offset == 0


@covers("out-of-range")
def test_an_offset_out_of_range_is_an_error_or_a_reset(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"0", b"1", b"2"])
    with pytest.raises(KafkaException) as failure:
        read(broker, topic, 1, offset=50)
    assert error_of(failure.value).code() == KafkaError._AUTO_OFFSET_RESET
    (first,) = read(broker, topic, 1, offset=50, settings={"auto.offset.reset": "earliest"})
    assert first.offset() == 0


@covers("keyless-compacted")
def test_a_compacted_topic_refuses_a_record_without_a_key(broker: str, topic: str) -> None:
    create(broker, topic, configs={"cleanup.policy": "compact"})
    client = producer(broker)
    ((error, _),) = attempted(client, [{"topic": topic, "value": b"no key"}])
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD
    delivered(client, [{"topic": topic, "key": b"k", "value": b"v"}])
    assert watermarks(broker, topic) == (0, 1)


@covers("invalid-timestamp")
def test_a_timestamp_too_far_ahead_is_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    ahead = int(time.time() * 1000) + 2 * HOUR_MS
    record = {"topic": topic, "value": b"v", "timestamp": ahead}
    ((error, _),) = attempted(producer(broker), [record])
    assert error is not None
    assert error.code() == KafkaError.INVALID_TIMESTAMP


@covers("invalid-timestamp")
def test_a_topic_can_bound_timestamps_in_the_past(broker: str, topic: str) -> None:
    create(broker, topic, configs={"message.timestamp.before.max.ms": "60000"})
    record = {"topic": topic, "value": b"v", "timestamp": int(time.time() * 1000) - HOUR_MS}
    ((error, _),) = attempted(producer(broker), [record])
    assert error is not None
    assert error.code() == KafkaError.INVALID_TIMESTAMP


@covers("unknown-topic")
def test_producing_to_a_partition_that_is_not_there_is_an_error(broker: str, topic: str) -> None:
    create(broker, topic)
    client = producer(broker, {"message.timeout.ms": 5000, "delivery.timeout.ms": 5000})
    delivered(client, [{"topic": topic, "value": b"known now"}])
    with pytest.raises(KafkaException) as failure:
        delivered(client, [{"topic": topic, "value": b"v", "partition": 7}])
    assert error_of(failure.value).code() == KafkaError._UNKNOWN_PARTITION


@covers("unknown-topic")
def test_an_invalid_topic_name_reaches_the_delivery_report(broker: str) -> None:
    client = producer(broker, {"message.timeout.ms": 5000, "delivery.timeout.ms": 5000})
    ((error, _),) = attempted(client, [{"topic": "not/a/name", "value": b"v"}])
    assert error is not None
    assert error.code() == KafkaError.TOPIC_EXCEPTION


@covers("recompression")
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topic_recompresses_what_arrives(broker: str, topic: str, codec: str) -> None:
    create(broker, topic, configs={"compression.type": codec})
    values = [b"compress me " * 20 + b"%d" % i for i in range(200)]
    sent_with = "lz4" if codec == "uncompressed" else "none"
    write(broker, topic, values, linger_ms=50, compression_type=sent_with)
    got = read(broker, topic, 200)
    assert [message.value() for message in got] == values


@covers("fetch-limits")
def test_small_fetch_limits_still_bring_every_record(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    records = [
        {"topic": topic, "value": b"x" * 5000, "partition": i % 2, "key": b"%d" % i}
        for i in range(60)
    ]
    delivered(producer(broker, {"batch.num.messages": 1}), records)
    limits = {"fetch.max.bytes": 1000, "message.max.bytes": 1000, "fetch.message.max.bytes": 1000}
    with consumer(broker, limits) as client:
        client.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(2)])
        got = polled(client, 60)
    assert sorted(int(message.key() or b"") for message in got) == list(range(60))


@covers("long-poll")
def test_a_waiting_fetch_wakes_for_the_next_record(broker: str, topic: str) -> None:
    create(broker, topic)
    client_settings = {"fetch.wait.max.ms": 10_000, "fetch.min.bytes": 1}
    with consumer(broker, client_settings) as client:
        client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert client.poll(0.5) is None
        began = time.monotonic()
        write(broker, topic, [b"wake up"])
        assert polled(client, 1)[0].value() == b"wake up"
        assert time.monotonic() - began < 5, "the fetch waited out its whole time"
