"""What the log does with records, and what a fetch sees of it, through kafka-python."""

import time
from typing import Any

from kafka import TopicPartition

from compat_tests.behaviours import covers
from compat_tests.kafka_python.clients import (
    admin,
    consumer,
    create,
    polled,
    producer,
    read,
    write,
)
from compat_tests.waiting import PATIENCE_S, wait_for


def bounds(broker: str, topic: str) -> tuple[int, int]:
    """The first offset and the end of partition 0."""
    partition = TopicPartition(topic, 0)
    with consumer(broker) as client:
        first = client.beginning_offsets([partition])[partition]
        return first, client.end_offsets([partition])[partition]


@covers("ordering")
def test_a_partition_keeps_the_order(broker: str, topic: str) -> None:
    create(broker, topic)
    values: list[bytes | None] = [b"%d" % i for i in range(2000)]
    write(broker, topic, values, batch_size=1000)
    assert [record.value for record in read(broker, topic, 2000)] == values


@covers("recompression")
def test_a_topic_recompresses_what_arrives(broker: str, topic: str) -> None:
    create(broker, topic, configs={"compression.type": "zstd"})
    values: list[bytes | None] = [b"compress me " * 100, b"and me " * 100]
    write(broker, topic, values, compression_type="gzip", linger_ms=50)
    assert [record.value for record in read(broker, topic, 2)] == values


@covers("fetch-limits")
def test_a_record_larger_than_the_fetch_size_comes_through(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"x" * 20_000] * 3)
    small = {"fetch_max_bytes": 1000, "max_partition_fetch_bytes": 1000}
    assert len(read(broker, topic, 3, **small)) == 3


@covers("long-poll")
def test_a_waiting_fetch_wakes_for_the_next_record(broker: str, topic: str) -> None:
    create(broker, topic)
    with consumer(broker, fetch_max_wait_ms=20_000, request_timeout_ms=60_000) as client:
        client.assign([TopicPartition(topic, 0)])
        assert client.poll(timeout_ms=300) == {}
        write(broker, topic, [b"late"])
        started = time.monotonic()
        assert polled(client, 1)[0].value == b"late"
        assert time.monotonic() - started < 15


@covers("retention")
def test_old_segments_go(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.bytes": "1000", "segment.bytes": "1048576"})
    write(broker, topic, [b"x" * 600_000] * 5, linger_ms=0)
    wait_for("the log start moves", lambda: bounds(broker, topic) == (4, 5))
    assert read(broker, topic, 1, offset=4)[0].offset == 4


@covers("compaction", "tombstones")
def test_compaction_keeps_the_last_value_of_each_key(broker: str, topic: str) -> None:
    configs = {"cleanup.policy": "compact", "segment.ms": "100", "delete.retention.ms": "100"}
    create(broker, topic, configs={**configs, "min.cleanable.dirty.ratio": "0.01"})
    with producer(broker) as client:
        for number in range(3):
            for key in (b"a", b"b", b"gone"):
                client.send(topic, b"%d" % number, key=key).get(PATIENCE_S)
        client.send(topic, None, key=b"gone").get(PATIENCE_S)

        def is_compacted() -> bool:
            client.send(topic, b"", key=b"roll").get(PATIENCE_S)
            kept = [(r.key, r.value) for r in all_of(broker, topic) if r.key != b"roll"]
            return kept == [(b"a", b"2"), (b"b", b"2")]

        wait_for("only the last values are left", is_compacted, every_s=0.3)


def all_of(broker: str, topic: str) -> list[Any]:
    """All records of partition 0, whatever is missing in between."""
    partition = TopicPartition(topic, 0)
    _, end = bounds(broker, topic)
    got: list[Any] = []
    with consumer(broker) as client:
        client.assign([partition])
        client.seek_to_beginning(partition)

        def is_at_end() -> bool:
            for records in client.poll(timeout_ms=500).values():
                got.extend(records)
            return bool(client.position(partition) >= end)

        wait_for("the end", is_at_end, every_s=0)
    return got


@covers("recreate-topic")
def test_a_topic_made_again_is_empty(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"old"] * 3)
    with admin(broker) as client:
        client.delete_topics([topic])
    create(broker, topic)
    wait_for("it is empty", lambda: bounds(broker, topic) == (0, 0))
    write(broker, topic, [b"new"])
    assert [record.value for record in read(broker, topic, 1)] == [b"new"]


@covers("metadata-growth")
def test_a_consumer_notices_new_partitions(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    with consumer(broker, group_id=group, metadata_max_age_ms=300) as client:
        client.subscribe([topic])

        def assigned(count: int) -> bool:
            client.poll(timeout_ms=1000)
            return len(client.assignment()) == count

        wait_for("one partition", lambda: assigned(1), every_s=0)
        with admin(broker) as other:
            other.create_partitions({topic: 3})
        wait_for("three partitions", lambda: assigned(3), every_s=0)


@covers("internal-topics")
def test_the_offsets_topic_is_internal(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    with consumer(broker, group_id=group) as client:
        client.subscribe([topic])
        client.poll(timeout_ms=1000)

    def told() -> dict[str, Any]:
        with admin(broker) as client:
            (found,) = client.describe_topics(["__consumer_offsets"])
        return dict(found)

    assert wait_for("it is there", lambda: told()["error_code"] == 0)
    assert told()["is_internal"]
