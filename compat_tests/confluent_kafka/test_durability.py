"""What is still there after a stop, and after a crash."""

import signal
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    admin,
    create,
    delivered,
    producer,
    read,
    watermarks,
    write,
)
from compat_tests.targets import Server
from compat_tests.waiting import PATIENCE_S, wait_for


@covers("restart", "topic-ids")
def test_a_clean_restart_loses_nothing(own_server: Any, topic: str) -> None:
    server: Server = own_server()
    create(server.bootstrap, topic, configs={"retention.ms": "7777777777"})
    write(server.bootstrap, topic, [b"%d" % i for i in range(100)])
    wanted = TopicPartition(topic, 0, 10)
    admin(server.bootstrap).delete_records([wanted])[wanted].result(PATIENCE_S)
    server.stop()
    server.start()
    serves_again(server, topic)
    assert watermarks(server.bootstrap, topic) == (10, 100)
    got = read(server.bootstrap, topic, 90)
    assert [int(message.value() or b"") for message in got] == list(range(10, 100))
    write(server.bootstrap, topic, [b"next"])
    assert watermarks(server.bootstrap, topic) == (10, 101)


@covers("kill")
@pytest.mark.slow
def test_after_a_kill_every_acknowledged_record_is_there_once(own_server: Any, topic: str) -> None:
    server: Server = own_server()
    create(server.bootstrap, topic)
    client = producer(server.bootstrap, {"enable.idempotence": True, "message.timeout.ms": 60000})
    records = [{"topic": topic, "value": b"%d" % i} for i in range(500)]
    delivered(client, records)
    server.stop(how=signal.SIGKILL)
    server.start()
    serves_again(server, topic)
    more = [{"topic": topic, "value": b"%d" % i} for i in range(500, 1000)]
    delivered(client, more)
    got = read(server.bootstrap, topic, 1000)
    assert [int(message.value() or b"") for message in got] == list(range(1000))


def serves_again(server: Server, topic: str) -> None:
    """Until the topic has a leader: a broker that was killed waits for its own session."""

    def leads() -> bool:
        found = admin(server.bootstrap).list_topics(topic, timeout=PATIENCE_S).topics[topic]
        return bool(found.partitions) and found.partitions[0].leader >= 0

    wait_for("the topic is led again", leads, timeout_s=60)
