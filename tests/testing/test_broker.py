"""The broker in the test's process: starts, serves, shows what it holds, leaves nothing."""

import gc
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafkapy.core.errors import Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.testing import Broker

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("in_memory", [True, False])
def test_brokers_leave_no_thread_and_no_descriptor(in_memory: bool, tmp_path: Path) -> None:
    def use(number: int) -> None:
        directory = None if in_memory else tmp_path / str(number)
        with Broker(directory=directory) as kafka:
            kafka.produce("t", "x")

    use(-1)  # what is imported and opened once
    before = threading.active_count(), descriptors()
    for number in range(20):
        use(number)
    assert (threading.active_count(), descriptors()) == before


def test_files_are_in_memory_unless_a_directory_is_named(tmp_path: Path) -> None:
    with Broker() as kafka:
        kafka.produce("t", "x")
        assert not Path(kafka._directory).exists()
    with Broker(directory=tmp_path) as kafka:
        kafka.produce("t", "x")
    assert (tmp_path / "t-0" / "00000000000000000000.log").stat().st_size > 0
    with Broker(directory=tmp_path) as kafka:
        assert [one.value for one in kafka.records("t")] == [b"x"]


def test_a_broker_that_nobody_holds_ends_by_itself() -> None:
    kafka = Broker()
    kafka.start()
    thread = kafka._running()._thread
    del kafka
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "end",
    ["", "raise ZeroDivisionError", "import sys; sys.exit(3)", "import os; os._exit(0)"],
    ids=["falls off", "raises", "exits", "dies"],
)
def test_a_process_that_forgot_its_broker_still_ends(end: str, tmp_path: Path) -> None:
    """Within the time that subprocess.run gives it, and leaving no file."""
    code = "from kafkapy.testing import Broker\nkafka = Broker()\nkafka.start()\n"
    code += "kafka.produce('t', 'x')\nprint('ran', flush=True)\n" + end
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert ended.stdout == "ran\n"
    assert "Error" not in ended.stderr.replace("ZeroDivisionError", "")
    assert list(tmp_path.iterdir()) == []


WITHOUT = """
import os, selectors, socket, sys
# What Windows has not, of what a Python on Linux has.
for module in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[module] = None
for name in ("pread", "preadv", "pwrite", "pwritev", "sendfile", "fdatasync", "sysconf", "writev"):
    delattr(os, name)
import kafkapy.server.sockets.reactor
kafkapy.server.sockets.reactor.select = None
selectors.DefaultSelector = selectors.SelectSelector
class Without(type):
    def __getattribute__(cls, name):
        if name == "sendmsg":
            raise AttributeError(name)
        return super().__getattribute__(name)
class Socket(socket.socket, metaclass=Without):
    sendmsg = property()
socket.socket = Socket
from kafkapy.testing import Broker
from confluent_kafka import Producer
with Broker() as kafka:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("orders", b"1")
    assert producer.flush(20) == 0
    assert kafka.wait_for("orders")[0].value == b"1"
    kafka.kill()
    kafka.start()
    assert kafka.wait_for("orders")[0].value == b"1"
print("served")
"""


def test_nothing_in_it_needs_what_only_linux_has() -> None:
    """Neither epoll nor fcntl nor pwrite nor sendmsg: what macOS or Windows lack."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.stdout == "served\n", done.stderr


def test_brokers_are_isolated() -> None:
    with Broker() as one, Broker() as other:
        one.produce("t", "x")
        assert other.topics() == {}
        assert one.bootstrap != other.bootstrap


def test_threads_that_write_to_a_new_topic_create_it_once(kafka: Broker) -> None:
    """Each finds it missing; whoever comes second goes on."""
    create = kafka.create_topic
    all_missed_it = threading.Barrier(4)

    def late(topic: str) -> None:
        all_missed_it.wait(10)
        create(topic)

    kafka.create_topic = late  # type: ignore[assignment,method-assign]  # as `produce` calls it
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: kafka.produce("new", str(number), key="k"), range(4)))
    assert len(kafka.records("new")) == 4


def test_an_internal_topic_takes_more_than_one_record(kafka: Broker) -> None:
    for value in ("1", "2"):
        kafka.produce("__own", value)
    assert len(kafka.records("__own")) == 2
