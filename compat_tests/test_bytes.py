"""The same files: what Apache Kafka wrote we serve, what we wrote Apache Kafka serves.

Apache Kafka writes, stops --> kafkapy starts on a copy --> record for record the same
kafkapy writes, stops --> kafka-dump-log has no complaint --> Apache Kafka starts on it
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.installation import Unavailable, require
from compat_tests.oracle import ApacheKafka, run_tool
from compat_tests.targets import Kafkapy, Server
from compat_tests.waiting import wait_for

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Small segments, so that several are rolled and their indexes sealed.
SMALL_SEGMENTS = {"segment.bytes": "1048576"}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "200",
}
PROPERTIES = {
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "100",
    "auto.create.topics.enable": "false",
}


class Seen(NamedTuple):
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: tuple[Any, ...]


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require()
    except Unavailable as missing:
        pytest.skip(str(missing))


def test_kafkapy_serves_what_apache_kafka_wrote(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "apache", properties=PROPERTIES)
    kafka.start()
    _fill(kafka.bootstrap)
    written = _everything(kafka.bootstrap)
    kafka.stop()

    ours = Kafkapy(tmp_path / "kafkapy", PROPERTIES)
    shutil.copytree(kafka.data, ours.data)
    ours.start()
    _assert_same(_everything(ours.bootstrap), written)
    _produce(ours.bootstrap, "rolled", "lz4", 10)
    ours.stop()


def test_apache_kafka_serves_what_kafkapy_wrote(tmp_path: Path) -> None:
    ours = Kafkapy(tmp_path / "kafkapy", PROPERTIES)
    ours.start()
    _fill(ours.bootstrap)
    written = _everything(ours.bootstrap)
    ours.stop()
    _dump_tool_reads_everything(ours.data)

    kafka = ApacheKafka(tmp_path / "apache", properties=PROPERTIES, data=ours.data)
    kafka.start()
    _assert_same(_everything(kafka.bootstrap), written)
    _produce(kafka.bootstrap, "rolled", "lz4", 10)
    kafka.stop()


def test_a_directory_survives_going_back_and_forth(tmp_path: Path) -> None:
    """kafkapy, Apache Kafka, kafkapy: each goes on where the other stopped."""
    ours = Kafkapy(tmp_path / "kafkapy", PROPERTIES)
    theirs = ApacheKafka(tmp_path / "apache", properties=PROPERTIES, data=ours.data)
    turns: list[Server] = [ours, theirs, ours]
    for number, server in enumerate(turns):
        server.start()
        if number == 0:
            _create(server.bootstrap, "shared", 1, {})
        _produce(server.bootstrap, "shared", "none", 20)
        found = _everything(server.bootstrap)["shared", 0]
        assert [one.offset for one in found] == list(range(20 * (number + 1)))
        server.stop()


def _assert_same(
    found: dict[tuple[str, int], list[Seen]], written: dict[tuple[str, int], list[Seen]]
) -> None:
    """Record for record; of the compacted topic, whose cleaner goes on, the last of each key."""
    compacted = ("compacted", 0)
    assert _latest(found.pop(compacted)) == _latest(written.pop(compacted))
    assert found == written


def _latest(records: list[Seen]) -> dict[bytes | None, Seen]:
    return {record.key: record for record in records}


def _fill(bootstrap: str) -> None:
    for codec in CODECS:
        _create(bootstrap, f"of-{codec}", 2, {})
        _produce(bootstrap, f"of-{codec}", codec, 200)
    _create(bootstrap, "rolled", 1, SMALL_SEGMENTS)
    _produce(bootstrap, "rolled", "none", 400, size=10_000)
    _create(bootstrap, "compacted", 1, COMPACTED)
    for _ in range(4):
        _produce(bootstrap, "compacted", "none", 150, size=10_000, keys=10)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    _create(bootstrap, "gone", 1, {})
    for answer in admin.delete_topics(["gone"]).values():
        answer.result(10)


def _create(bootstrap: str, topic: str, partitions: int, config: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for answer in admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values():
        answer.result(20)


def _produce(
    bootstrap: str, topic: str, codec: str, count: int, *, size: int = 20, keys: int = 1000
) -> None:
    """Idempotent, in batches of a few records, with headers on every other record."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
            "batch.num.messages": 7,
            "linger.ms": 2,
        }
    )
    for number in range(count):
        headers: list[tuple[str, str | bytes | None]] = []
        if number % 2:
            headers = [("n", str(number).encode()), ("null", None)]
        while True:
            try:
                producer.produce(
                    topic, value=f"{number}-".encode() * (size // 4), key=f"k{number % keys}",
                    headers=headers,
                )  # fmt: skip
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(30) == 0


def _everything(bootstrap: str) -> dict[tuple[str, int], list[Seen]]:
    """Every record of every topic that is not internal."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = {
        name: sorted(topic.partitions)
        for name, topic in admin.list_topics(timeout=10).topics.items()
        if not name.startswith("__")
    }
    return {
        (name, index): _partition(bootstrap, name, index)
        for name, indexes in topics.items()
        for index in indexes
    }


def _partition(bootstrap: str, topic: str, index: int) -> list[Seen]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bytes", "enable.auto.commit": False,
         "enable.partition.eof": True, "check.crcs": True}
    )  # fmt: skip
    where = TopicPartition(topic, index)

    def watermarks() -> tuple[int, int] | None:
        try:
            found: tuple[int, int] = consumer.get_watermark_offsets(where, timeout=5)
            return found
        except KafkaException:
            return None  # a leader is still being elected

    low, high = wait_for(f"{topic}-{index} has a leader", watermarks)
    consumer.assign([TopicPartition(topic, index, low)])
    seen: list[Seen] = []
    at = low
    while at < high:
        message = consumer.poll(10)
        assert message is not None, f"{topic}-{index}: nothing after offset {at} of {high}"
        if message.error():
            break  # the end
        offset = message.offset()
        assert offset is not None
        seen.append(
            Seen(
                offset,
                message.timestamp()[1],
                message.key(),
                message.value(),
                tuple(message.headers() or ()),
            )
        )
        at = offset + 1
    consumer.close()
    return seen


def _dump_tool_reads_everything(data: Path) -> None:
    logs = sorted(str(one) for one in data.glob("*/*.log"))
    indexes = sorted(str(one) for one in data.glob("*/*index"))
    records = [one for one in logs if "__cluster_metadata" not in one]
    for files, options in (
        (records, ("--deep-iteration", "--print-data-log")),
        ([one for one in indexes if "__cluster_metadata" not in one], ("--index-sanity-check",)),
        ([one for one in logs if "__cluster_metadata" in one], ("--cluster-metadata-decoder",)),
    ):
        done = run_tool("kafka-dump-log", "--files", ",".join(files), *options)
        assert done.returncode == 0, done.stderr
        assert not _complaints(done.stderr), done.stderr
        assert "isvalid: false" not in done.stdout
        assert "Found" not in done.stdout, done.stdout[-2000:]


def _complaints(stderr: str) -> list[str]:
    """The tool calls the first offset of every segment but the first "non-consecutive", in
    Apache Kafka's own directories too; and a compacted log has gaps."""
    return [
        line
        for line in stderr.splitlines()
        if line.strip()
        and not line.strip().startswith(("Non-consecutive offsets in", "-1 is followed by"))
        and not ("is followed by" in line and "compacted" in stderr)
    ]
