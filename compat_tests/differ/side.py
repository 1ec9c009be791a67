"""One of the two servers under comparison: asked in Kafka's protocol over a plain socket.

A case gets a `Side` and asks; what comes back is kept in `heard`. Both sides are given the
same names, so that their answers can be compared once each side's own identities (topic
ids, address, cluster id) are replaced by words.
"""

import dataclasses
import re
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from compat_tests.advertised import BROKER_VERSIONS
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, NewRecord, build_batch
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

Body = Mapping[str, Any]

NODE = 1
# The timestamp of records: the same on both sides, and recent, or retention would delete it.
STAMP = int(time.time()) * 1000 - 60_000

# Ids that cases make up are small; those that servers draw are not.
_MADE_UP = 2**32
_MOMENTS = re.compile(r"\b1\d{12}\b")


class Closed(Exception):
    """The server hung up instead of answering."""


class Side:
    """A connection to one server, for one case at one version of the API it is about; from
    `source`, an address of this machine, if the server is to tell it from others. Sides of one
    cluster share what they `heard` and the words for its identities: `of` is another one."""

    def __init__(
        self,
        address: str,
        api_key: ApiKey,
        version: int,
        name: str,
        source: str | None = None,
        *,
        of: "Side | None" = None,
    ) -> None:
        self.address = address
        self.source = source
        self.version = version
        self.name = name
        self.heard: list[tuple[str, Any]] = [] if of is None else of.heard
        self._api_key = api_key
        self._words: dict[Any, str] = {} if of is None else of._words
        self._topics = 0
        self._correlation_id = 0
        self._socket = self._connected()

    def close(self) -> None:
        self._socket.close()

    def ask(self, api_key: ApiKey, body: Body, version: int | None = None) -> Any:
        """Send a request, keep what comes back for comparison, and return it."""
        if version is None:
            version = self.version if api_key == self._api_key else newest(api_key)
        label = f"{api_key.name} v{version}"
        try:
            answer = self.call(api_key, body, version)
        except Closed:
            self.heard.append((label, "connection closed"))
            self._reconnect()
            return None
        self.heard.append((label, answer))
        return answer

    def call(self, api_key: ApiKey, body: Body, version: int | None = None) -> Any:
        """Send a request whose answer is not compared: preparation."""
        if version is None:
            version = newest(api_key)
        payload = encode_request(api_key, version, body)
        self._correlation_id += 1
        head = request_head(api_key, version, self._correlation_id, "differ")
        answer = self.exchange(frame(head, payload))
        _, size = read_response_head(api_key, version, answer)
        return decode_response(api_key, version, memoryview(answer)[size:].toreadonly())

    def send_only(self, api_key: ApiKey, body: Body, version: int) -> None:
        """A request that has no answer (Produce with acks=0)."""
        self._correlation_id += 1
        head = request_head(api_key, version, self._correlation_id, "differ")
        self._socket.sendall(frame(head, encode_request(api_key, version, body)))

    def hear(self, sent: bytes) -> None:
        """Send bytes as they are; keep what comes back, or that the connection ends."""
        try:
            answer: bytes | str = self.exchange(sent)
        except Closed:
            answer = "connection closed"
            self._reconnect()
        self.heard.append(("raw bytes", answer))

    def exchange(self, sent: bytes) -> bytes:
        self.send_bytes(sent)
        return self.receive()

    def send_bytes(self, sent: bytes) -> None:
        try:
            self._socket.sendall(sent)
        except ConnectionError as failure:
            raise Closed(str(failure)) from failure

    def receive(self) -> bytes:
        """The next frame, without its size."""
        try:
            (size,) = struct.unpack(">i", self._received(4))
            return self._received(size)
        except (ConnectionError, TimeoutError) as failure:
            raise Closed(str(failure)) from failure

    def topic(self, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """A new topic, ready for use; its id is told apart from other values."""
        self._topics += 1
        name = f"{self.name}-{self._topics}"
        self.call(
            ApiKey.CREATE_TOPICS,
            {
                "topics": [
                    {
                        "name": name,
                        "num_partitions": partitions,
                        "replication_factor": -1,
                        "assignments": [],
                        "configs": [{"name": k, "value": v} for k, v in (configs or {}).items()],
                    }
                ],
                "timeout": 10_000,
            },
        )
        wait_for(f"{name} is ready", lambda: self._is_ready(name, partitions), every_s=0.01)
        return name

    def topic_id(self, topic: str) -> UUID:
        for value, word in self._words.items():
            if word == f"<id of {topic}>":
                assert isinstance(value, UUID)
                return value
        raise AssertionError(f"no topic {topic} was made")

    def write(self, topic: str, *records: bytes, **batch: Any) -> None:
        """Append a batch of values to partition 0."""
        answer = self.call(ApiKey.PRODUCE, self.produce(topic, batch_of(*records, **batch)))
        code = answer.responses[0].partition_responses[0].error_code
        assert code.value == 0, answer

    def produce(self, topic: str, records: bytes | None, partition: int = 0, acks: int = -1) -> Any:
        ids = [word for word in self._words.values() if word == f"<id of {topic}>"]
        topic_id = self.topic_id(topic) if ids else UUID(int=4711)
        data = [{"index": partition, "records": records}]
        return {
            "transactional_id": None,
            "acks": acks,
            "timeout": 5000,
            "topic_data": [{"name": topic, "topic_id": topic_id, "partition_data": data}],
        }

    def call_this(self, word: str, value: Any, *, in_field: str | None = None) -> None:
        """An identity that differs between the sides, and the word that replaces it: wherever
        it appears, or in fields of that name alone."""
        self._words[value if in_field is None else (in_field, value)] = word

    def plain(self, answer: Any) -> Any:
        """An answer as dicts, lists and words, ready for comparison."""
        return plain(answer, self._words)

    def _is_ready(self, topic: str, partitions: int) -> bool:
        answer = self.call(ApiKey.METADATA, {"topics": [{"name": topic}]})
        (found,) = answer.topics
        if len(found.partitions) != partitions or any(p.error_code.value for p in found.partitions):
            return False
        self.call_this(f"<id of {topic}>", found.topic_id)
        # Metadata knows a leader a moment before the leader itself serves.
        rows = [{"partition_index": p, "timestamp": -1} for p in range(partitions)]
        topics = [{"name": topic, "partitions": rows}]
        ends = self.call(ApiKey.LIST_OFFSETS, {"replica_id": -1, "topics": topics})
        return not any(p.error_code.value for p in ends.topics[0].partitions)

    def _reconnect(self) -> None:
        self._socket.close()
        self._socket = self._connected()

    def _connected(self) -> socket.socket:
        host, port = self.address.split(":")
        source = None if self.source is None else (self.source, 0)
        connection = socket.create_connection((host, int(port)), timeout=8, source_address=source)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _received(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            some = self._socket.recv(size - len(received))
            if not some:
                raise Closed("end of stream")
            received += some
        return bytes(received)


def plain(answer: Any, words: Mapping[Any, str]) -> Any:
    """`words` replace what is a server's own."""
    if isinstance(answer, bool | int | str | bytes | UUID | float) and answer in words:
        return words[answer]
    if dataclasses.is_dataclass(answer):
        answer = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    if isinstance(answer, Mapping):
        return {
            name: words[name, value] if _is_named(name, value, words) else plain(value, words)
            for name, value in answer.items()
        }
    if isinstance(answer, Enum):
        return answer.name
    if isinstance(answer, str) and answer.startswith("differ-"):
        return "<member id>"  # the client id and a random id
    if isinstance(answer, UUID) and answer.int > _MADE_UP:
        return "<some id>"
    if isinstance(answer, str):
        return _MOMENTS.sub("<moment>", answer)
    if isinstance(answer, timedelta):
        return answer.total_seconds()
    if isinstance(answer, datetime):
        return answer.isoformat()
    if isinstance(answer, memoryview):
        return bytes(answer)
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        return [plain(each, words) for each in answer]
    return answer


def _is_named(name: str, value: Any, words: Mapping[Any, str]) -> bool:
    return isinstance(value, int | str) and (name, value) in words


def newest(api_key: ApiKey) -> int:
    return BROKER_VERSIONS[api_key][1]


def batch_of(*values: bytes, key: bytes | None = b"key", **batch: Any) -> bytes:
    """A record batch as a client sends it."""
    records = [NewRecord(key=key, value=v, timestamp=STAMP + i) for i, v in enumerate(values)]
    return build_batch(records, **{"codec": Codec.NONE, **batch})
