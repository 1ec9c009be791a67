"""Requests asked one at a time, each waited for; and request frames for load to repeat."""

import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

_CLIENT_ID = "bench"
_LEADER_PATIENCE_S = 60.0
# Apache Kafka refuses requests that would write more than 10,000 metadata records.
_AT_ONCE = 5_000
_NAMED_AT_ONCE = 100
_PRODUCE_VERSION = 9
_FETCH_VERSION = 4


def request(api: ApiKey, version: int, body: Mapping[str, Any]) -> bytes:
    """A whole request with its length in front."""
    head = request_head(api, version, 7, _CLIENT_ID)
    return frame(head, encode_request(api, version, dict(body)))


def batch_of(records: int, record_bytes: int) -> bytes:
    """A batch of records without keys, their values as large as asked."""
    now_ms = int(time.time() * 1000)
    value = (bytes(range(256)) * (record_bytes // 256 + 1))[:record_bytes]
    return bytes(build_batch([NewRecord(None, value, now_ms)] * records))


def produce_frame(topic: str, partition: int, batch: bytes, acks: int) -> bytes:
    rows = [{"index": partition, "records": batch}]
    topics = [{"name": topic, "partition_data": rows}]
    body = {"transactional_id": None, "acks": acks, "timeout": 30_000, "topic_data": topics}
    return request(ApiKey.PRODUCE, _PRODUCE_VERSION, body)


def produce_error_at(topic: str) -> int:
    """Where the error code is in the answer to `produce_frame`, its length counted."""
    # length, correlation id, tags, one topic, its name, one partition, its index
    return 4 + 4 + 1 + 1 + 1 + len(topic) + 1 + 4


def fetch_frame(topic: str, partition: int, max_bytes: int) -> tuple[bytes, int]:
    """A fetch of one partition that waits for data, and where its offset stands."""
    marker = 0x1122334455667788
    asked = {"partition": partition, "fetch_offset": marker, "partition_max_bytes": max_bytes}
    body = {
        "replica_id": -1,
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": max_bytes,
        "isolation_level": 0,
        "topics": [{"topic": topic, "partitions": [asked]}],
    }
    wire = request(ApiKey.FETCH, _FETCH_VERSION, body)
    at = wire.index(struct.pack(">q", marker))
    return wire, at


class Wire:
    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._sock = socket.create_connection((host, int(port)), timeout=60)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sock.close()

    def ask_raw(self, api: ApiKey, version: int, body: Mapping[str, Any]) -> bytes:
        """The answer without its size."""
        self._sock.sendall(request(api, version, body))
        return self._receive(struct.unpack(">i", self._receive(4))[0])

    def ask(self, api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
        """The decoded answer, as kio's message for that version."""
        answer = memoryview(self.ask_raw(api, version, body))
        _, body_at = read_response_head(api, version, answer.toreadonly())
        return decode_response(api, version, answer.toreadonly()[body_at:])

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        topic = {
            "name": name,
            "num_partitions": min(partitions, _AT_ONCE),
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        body = {"topics": [topic], "timeout": 60_000, "validate_only": False}
        answer = self.ask(ApiKey.CREATE_TOPICS, 5, body)
        if (error := answer.topics[0].error_code) != 0:
            raise RuntimeError(f"topic {name} of {partitions} partitions: error {error}")
        for count in range(2 * _AT_ONCE, partitions + _AT_ONCE, _AT_ONCE):
            grown = {"name": name, "count": min(count, partitions), "assignments": None}
            more = {"topics": [grown], "timeout": 60_000, "validate_only": False}
            if (error := self.ask(ApiKey.CREATE_PARTITIONS, 1, more).results[0].error_code) != 0:
                raise RuntimeError(f"topic {name}, {count} partitions: error {error}")
        self._wait_for_leaders(name, partitions)

    def create_replicated(
        self, name: str, partitions: int, configs: Mapping[str, str], nodes: int
    ) -> None:
        """A replica of each partition on each of the nodes 1, 2, ...; they lead in turn. It is
        there when all are in sync."""
        assignments = [
            {
                "partition_index": index,
                "broker_ids": [(index + place) % nodes + 1 for place in range(nodes)],
            }
            for index in range(partitions)
        ]
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": assignments,
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        self._create([topic])
        self._wait_until_in_sync([name], nodes)

    def create_many(self, name: str, topics: int, partitions: int, a_request: int) -> None:
        """Topics called NAME with a number in it, each partition on three nodes, until all are
        in sync."""
        names = [name.format(number) for number in range(topics)]
        for at in range(0, topics, a_request):
            some = names[at : at + a_request]
            common = {"num_partitions": partitions, "replication_factor": 3}
            lists: dict[str, list[Any]] = {"assignments": [], "configs": []}
            self._create([{"name": each, **common, **lists} for each in some])
        for at in range(0, topics, a_request):
            self._wait_until_in_sync(names[at : at + a_request], 3)

    def seconds_until(self, is_so: Callable[[Any], bool], names: Sequence[str]) -> float:
        """From now on, until it is so of every one of these topics, by this node's metadata."""
        began = time.monotonic()
        for at in range(0, len(names), _NAMED_AT_ONCE):
            some = [{"name": one} for one in names[at : at + _NAMED_AT_ONCE]]
            asked = {"topics": some, "allow_auto_topic_creation": False}
            while not all(map(is_so, self.ask(ApiKey.METADATA, 5, asked).topics)):
                if time.monotonic() - began > _LEADER_PATIENCE_S:
                    raise RuntimeError(f"{some}: not so in time")
                time.sleep(0.02)
        return time.monotonic() - began

    def active_controller(self) -> int:
        asked = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
        answer = self.ask(ApiKey.DESCRIBE_QUORUM, 0, {"topics": [asked]})
        leader: int = answer.topics[0].partitions[0].leader_id
        return leader

    def _create(self, topics: Sequence[Mapping[str, Any]]) -> None:
        body = {"topics": topics, "timeout": 60_000, "validate_only": False}
        for row in self.ask(ApiKey.CREATE_TOPICS, 5, body).topics:
            if row.error_code != 0:
                raise RuntimeError(f"topic {row.name} is not made: error {row.error_code}")

    def _wait_until_in_sync(self, names: Sequence[str], nodes: int) -> None:
        ends = time.monotonic() + _LEADER_PATIENCE_S
        asked = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
        while not all(
            is_in_sync(topic, nodes) for topic in self.ask(ApiKey.METADATA, 5, asked).topics
        ):
            if time.monotonic() > ends:
                raise RuntimeError(f"{names}: not all replicas are in sync")
            time.sleep(0.05)

    def delete_topics(self, names: Sequence[str]) -> None:
        body = {"topic_names": list(names), "timeout": 60_000}
        for row in self.ask(ApiKey.DELETE_TOPICS, 5, body).responses:
            if row.error_code != 0:
                raise RuntimeError(f"topic {row.name} cannot be deleted: error {row.error_code}")

    def produce(self, topic: str, partition: int = 0, acks: int = -1) -> int:
        """One small record; the error code of the answer."""
        self._sock.sendall(produce_frame(topic, partition, batch_of(1, 10), acks))
        answer = self._receive(struct.unpack(">i", self._receive(4))[0])
        error: int = struct.unpack_from(">h", answer, produce_error_at(topic) - 4)[0]
        return error

    def _wait_for_leaders(self, name: str, partitions: int) -> None:
        """Apache Kafka answers CreateTopics before its own broker leads all partitions."""
        rows = [
            {"partition_index": each, "current_leader_epoch": -1, "timestamp": -1}
            for each in range(partitions)
        ]
        topics = [{"name": name, "partitions": rows}]
        body = {"replica_id": -1, "isolation_level": 0, "topics": topics}
        ends = time.monotonic() + _LEADER_PATIENCE_S
        while without := [
            each.partition_index
            for each in self.ask(ApiKey.LIST_OFFSETS, 5, body).topics[0].partitions
            if each.error_code != 0
        ]:
            if time.monotonic() > ends:
                raise RuntimeError(f"{name}: partitions {without[:10]} have no leader")
            time.sleep(0.05)

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            got = self._sock.recv(size - len(data))
            if not got:
                raise RuntimeError("the broker closed the connection")
            data += got
        return bytes(data)


def is_led_without(topic: Any, node: int) -> bool:
    return bool(topic.partitions) and all(
        one.error_code == 0 and one.leader_id not in (-1, node) for one in topic.partitions
    )


def is_in_sync(topic: Any, nodes: int) -> bool:
    return bool(topic.partitions) and all(
        one.error_code == 0 and len(one.isr_nodes) == nodes for one in topic.partitions
    )
