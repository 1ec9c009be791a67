"""A file source and a file sink through a topic, past restarts of the worker and the broker."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from compat_tests import installation
from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.kafka_connect.worker import Worker
from compat_tests.targets import Server
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.slow

_PATIENCE_S = 120.0


@pytest.fixture
def worker(tmp_path: Path, topic: str) -> Iterator[Callable[[str], Worker]]:
    if (reason := installation.why_not(installation.KAFKA_CONNECT)) is not None:
        pytest.skip(reason)
    started: list[Worker] = []

    def start(broker: str) -> Worker:
        started.append(Worker(tmp_path, broker, topic))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


class Pipeline:
    """in.txt -> FileStreamSource -> topic -> FileStreamSink -> out.txt"""

    def __init__(self, directory: Path, topic: str) -> None:
        self._topic = topic
        self._source = directory / "in.txt"
        self._sink = directory / "out.txt"
        self._written = 0
        self._source.touch()

    def deploy(self, worker: Worker) -> None:
        prefix = "org.apache.kafka.connect.file.FileStream"
        common = {"tasks.max": "1"}
        source = {"connector.class": f"{prefix}SourceConnector", "topic": self._topic}
        source |= {"file": str(self._source), "exactly.once.support": "required"}
        sink = {"connector.class": f"{prefix}SinkConnector", "topics": self._topic}
        sink |= {"file": str(self._sink)}
        worker.add("source", {**common, **source})
        worker.add("sink", {**common, **sink})

    def write(self, count: int) -> None:
        with self._source.open("a") as file:
            for i in range(self._written, self._written + count):
                file.write(f"line {i}\n")
        self._written += count

    def wait_until_through(self) -> None:
        """All lines came out in their order; a sink may write a line again after a crash."""
        expected = [f"line {i}" for i in range(self._written)]

        def through() -> bool:
            lines = self._sink.read_text().splitlines() if self._sink.exists() else []
            return list(dict.fromkeys(lines)) == expected

        wait_for(f"{len(expected)} lines in the sink", through, timeout_s=_PATIENCE_S, every_s=0.2)

    def assert_topic_has_each_line_once(self, broker: str) -> None:
        settings = {"bootstrap.servers": broker, "group.id": f"reads-{self._topic}"}
        settings |= {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        consumer = Consumer(settings)
        consumer.subscribe([self._topic])
        got: list[str] = []

        def all_came() -> bool:
            for message in consumer.consume(500, 0.5):
                value = message.value()
                if message.error() is None and value is not None:
                    got.append(value.decode())
            return len(got) >= self._written

        wait_for("all lines in the topic", all_came)
        consumer.close()
        assert got == [f"line {i}" for i in range(self._written)]


@covers("connect-pipeline", "connect-restart")
def test_a_pipeline_survives_restarts_of_its_worker_and_of_the_server(
    own_server: Callable[..., Server],
    topic: str,
    worker: Callable[[str], Worker],
    tmp_path: Path,
) -> None:
    """Stop the worker, then the server, then kill the server: the topic has each line once."""
    server = own_server()
    create(server.bootstrap, topic)
    pipeline = Pipeline(tmp_path, topic)
    runs = worker(server.bootstrap)
    pipeline.deploy(runs)
    pipeline.write(200)
    pipeline.wait_until_through()
    runs.wait_until_runs("source")
    runs.wait_until_runs("sink")

    runs.stop()
    pipeline.write(200)
    runs.start()
    pipeline.wait_until_through()

    for how in (signal.SIGTERM, signal.SIGKILL):
        server.stop(how=how)
        pipeline.write(200)
        server.start()
        pipeline.wait_until_through()
    pipeline.assert_topic_has_each_line_once(server.bootstrap)
