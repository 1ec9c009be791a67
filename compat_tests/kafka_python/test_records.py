"""Producing and consuming through kafka-python, which is idempotent by default."""

import time
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
)

from compat_tests.behaviours import covers
from compat_tests.kafka_python.clients import consumer, create, polled, producer, read, write
from compat_tests.waiting import PATIENCE_S

HOUR_MS = 3_600_000


@covers("produce-codecs", "idempotence")
@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_come_back_as_they_went_in(
    broker: str, topic: str, codec: str | None
) -> None:
    create(broker, topic)
    values = [b"%d " % i + b"compress me " * (i % 50) for i in range(300)]
    write(broker, topic, values, compression_type=codec, linger_ms=20)
    got = read(broker, topic, 300)
    assert [record.value for record in got] == values
    assert [record.offset for record in got] == list(range(300))


@covers("headers", "null-key-value")
def test_headers_and_nulls_survive(broker: str, topic: str) -> None:
    create(broker, topic)
    headers = [("b", b"1"), ("a", b""), ("b", b"2")]
    with producer(broker) as client:
        client.send(topic, b"v", key=None, headers=headers).get(PATIENCE_S)
        client.send(topic, None, key=b"k").get(PATIENCE_S)
        client.send(topic, b"", key=b"").get(PATIENCE_S)
    first, second, third = read(broker, topic, 3)
    assert [tuple(header) for header in first.headers] == headers
    assert (first.key, first.value) == (None, b"v")
    assert (second.key, second.value) == (b"k", None)
    assert (third.key, third.value) == (b"", b"")


@covers("acks")
@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_arrive_at_every_setting_of_acks(broker: str, topic: str, acks: int | str) -> None:
    create(broker, topic)
    write(broker, topic, [b"1", b"2"], acks=acks, enable_idempotence=False)
    assert [record.value for record in read(broker, topic, 2)] == [b"1", b"2"]


@covers("partitioning", "many-partitions")
def test_equal_keys_go_to_equal_partitions(broker: str, topic: str) -> None:
    create(broker, topic, partitions=4)
    with producer(broker) as client:
        futures = [client.send(topic, b"v", key=b"k%d" % (i % 8)) for i in range(80)]
        places = [(i % 8, future.get(PATIENCE_S).partition) for i, future in enumerate(futures)]
    assert len(set(places)) == 8
    with consumer(broker) as client:
        client.assign([TopicPartition(topic, p) for p in range(4)])
        client.seek_to_beginning()
        assert len(polled(client, 80)) == 80


@covers("large-records", "too-large-refused")
def test_a_record_over_the_limit_is_refused_and_the_next_is_not(broker: str, topic: str) -> None:
    create(broker, topic, configs={"max.message.bytes": "100000"})
    settings = {"max_request_size": 5_000_000, "enable_idempotence": False}
    with producer(broker, **settings) as client:
        with pytest.raises(MessageSizeTooLargeError):
            client.send(topic, b"x" * 200_000).get(PATIENCE_S)
        assert client.send(topic, b"y" * 90_000).get(PATIENCE_S).offset == 0


@covers("seek", "assignment", "special-timestamps")
def test_seek_and_the_ends_of_a_partition(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"%d" % i for i in range(50)])
    partition = TopicPartition(topic, 0)
    with consumer(broker) as client:
        client.assign([partition])
        assert client.beginning_offsets([partition]) == {partition: 0}
        assert client.end_offsets([partition]) == {partition: 50}
        client.seek(partition, 45)
        assert [record.offset for record in polled(client, 5)] == list(range(45, 50))
        client.seek_to_end(partition)
        assert client.position(partition) == 50
        client.seek_to_beginning(partition)
        assert client.position(partition) == 0


@covers("mid-batch")
def test_a_fetch_from_the_middle_of_a_batch(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"%d" % i for i in range(500)], linger_ms=200, compression_type="gzip")
    got = read(broker, topic, 200, offset=300)
    assert [record.value for record in got] == [b"%d" % i for i in range(300, 500)]


@covers("offsets-by-time", "create-time")
def test_offsets_by_time(broker: str, topic: str) -> None:
    create(broker, topic)
    start = int(time.time() * 1000) - HOUR_MS
    with producer(broker) as client:
        for i in range(5):
            client.send(topic, b"v", timestamp_ms=start + 1000 * i).get(PATIENCE_S)
    partition = TopicPartition(topic, 0)
    with consumer(broker) as client:
        found = client.offsets_for_times({partition: start + 1500})[partition]
        assert (found.offset, found.timestamp) == (2, start + 2000)
        assert client.offsets_for_times({partition: start + 9999})[partition] is None
    stamps = [record.timestamp for record in read(broker, topic, 5)]
    assert stamps == [start + 1000 * i for i in range(5)]


@covers("append-time")
def test_log_append_time_is_told_to_producer_and_consumer(broker: str, topic: str) -> None:
    create(broker, topic, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    with producer(broker) as client:
        metadata: Any = client.send(topic, b"v", timestamp_ms=1000).get(PATIENCE_S)
    (record,) = read(broker, topic, 1)
    assert before <= metadata.timestamp == record.timestamp
    assert record.timestamp_type == 1


@covers("keyless-compacted")
def test_a_compacted_topic_refuses_a_record_without_a_key(broker: str, topic: str) -> None:
    create(broker, topic, configs={"cleanup.policy": "compact"})
    with producer(broker, enable_idempotence=False) as client:
        with pytest.raises(InvalidRecordError):
            client.send(topic, b"no key").get(PATIENCE_S)
        assert client.send(topic, b"v", key=b"k").get(PATIENCE_S).offset == 0


@covers("invalid-timestamp")
def test_a_timestamp_too_far_ahead_is_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    ahead = int(time.time() * 1000) + 2 * HOUR_MS
    with producer(broker) as client, pytest.raises(InvalidTimestampError):
        client.send(topic, b"v", timestamp_ms=ahead).get(PATIENCE_S)


@covers("out-of-range")
def test_an_offset_out_of_range_is_an_error_or_a_reset(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"0", b"1"])
    with pytest.raises(OffsetOutOfRangeError):
        read(broker, topic, 1, offset=77, auto_offset_reset="none")
    assert [record.offset for record in read(broker, topic, 2, offset=77)] == [0, 1]


@covers("unknown-topic")
def test_an_invalid_name_is_refused(broker: str) -> None:
    with (
        producer(broker, max_block_ms=3000) as client,
        pytest.raises((InvalidTopicError, KafkaTimeoutError, ValueError)),
    ):
        client.send("not/a/name", b"v").get(PATIENCE_S)
