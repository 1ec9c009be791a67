"""The same `__consumer_offsets`: groups and offsets pass between Apache Kafka and kafkapy.

Members of both protocols, static ones too, are killed (they say no goodbye), then their
server is stopped: whoever starts on its directory shows the same groups, members and offsets.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from compat_tests.confluent_kafka.clients import create
from compat_tests.installation import Unavailable, require
from compat_tests.members.process import Kind, Member
from compat_tests.oracle import ApacheKafka, run_tool
from compat_tests.targets import Kafkapy
from compat_tests.waiting import PATIENCE_S, wait_for

PROPERTIES = {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "500"}
TOPIC = "orders"
PARTITIONS = 4
LIVING = ("classic", "consumer", "static-classic", "static-consumer")

_PROGRAM = Path(__file__).parent / "confluent_kafka" / "member.py"


@pytest.fixture(autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require()
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
def test_groups_that_apache_kafka_wrote_are_ours(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "apache", properties=PROPERTIES)
    kafka.start()
    with _groups(kafka.bootstrap, tmp_path) as written:
        pass
    kafka.stop()
    ours = Kafkapy(tmp_path / "kafkapy", PROPERTIES)
    shutil.copytree(kafka.data, ours.data)
    ours.start()
    assert _everything(ours.bootstrap) == written
    ours.stop()


@pytest.mark.slow
def test_groups_that_we_wrote_are_apache_kafkas(tmp_path: Path) -> None:
    ours = Kafkapy(tmp_path / "kafkapy", PROPERTIES)
    ours.start()
    with _groups(ours.bootstrap, tmp_path) as written:
        pass
    ours.stop()
    _dump_tool_decodes_all_groups(ours.data)
    kafka = ApacheKafka(tmp_path / "apache", properties=PROPERTIES, data=ours.data)
    kafka.start()
    found = wait_for("the groups are loaded", lambda: _everything(kafka.bootstrap))
    assert found == written
    kafka.stop()


@contextmanager
def _groups(bootstrap: str, directory: Path) -> Iterator[dict[str, Any]]:
    """Groups of every kind, and what they are like while their members live."""
    create(bootstrap, TOPIC, partitions=PARTITIONS)
    _produce(bootstrap)
    members = []
    try:
        for group in LIVING:
            protocol = group.removeprefix("static-")
            instances = ("one", "two") if group.startswith("static") else (None, None)
            for instance in instances:
                members.append(_member(bootstrap, group, protocol, instance, directory))
        wait_for("all have read", lambda: _have_read(bootstrap), every_s=0.5)
        _commit(bootstrap, "simple", 5, "by hand")
        _commit(bootstrap, "deleted", 4, "")
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for answer in admin.delete_consumer_groups(["deleted"]).values():
            answer.result(PATIENCE_S)
        yield _everything(bootstrap)
    finally:
        for member in members:
            member.kill()


def _member(
    bootstrap: str, group: str, protocol: str, instance: str | None, directory: Path
) -> Member:
    return Member(
        Kind(group, lambda: [sys.executable, str(_PROGRAM)], protocol=protocol),
        {
            "broker": bootstrap,
            "group": group,
            "protocol": protocol,
            "assignor": "cooperative",
            "instance": instance,
            "topics": [TOPIC],
            "session_ms": 300_000,
        },
        directory,
    )


def _produce(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(20):
        producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def _commit(bootstrap: str, group: str, offset: int, metadata: str) -> None:
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        offsets = [TopicPartition(TOPIC, number, offset, metadata) for number in range(2)]
        client.commit(offsets=offsets, asynchronous=False)
    finally:
        client.close()


def _have_read(bootstrap: str) -> bool:
    """Every group of members is stable, shared by two, with all it read committed."""
    found = _everything(bootstrap)
    return all(
        group in found
        and found[group]["state"] == "STABLE"
        and [len(member[-1]) for member in found[group]["members"]] == [2, 2]
        and sum(offset for offset, _ in found[group]["offsets"].values()) == 20
        for group in LIVING
    )


def _everything(bootstrap: str) -> dict[str, Any]:
    """Each group's type, state, members with what they own, and offsets; {} while loading."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        listed = admin.list_consumer_groups().result(PATIENCE_S).valid
        return {each.group_id: _one(admin, each.group_id) for each in listed}
    except KafkaException:
        return {}


def _one(admin: AdminClient, group: str) -> dict[str, Any]:
    (described,) = admin.describe_consumer_groups([group]).values()
    found = described.result(PATIENCE_S)
    asked = [ConsumerGroupTopicPartitions(group)]
    (fetched,) = admin.list_consumer_group_offsets(asked).values()
    offsets = fetched.result(PATIENCE_S).topic_partitions
    return {
        "type": found.type.name,
        "state": found.state.name,
        "members": sorted(
            (
                member.member_id,
                member.group_instance_id or "",
                member.client_id,
                member.host,
                sorted((p.topic, p.partition) for p in member.assignment.topic_partitions),
            )
            for member in found.members
        ),
        "offsets": {(p.topic, p.partition): (p.offset, p.metadata or "") for p in offsets},
    }


def _dump_tool_decodes_all_groups(data: Path) -> None:
    logs = sorted(str(log) for log in data.glob("__consumer_offsets-*/*.log"))
    done = run_tool("kafka-dump-log", "--offsets-decoder", "--files", ",".join(logs))
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    for complaint in ("rror", "xception", "nknown", "corrupt", "mismatch", "on-decodable"):
        assert complaint not in said, said
    types = [f'"type":"{number}"' for number in (1, 2, 3, 5, 6, 7, 8)]
    for decoded in (*LIVING, "simple", "deleted", *types):
        assert decoded in said, f"{decoded} is not in: {said[:3000]}"
