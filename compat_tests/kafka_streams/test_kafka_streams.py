"""A word count by Kafka Streams with exactly_once_v2, killed and brought back from nothing.

lines -> [repartition] -> counts (RocksDB + changelog) -> counts of each word, each once
"""

import re
import shutil
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from compat_tests import programs
from compat_tests.behaviours import covers, mark
from compat_tests.confluent_kafka.clients import create
from compat_tests.installation import KAFKA_STREAMS, Unavailable
from compat_tests.processes import Process
from compat_tests.targets import Server
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.slow

Start = Callable[..., Process]
_PARTITIONS = 3
_WORDS = ("alpha", "beta", "gamma", "delta")
_PATIENCE_S = 90.0
PROTOCOLS = pytest.mark.parametrize(
    "protocol", ["classic", pytest.param("streams", marks=mark("streams-groups"))]
)


@pytest.fixture
def word_count(tmp_path: Path) -> Iterator[Start]:
    try:
        command = programs.java_program(Path(__file__).parent, KAFKA_STREAMS, "WordCount")
    except Unavailable as reason:
        pytest.skip(str(reason))
    started: list[Process] = []

    def start(broker: str, topic: str, state: Path, protocol: str) -> Process:
        names = [f"app-{topic}", topic, f"{topic}-counts", str(state), protocol]
        log = tmp_path / f"streams-{len(started)}.log"
        started.append(Process([*command, broker, *names], log=log))
        return started[-1]

    yield start
    for process in started:
        process.stop(how=signal.SIGKILL)


def write(broker: str, topic: str, first: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker})
    for i in range(first, first + count):
        line = f"{_WORDS[i % 4]} {_WORDS[(i // 4) % 4]}"
        producer.produce(topic, line, partition=i % _PARTITIONS)
    assert producer.flush(30) == 0


def expected_counts(lines: int) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for i in range(lines):
        counts[_WORDS[i % 4]] += 1
        counts[_WORDS[(i // 4) % 4]] += 1
    return dict(counts)


class Counts:
    """What came out so far, committed: the counts of each word in the order they came."""

    def __init__(self, broker: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker,
                "group.id": f"reads-{topic}",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        self._consumer.subscribe([topic])
        self.of_word: dict[str, list[int]] = defaultdict(list)

    def have(self, expected: dict[str, int]) -> bool:
        for message in self._consumer.consume(1000, 0.2):
            if message.error() is None:
                word, count = message.key(), message.value()
                assert word is not None
                assert count is not None
                self.of_word[word.decode()].append(int(count))
        return {word: len(counts) for word, counts in self.of_word.items()} == expected

    def wait_for(self, expected: dict[str, int], app: Process) -> None:
        def arrived() -> bool:
            assert app.is_running, app.log_tail()
            return self.have(expected)

        try:
            wait_for("the counts of all words", arrived, timeout_s=_PATIENCE_S)
        except AssertionError as failure:
            told = {word: len(counts) for word, counts in self.of_word.items()}
            raise AssertionError(f"{expected} expected, {told} came\n{app.log_tail()}") from failure

    def close(self) -> None:
        self._consumer.close()


def assert_each_count_once(counts: Counts) -> None:
    for word, came in counts.of_word.items():
        assert came == list(range(1, len(came) + 1)), word


@PROTOCOLS
@covers("streams-exactly-once", "streams-restore")
def test_a_word_count_is_killed_loses_its_state_and_counts_each_word_once(
    broker: str, topic: str, word_count: Start, tmp_path: Path, protocol: str
) -> None:
    """Kill it in the middle, delete its directory: the counts go on from the changelog."""
    create(broker, topic, partitions=_PARTITIONS)
    create(broker, f"{topic}-counts")
    write(broker, topic, 0, 600)
    counts = Counts(broker, f"{topic}-counts")
    first = word_count(broker, topic, tmp_path / "state-1", protocol)
    counts.wait_for(expected_counts(600), first)
    write(broker, topic, 600, 600)
    first.stop(how=signal.SIGKILL)
    shutil.rmtree(tmp_path / "state-1")
    second = word_count(broker, topic, tmp_path / "state-2", protocol)
    counts.wait_for(expected_counts(1200), second)
    assert_each_count_once(counts)
    counts.close()
    restored = [int(n) for n in re.findall(r"^restored (\d+)", second.log.read_text(), re.M)]
    # The changelog holds a record for each count, and a marker for each transaction.
    assert sum(restored) >= 600, second.log.read_text()


@PROTOCOLS
@covers("streams-exactly-once")
def test_a_word_count_goes_on_through_a_kill_of_the_server(
    own_server: Callable[..., Server], topic: str, word_count: Start, tmp_path: Path, protocol: str
) -> None:
    server = own_server()
    create(server.bootstrap, topic, partitions=_PARTITIONS)
    create(server.bootstrap, f"{topic}-counts")
    write(server.bootstrap, topic, 0, 300)
    counts = Counts(server.bootstrap, f"{topic}-counts")
    app = word_count(server.bootstrap, topic, tmp_path / "state", protocol)
    counts.wait_for(expected_counts(300), app)
    write(server.bootstrap, topic, 300, 600)
    server.stop(how=signal.SIGKILL)
    server.start()
    write(server.bootstrap, topic, 900, 300)
    counts.wait_for(expected_counts(1200), app)
    assert_each_count_once(counts)
    counts.close()
