"""What happens to records afterwards: retention, compaction, deletion."""

import time

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    admin,
    consumer,
    create,
    delivered,
    polled,
    producer,
    read,
    watermarks,
    write,
)
from compat_tests.waiting import PATIENCE_S, wait_for

SMALLEST_SEGMENT = str(1024 * 1024)
HOUR_MS = 3_600_000


@covers("retention")
def test_segments_older_than_the_retention_time_go(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "60000", "segment.bytes": SMALLEST_SEGMENT})
    old = int(time.time() * 1000) - HOUR_MS
    client = producer(broker)
    big = {"topic": topic, "value": b"x" * 900_000}
    delivered(client, [{**big, "timestamp": old}, {**big, "timestamp": old + 1}])
    delivered(client, [{**big, "value": b"y" * 900_000}])
    wait_for("the log start moves", lambda: watermarks(broker, topic) == (2, 3))
    (left,) = read(broker, topic, 1)
    assert (left.value() or b"")[:1] == b"y"


@covers("retention")
def test_segments_beyond_the_retention_size_go(broker: str, topic: str) -> None:
    configs = {"retention.bytes": "2000000", "segment.bytes": SMALLEST_SEGMENT}
    create(broker, topic, configs=configs)
    write(broker, topic, [b"%d" % i * 900_000 for i in range(6)])

    def start_has_moved() -> bool:
        low, high = watermarks(broker, topic)
        assert high == 6
        return low == 3

    wait_for("only what fits is left", start_has_moved)


@covers("retention")
def test_the_active_segment_goes_too_once_all_of_it_is_too_old(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "1000"})
    write(broker, topic, [b"1", b"2"])
    wait_for("the log is empty", lambda: watermarks(broker, topic) == (2, 2))
    write(broker, topic, [b"3"])
    assert read(broker, topic, 1, offset=2)[0].value() == b"3"


def compacted(broker: str, topic: str, **more: str) -> None:
    configs = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "100",
        **more,
    }
    create(broker, topic, configs=configs)


def roll(broker: str, topic: str, key: bytes) -> None:
    """Append until the earlier records are in closed segments: a roll needs an append."""
    client = producer(broker)
    stamp = int(time.time() * 1000)
    records = [{"topic": topic, "key": key, "value": b"roll"}]
    delivered(client, [{**records[0], "timestamp": stamp + 1000}])
    delivered(client, [{**records[0], "timestamp": stamp + 2000}])


def contents(broker: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """All records from the log start to the end."""
    _, high = watermarks(broker, topic)
    found: list[tuple[bytes | None, bytes | None]] = []
    with consumer(broker, {"auto.offset.reset": "earliest"}) as client:
        client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while True:
            (message,) = polled(client, 1)
            found.append((message.key(), message.value()))
            if message.offset() == high - 1:
                return found


@covers("compaction")
def test_compaction_keeps_the_last_value_of_each_key(broker: str, topic: str) -> None:
    compacted(broker, topic)
    records = [{"topic": topic, "key": b"k%d" % (i % 5), "value": b"%d" % i} for i in range(100)]
    delivered(producer(broker, {"linger.ms": 20}), records)
    roll(broker, topic, b"last")

    def is_compacted() -> bool:
        kept = dict(contents(broker, topic))
        assert {kept[b"k%d" % i] for i in range(5)} == {b"%d" % i for i in range(95, 100)}
        return len([key for key, _ in contents(broker, topic) if key != b"last"]) == 5

    wait_for("only the last values are left", is_compacted)
    offsets = [m.offset() for m in read(broker, topic, 5)]
    assert offsets == list(range(95, 100)), "records keep their offsets"


@covers("tombstones", "compaction")
def test_a_tombstone_removes_its_key_and_then_itself(broker: str, topic: str) -> None:
    compacted(broker, topic)
    pairs = [(b"stays", b"1"), (b"goes", b"2"), (b"goes", None), (b"stays", b"3")]
    records = [{"topic": topic, "key": key, "value": value} for key, value in pairs]
    delivered(producer(broker), records)
    rolls = 0

    def is_gone() -> bool:
        # The tombstone goes in the first cleaning after its delete horizon, and only a
        # new closed segment makes the log dirty again.
        nonlocal rolls
        roll(broker, topic, b"roll-%d" % rolls)
        rolls += 1
        found = [pair for pair in contents(broker, topic) if not (pair[0] or b"").startswith(b"r")]
        return found == [(b"stays", b"3")]

    wait_for("key and tombstone are gone", is_gone, every_s=0.4)


@covers("compaction", "retention")
def test_compact_and_delete_together_do_both(broker: str, topic: str) -> None:
    compacted(broker, topic, **{"cleanup.policy": "compact,delete", "retention.ms": "1800000"})
    old = int(time.time() * 1000) - HOUR_MS
    client = producer(broker)
    delivered(client, [{"topic": topic, "key": b"old", "value": b"v", "timestamp": old}])
    delivered(client, [{"topic": topic, "key": b"k", "value": b"newer, so in a new segment"}])
    wait_for("the old segment goes", lambda: watermarks(broker, topic)[0] == 1)
    records = [{"topic": topic, "key": b"k", "value": b"%d" % i} for i in range(10)]
    delivered(client, records)
    roll(broker, topic, b"last")
    wait_for(
        "the rest is compacted",
        lambda: [v for k, v in contents(broker, topic) if k == b"k"] == [b"9"],
    )


@covers("delete-records")
def test_deleted_records_move_the_log_start(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    write(broker, topic, [b"%d" % i for i in range(10)])
    wanted = TopicPartition(topic, 0, 4)
    deleted = admin(broker).delete_records([wanted])[wanted].result(PATIENCE_S)
    assert deleted.low_watermark == 4
    assert watermarks(broker, topic) == (4, 10)
    assert read(broker, topic, 1)[0].value() == b"4"
    everything = TopicPartition(topic, 0, OFFSET_BEGINNING + 1)  # -1: up to the high watermark
    deleted = admin(broker).delete_records([everything])[everything].result(PATIENCE_S)
    assert deleted.low_watermark == 10
    assert watermarks(broker, topic) == (10, 10)
