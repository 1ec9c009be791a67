"""Writes `from_0_1_0.tar.gz` anew: `python -m tests.upgrades.write KAFKAPY`, with the path of the
`kafkapy` of that version (commit e2a71d4, installed into a virtual environment of its own).

One of each that a directory may have: every codec, a compacted topic, settings of topics and of
the broker, groups of both protocols, transactions committed, aborted and left open. The server is
stopped cleanly in the end.
"""

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic

from tests.upgrades.contents import (
    ABORTED,
    ARCHIVE,
    CODECS,
    COMMITTED,
    GROUPS,
    IN_TRANSACTION,
    LATEST,
    LATEST_GONE,
    MESSAGE_MAX_BYTES,
    OPEN,
    PLAIN,
    TOPICS,
    Written,
)

_WAIT_S = 30


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        command = [sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--data", str(data)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            line = next(one for one in server.stdout if "serves on" in one)
            try:
                write(line.partition("serves on ")[2].split()[0])
            finally:
                server.terminate()
                server.wait(_WAIT_S)
        with tarfile.open(ARCHIVE, "w:gz") as archive:
            archive.add(data, "data", filter=_nobodys)


def _nobodys(one: tarfile.TarInfo) -> tarfile.TarInfo:
    one.uid = one.gid = 0
    one.mtime = 0
    one.uname = one.gname = ""
    return one


def write(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = [NewTopic(topic, count, 1, config=config) for topic, (count, config) in TOPICS.items()]
    for made in admin.create_topics(new).values():
        made.result(_WAIT_S)
    entry = ConfigEntry(
        "message.max.bytes", MESSAGE_MAX_BYTES, incremental_operation=AlterConfigOpType.SET
    )
    broker = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    for done in admin.incremental_alter_configs([broker]).values():
        done.result(_WAIT_S)
    for codec in CODECS:
        _produce(bootstrap, "plain", [one for one in PLAIN if one.codec == codec], codec)
    _produce(bootstrap, "latest", [*LATEST, Written(0, LATEST_GONE, None)], "none")
    for group, (protocol, offsets) in GROUPS.items():
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol}
        )
        if protocol == "consumer":  # its group has to be there; the classic one needs no members
            consumer.subscribe(["plain"])
            while not consumer.assignment():
                consumer.poll(0.1)
        consumer.commit(offsets=_positions(offsets), asynchronous=False)
        consumer.close()
    _transact(bootstrap)


def _produce(bootstrap: str, topic: str, records: Iterable[Written], codec: str) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True}
    )
    for one in records:
        producer.produce(topic, one.value, key=one.key, partition=one.partition, timestamp=one.at)
    assert producer.flush(_WAIT_S) == 0


def _transact(bootstrap: str) -> None:
    for name, values in (("done", COMMITTED), ("undone", ABORTED), ("open", OPEN)):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        producer.init_transactions(_WAIT_S)
        producer.begin_transaction()
        for value in values:
            producer.produce("paid", value, partition=0)
        assert producer.flush(_WAIT_S) == 0
        if name == "done":
            group, offsets = IN_TRANSACTION
            consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
            metadata = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(_positions(offsets), metadata, _WAIT_S)
            producer.commit_transaction(_WAIT_S)
            consumer.close()
        elif name == "undone":
            producer.abort_transaction(_WAIT_S)


def _positions(offsets: Mapping[int, int]) -> list[TopicPartition]:
    return [TopicPartition("plain", index, offset) for index, offset in offsets.items()]


if __name__ == "__main__":
    main()
