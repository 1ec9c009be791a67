"""Hooks on three nodes: with followers, through a leader that dies, and on a node without one."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message, Producer

from kafkapy.hooks import Place, ProduceHook, Record
from kafkapy.server.hooks import InstalledHooks
from kafkapy.testing import Cluster
from kafkapy.testing.node.shell import TestShell


class Upper(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        return record._replace(value=(record.value or b"").upper())


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Whose nodes have a hook, all but the third."""

    def hooks(self: TestShell) -> InstalledHooks:
        given = {} if self._config.node_id == 3 else {"upper": Upper}
        return InstalledHooks((), self._journal, given)

    monkeypatch.setattr(TestShell, "_hooks", hooks)
    with Cluster(nodes=3) as cluster:
        yield cluster


def send(producer: Producer, values: list[bytes], partition: int) -> list[KafkaError | None]:
    told: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        told.append(error)

    for value in values:
        producer.produce("t", value, partition=partition, on_delivery=delivered)
    assert producer.flush(60) == 0
    return told


def test_who_leads_next_asks_its_hook_and_who_has_none_writes_nothing(kafka: Cluster) -> None:
    """Moved from node to node, and once because a leader is dead."""
    kafka.create_topic("t", 1, replication_factor=3, config={"kafkapy.hook.produce": "upper"})
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 0}
    )
    written: list[bytes] = []
    for turn, to in enumerate((1, 0, 3, 2)):
        if to:
            kafka.move_leader("t", to=to)
        else:
            kafka.kill(1)
            kafka.wait_for(lambda: kafka.leader("t") in (2, 3), "another leader")
        leader = kafka.leader("t")
        values = [b"turn %d value %d" % (turn, number) for number in range(50)]
        told = send(producer, values, 0)
        if leader == 3:
            assert {one and one.code() for one in told} == {KafkaError.POLICY_VIOLATION}
        else:
            assert told == [None] * 50
            written += [value.upper() for value in values]
        if not to:
            kafka.restart(1)
        kafka.wait_until_whole()
    for node in (1, 2, 3):
        assert [record.value for record in kafka.node(node).records("t")] == written
