"""The broker in the test's process: starts, serves, shows what it holds, leaves nothing."""

import os
import socket
import threading
from pathlib import Path

import pytest

from kafkapy.core.errors import Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.testing import Broker


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_what_is_produced_is_read_back_decoded() -> None:
    with Broker() as kafka:
        kafka.create_topic("orders", partitions=3)
        kafka.produce("orders", "one", key="k", headers={"h": "1"}, partition=2, timestamp=77)
        (record,) = kafka.records("orders")
        assert (record.partition, record.offset, record.timestamp) == (2, 0, 77)
        assert (record.key, record.value, record.headers) == (b"k", b"one", (("h", b"1"),))
        assert record.transaction is None
        assert record.is_visible
        assert kafka.topics() == {"orders": 3}


def test_a_missing_topic_is_created_by_produce_and_named_by_records() -> None:
    with Broker() as kafka:
        assert kafka.produce("new", b"x") == TopicPartition("new", 0)
        with pytest.raises(Refused, match="there is no topic old"):
            kafka.records("old")
        with pytest.raises(TimeoutError, match=r"old has 0 of 1 .* no such topic"):
            kafka.wait_for("old", timeout=0.01)
        with pytest.raises(Refused, match="TOPIC_ALREADY_EXISTS"):
            kafka.create_topic("new")


def test_records_survive_a_restart_and_a_kill_on_the_same_port() -> None:
    with Broker() as kafka:
        bootstrap = kafka.bootstrap
        kafka.produce("orders", "one")
        kafka.restart()
        kafka.produce("orders", "two")
        kafka.kill()
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", int(bootstrap.rpartition(":")[2]))) != 0
        kafka.start()
        assert kafka.bootstrap == bootstrap
        assert [one.value for one in kafka.records("orders")] == [b"one", b"two"]


def test_a_bad_setting_is_said_where_the_broker_is_started() -> None:
    before = threading.active_count(), descriptors()
    with pytest.raises(Exception, match=r"num\.partitions"):
        Broker({"num.partitions": "many"}).start()
    assert (threading.active_count(), descriptors()) == before


def test_fifty_brokers_leave_no_thread_no_descriptor_and_no_file() -> None:
    with Broker():
        pass  # what is imported and opened once
    memory = Path("/dev/shm")
    before = threading.active_count(), descriptors(), len(list(memory.glob("kafkapy-test-*")))
    for _ in range(50):
        with Broker() as kafka:
            kafka.produce("t", "x")
    after = threading.active_count(), descriptors(), len(list(memory.glob("kafkapy-test-*")))
    assert after[:2] == before[:2]
    assert after[2] <= before[2] + 2  # another run on this machine may have its own


def test_brokers_are_isolated() -> None:
    with Broker() as one, Broker() as other:
        one.produce("t", "x")
        assert other.topics() == {}
        assert one.bootstrap != other.bootstrap
