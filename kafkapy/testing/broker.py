"""`Broker`: start a real broker, look inside, trip it up, throw it away.

    caller's thread   Broker ------ BrokerThread ------ broker's thread   TestShell, Node
                        |  faults, requests: shared, kept over restarts      |
                        +------------------- Gatekeeper --------------------+

Clients connect to `bootstrap` through a real socket. Every method blocks its caller for
microseconds to milliseconds, never the broker; use it from any thread.
"""

import shutil
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from kafkapy.broker.node import Node
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import build_batch
from kafkapy.protocol.records import NewRecord
from kafkapy.testing import groups as group_calls
from kafkapy.testing.asking import ask, check
from kafkapy.testing.clock import Time
from kafkapy.testing.faults import Faults
from kafkapy.testing.gate import Gatekeeper
from kafkapy.testing.groups import Group
from kafkapy.testing.reading import Record, decode, read_bytes
from kafkapy.testing.requests import Request, Requests
from kafkapy.testing.settings import configured, make_directory
from kafkapy.testing.shell import Heard
from kafkapy.testing.thread import BrokerDied, BrokerThread

T = TypeVar("T")
Text = str | bytes | None
# How often `wait_for` looks; a look at an unchanged topic costs some 50 us.
_LOOK_SECONDS = 0.003


class Broker:
    """A lone Kafka broker for one test, or for a few. `settings` are Kafka's, by its names."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.faults = Faults()
        self.clock = Time(lambda by_ms: self._running().advance(by_ms))
        self._settings = dict(settings or {})
        self._requests = Requests()
        self._gate = Gatekeeper(self.faults, self._requests)
        self._heard = Heard()
        self._directory: str | None = None
        self._thread: BrokerThread | None = None
        self._port = 0

    def __enter__(self) -> "Broker":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None:
            self.faults.check()

    # --- its life ---

    def start(self) -> None:
        """Serve; on the port and the data of before, if it served before."""
        assert self._thread is None, "the broker runs already"
        if self._directory is None:
            self._directory = make_directory()
        try:
            config = configured(self._directory, self._port, self._settings)
            thread = BrokerThread(config, self._heard, self._gate, self.clock.ahead_ms)
            self._port = thread.start()
        except BaseException:
            self._remove()
            raise
        self._thread = thread

    def stop(self) -> None:
        """Shut down cleanly, as on SIGTERM; the data stays for `start`."""
        thread, self._thread = self._running(), None
        thread.stop()

    def kill(self) -> None:
        """End at once, as on SIGKILL: nothing is flushed or handed over."""
        thread, self._thread = self._running(), None
        thread.stop(kill=True)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, if it runs, and remove its data."""
        try:
            if self._thread is not None:
                self.stop()
        finally:
            self._remove()

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers."""
        assert self._port, "the broker has not been started"
        return f"127.0.0.1:{self._port}"

    # --- topics and records ---

    def create_topic(
        self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """It serves when this returns. Refused (with Kafka's error) if it cannot be."""
        asked = {
            "name": topic,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": name, "value": one} for name, one in (config or {}).items()],
        }
        body = {"topics": [asked], "timeout": 30_000, "validate_only": False}
        row = self._ask(ApiKey.CREATE_TOPICS, 7, body).topics[0]
        check(row.error_code, f"topic {topic}", row.error_message)

    def topics(self) -> dict[str, int]:
        """Topic -> number of partitions, without Kafka's internal ones."""
        return self._call(
            lambda node: {
                name: len(topic.partitions)
                for name, topic in sorted(node.image.topics_by_name.items())
                if not name.startswith("__")
            }
        )

    def produce(
        self,
        topic: str,
        value: Text,
        key: Text = None,
        headers: Mapping[str, Text] | Sequence[tuple[str, Text]] = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> TopicPartition:
        """Write one record; a topic that is missing is created. Without `partition` a key
        goes where librdkafka would send it (CRC-32), and a record without key to 0."""
        if topic not in self.topics():
            self.create_topic(topic)
        if partition is None:
            partition = 0 if key is None else _crc(key) % self.topics()[topic]
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        record = NewRecord(
            _bytes(key),
            _bytes(value),
            time.time_ns() // 1_000_000 if timestamp is None else timestamp,
            tuple((name, _bytes(one)) for name, one in pairs),
        )
        rows = {"index": partition, "records": build_batch([record])}
        body = {
            "transactional_id": None,
            "acks": -1,
            "timeout": 30_000,
            "topic_data": [{"name": topic, "partition_data": [rows]}],
        }
        row = self._ask(ApiKey.PRODUCE, 12, body).responses[0].partition_responses[0]
        check(row.error_code, f"{topic}-{partition}", row.error_message)
        return TopicPartition(topic, partition)

    def records(self, topic: str) -> list[Record]:
        """All that stands in the topic, by partition and offset: committed, aborted, open."""
        return [
            record
            for index, start, data in self._call(lambda node: _read_topic(node, topic))
            for record in decode(topic, index, data, start)
        ]

    def wait_for(self, topic: str, count: int = 1, timeout: float = 10.0) -> list[Record]:
        """The topic's visible records once there are `count` (those of committed or no
        transactions). TimeoutError says how many came."""
        deadline = time.monotonic() + timeout
        seen: list[tuple[int, int, int]] | None = None
        visible: list[Record] = []
        while True:
            ends = self._call(lambda node: _ends(node, topic))
            if ends != seen:
                seen = ends
                visible = [one for one in self.records(topic) if one.is_visible] if ends else []
            if len(visible) >= count:
                return visible
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{topic} has {len(visible)} of {count} records after {timeout} s"
                    + ("" if ends else "; there is no such topic")
                )
            time.sleep(_LOOK_SECONDS)

    # --- groups ---

    def groups(self) -> list[Group]:
        return group_calls.groups(self._ask)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offsets the group has committed."""
        return group_calls.committed(self._ask, group)

    def lag(self, group: str, topic: str | None = None) -> int:
        """Records the group has still to read: in all partitions of the topics it has
        committed in (or of `topic`), from its commit, or else from the start, to the end."""
        commits = self.committed(group)
        topics = {one.topic for one in commits} if topic is None else {topic}
        lag = 0
        for name in topics:
            for index, start, stable in self._call(partial(_ends, topic=name)):
                lag += max(0, stable - commits.get(TopicPartition(name, index), start))
        return lag

    # --- what happened ---

    def requests(self, api: str | None = None) -> list[Request]:
        """What clients asked so far (the last 10,000), or only their requests of `api`."""
        seen = list(self._requests.seen)
        return seen if api is None else [one for one in seen if one.api == api]

    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The broker's own log: (level, event, facts). Says why a connection was closed."""
        return list(self._heard.events)

    # --- inside ---

    def _running(self) -> BrokerThread:
        if self._thread is None:
            raise BrokerDied("the broker does not run; start() it")
        return self._thread

    def _call(self, work: Callable[[Node], T]) -> T:
        return self._running().call(work)

    def _ask(self, api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
        return self._running().ask(lambda node, done: ask(node, api, version, body, done))

    def _remove(self) -> None:
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory)


def _read_topic(node: Node, topic: str) -> list[tuple[int, int, bytes]]:
    """(partition, log start offset, batches) of each partition."""
    found = node.image.topics_by_name.get(topic)
    if found is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    partitions = [node.partitions.get(topic, index) for index in sorted(found.partitions)]
    return [
        (one.topic_partition.partition, one.log.log_start_offset, read_bytes(one))
        for one in partitions
        if one is not None
    ]


def _ends(node: Node, topic: str) -> list[tuple[int, int, int]]:
    """(partition, log start offset, last stable offset) of each partition."""
    found = node.image.topics_by_name.get(topic)
    partitions = [node.partitions.get(topic, index) for index in found.partitions] if found else []
    return [
        (one.topic_partition.partition, one.log.log_start_offset, one.log.last_stable_offset)
        for one in partitions
        if one is not None
    ]


def _bytes(text: Text) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _crc(key: str | bytes) -> int:
    return zlib.crc32(key.encode() if isinstance(key, str) else key)
