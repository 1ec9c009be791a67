"""`Broker`: start a real broker, look inside, trip it up, throw it away.

    caller's thread   Broker ------ BrokerThread ------ broker's thread   TestShell, Node
                        |  faults, requests: shared, kept over restarts      |
                        +------------------- Gatekeeper --------------------+

Clients connect to `bootstrap` through a real socket. Every method blocks its caller for
microseconds to milliseconds, never the broker; use it from any thread.
"""

import time
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import build_batch
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing.asking import coordinators
from kafkapy.testing.asking import groups as group_calls
from kafkapy.testing.asking.ask import check
from kafkapy.testing.asking.coordinators import LostCoordinator
from kafkapy.testing.asking.groups import Group, Member
from kafkapy.testing.asking.reading import Record, decode, read_bytes
from kafkapy.testing.gate.faults import known_api
from kafkapy.testing.gate.requests import Request
from kafkapy.testing.node.running import Running

Text = str | bytes | None
# How often `wait_for` looks; a look at an unchanged topic costs some 50 us.
LOOK_SECONDS = 0.003
_PATIENCE_SECONDS = 10.0


class Broker(Running):
    """A lone Kafka broker for one test, or for a few."""

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
            lambda broker: {
                name: len(topic.partitions)
                for name, topic in sorted(broker.image.topics_by_name.items())
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
        count = self._call(lambda broker: _count(broker, topic)) or self._made(topic)
        if partition is None:
            partition = 0 if key is None else _crc(key) % count
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

    def _made(self, topic: str) -> int:
        """Create it, unless somebody else just does; the number of its partitions, once this
        broker knows them."""
        try:
            self.create_topic(topic)
        except Refused as refused:
            if refused.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (count := self._call(lambda broker: _count(broker, topic))):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the broker does not know topic {topic} yet")
            time.sleep(LOOK_SECONDS)
        return count

    def records(self, topic: str) -> list[Record]:
        """All that stands in the topic, by partition and offset: committed, aborted, open."""
        return [
            record
            for index, start, data in self._call(lambda broker: _read_topic(broker, topic))
            for record in decode(topic, index, data, start)
        ]

    def wait_for(self, topic: str, count: int = 1, timeout: float = 10.0) -> list[Record]:
        """The topic's visible records once there are `count` (those of committed or no
        transactions). TimeoutError says how many came."""
        looking = Looking(self, topic, count, timeout)
        while (found := looking.look()) is None:
            time.sleep(LOOK_SECONDS)
        return found

    # --- groups ---

    def groups(self) -> list[Group]:
        return group_calls.groups(self._ask)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offsets the group has committed."""
        return group_calls.committed(self._ask, group)

    def lag(self, group: str, topic: str | None = None) -> int:
        """Records the group has still to read: in all partitions of `topic`, or else of the
        topics it has committed in or is reading, from its commit, or else from the start, to
        the end. Without `topic` the group must exist."""
        commits = self.committed(group)
        topics = {one.topic for one in commits} if topic is None else {topic}
        if topic is None:
            members = group_calls.one_group(self._ask, group).members
            topics |= {one.topic for member in members for one in member.partitions}
        lag = 0
        for name in topics:
            for index, start, stable in self._call(partial(_ends, topic=name)):
                lag += max(0, stable - commits.get(TopicPartition(name, index), start))
        return lag

    def expire_member(
        self, group: str, *, member_id: str | None = None, client_id: str | None = None
    ) -> Member:
        """Put a member out of its group, as if its session had ended: the others take over,
        and it hears of it at its next heartbeat. A lone member need not be named."""
        return group_calls.expire(self._ask, group, member_id, client_id)

    def lose_coordinator(
        self, *, group: str | None = None, transactional_id: str | None = None
    ) -> LostCoordinator:
        """Nobody coordinates this group (or transactional id) until `elect()`, or until the
        end of a `with`: what was under way is answered NOT_COORDINATOR, and whoever is elected
        reads everything from the log again."""
        return coordinators.lose(self._running(), group, transactional_id)

    # --- what happened ---

    def requests(self, api: str | None = None) -> list[Request]:
        """What clients asked so far (the last 10,000), or only their requests of `api`."""
        seen = list(self._requests.seen)
        if api is None:
            return seen
        name = known_api(api)
        return [one for one in seen if one.api == name]

    def forget_requests(self) -> None:
        """`requests` starts over."""
        self._requests.seen.clear()

    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The broker's own log: (level, event, facts). Says why a connection was closed."""
        return list(self._heard.events)


class Looking:
    """One `wait_for`, look by look: what waits between two looks differs."""

    def __init__(self, broker: Broker, topic: str, count: int, timeout: float) -> None:
        self._broker = broker
        self._topic = topic
        self._count = count
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._ends: list[tuple[int, int, int]] | None = None
        self._visible: list[Record] = []

    def look(self) -> list[Record] | None:
        """The records, None if there are too few yet, TimeoutError if it is too late."""
        topic = self._topic
        ends = self._broker._call(lambda broker: _ends(broker, topic))
        if ends != self._ends:
            self._ends = ends
            records = self._broker.records(topic) if ends else []
            self._visible = [one for one in records if one.is_visible]
        if len(self._visible) >= self._count:
            return self._visible
        if time.monotonic() > self._deadline:
            raise TimeoutError(
                f"{topic} has {len(self._visible)} of {self._count} records "
                f"after {self._timeout} s" + ("" if ends else "; there is no such topic")
            )
        return None


def _count(broker: BrokerRole, topic: str) -> int:
    """Partitions of the topic; 0 if there is none."""
    found = broker.image.topics_by_name.get(topic)
    return 0 if found is None else len(found.partitions)


def _read_topic(broker: BrokerRole, topic: str) -> list[tuple[int, int, bytes]]:
    """(partition, log start offset, batches) of each partition."""
    found = broker.image.topics_by_name.get(topic)
    if found is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    partitions = [broker.partitions.get(topic, index) for index in sorted(found.partitions)]
    return [
        (one.topic_partition.partition, one.log.log_start_offset, read_bytes(one))
        for one in partitions
        if one is not None
    ]


def _ends(broker: BrokerRole, topic: str) -> list[tuple[int, int, int]]:
    """(partition, log start offset, last stable offset) of each partition."""
    found = broker.image.topics_by_name.get(topic)
    partitions = (
        [broker.partitions.get(topic, index) for index in found.partitions] if found else []
    )
    return [
        (one.topic_partition.partition, one.log.log_start_offset, one.log.last_stable_offset)
        for one in partitions
        if one is not None
    ]


def _bytes(text: Text) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _crc(key: str | bytes) -> int:
    return zlib.crc32(key.encode() if isinstance(key, str) else key)
