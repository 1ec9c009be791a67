"""A transaction's offsets are taken after the broker died and came back, without any load."""

import signal
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests import installation
from compat_tests.crashes.consumers import COMMITTED, committed, consumer
from compat_tests.crashes.producers import LONG_TRANSACTION_TIMEOUT_MS, TransactionalProducer
from compat_tests.targets import Server, server
from compat_tests.waiting import PATIENCE_S


def test_offsets_go_into_a_transaction_after_kill_9(target: str, tmp_path: Path) -> None:
    """What the producer knew of the group's coordinator does not outlive the restart."""
    broker = server(target, tmp_path / "server")
    try:
        _play(broker)
    except installation.Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        broker.stop()


def _play(broker: Server) -> None:
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.create_topics([NewTopic("input", 1, -1)]).values():
        answer.result(PATIENCE_S)
    producer = TransactionalProducer(broker.bootstrap, "copy", LONG_TRANSACTION_TIMEOUT_MS)
    producer.start(lambda: False)
    group = consumer(broker.bootstrap, COMMITTED, group_id="copy")

    def commit(offset: int) -> None:
        producer.begin()
        place = [TopicPartition("input", 0, offset)]
        producer.send_offsets(place, group.consumer_group_metadata())
        producer.commit()

    commit(1)
    broker.stop(how=signal.SIGKILL)
    broker.start()
    commit(2)
    assert committed(group, "input") == 2
    group.close()
