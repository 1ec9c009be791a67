"""Names that are too long to be written again, in an answer or in a record: who sends one loses its
connection, and nobody else notices."""

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.testing import Broker

# As long as its 16 bits can say. Each byte is read as a replacement character, of three bytes.
NO_UTF_8 = struct.pack(">h", 32767) + b"\xff" * 32767
NULL = struct.pack(">h", -1)
ONE = struct.pack(">i", 1)
ZERO = struct.pack(">i", 0)
AS_BYTES = {
    "Metadata": (ApiKey.METADATA, 8, ONE + NO_UTF_8 + bytes(3)),
    "ListOffsets": (ApiKey.LIST_OFFSETS, 2, bytes(5) + ONE + NO_UTF_8 + ONE + bytes(12)),
    "JoinGroup": (
        ApiKey.JOIN_GROUP,
        5,
        struct.pack(">h1sii", 1, b"g", 9000, 9000) + NO_UTF_8 + NULL + b"\0\0" + ZERO,
    ),
    "DeleteTopics": (ApiKey.DELETE_TOPICS, 3, ONE + NO_UTF_8 + ZERO),
    "DeleteGroups": (ApiKey.DELETE_GROUPS, 1, ONE + NO_UTF_8),
    "Produce": (
        ApiKey.PRODUCE,
        8,
        NULL + struct.pack(">hi", 1, 1000) + ONE + NO_UTF_8 + ONE + ZERO + struct.pack(">i", -1),
    ),
    "Fetch": (
        ApiKey.FETCH,
        11,
        bytes(17) + struct.pack(">ii", 0, -1) + ONE + NO_UTF_8 + ONE + bytes(28) + ZERO + b"\0\0",
    ),
}
LONG = "x" * 32768
FLEXIBLE: dict[str, tuple[ApiKey, int, dict[str, Any]]] = {
    "InitProducerId": (
        ApiKey.INIT_PRODUCER_ID,
        4,
        {
            "transactional_id": LONG,
            "transaction_timeout": 10_000,
            "producer_id": -1,
            "producer_epoch": -1,
        },
    ),
    "Produce": (
        ApiKey.PRODUCE,
        9,
        {"transactional_id": LONG, "acks": 1, "timeout": 1000, "topic_data": ()},
    ),
    "Fetch": (
        ApiKey.FETCH,
        12,
        {"session_id": 0, "session_epoch": -1, "topics": [{"topic": LONG, "partitions": ()}]},
    ),
    "Metadata": (ApiKey.METADATA, 9, {"topics": [{"name": LONG}]}),
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("here")
        assert _asked(broker, ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["t"])
        yield broker
        bugs = [facts for _, event, facts in broker.events() if event == "bug"]
    assert not bugs, bugs[0]["trace"]


def _sent(kafka: Broker, request: bytes) -> bytes:
    host, _, port = kafka.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        return connection.recv(4)


def _asked(kafka: Broker, api: ApiKey, version: int, **body: Any) -> bytes:
    head = request_head(api, version, 1, "x")
    return _sent(kafka, frame(head, encode_request(api, version, body)))


@pytest.mark.parametrize(("api", "version", "body"), AS_BYTES.values(), ids=AS_BYTES)
def test_a_name_that_grows_by_being_read_is_not_answered(
    kafka: Broker, api: ApiKey, version: int, body: bytes
) -> None:
    assert _sent(kafka, frame(request_head(api, version, 1, "x"), body)) == b""
    assert kafka.topics() == {"here": 1}


@pytest.mark.parametrize(("api", "version", "body"), FLEXIBLE.values(), ids=FLEXIBLE)
def test_no_string_is_longer_in_a_flexible_version_than_in_an_old_one(
    kafka: Broker, api: ApiKey, version: int, body: dict[str, Any]
) -> None:
    """Apache Kafka reads 32767 bytes of it, and hangs up at one more."""
    assert _asked(kafka, api, version, **body) == b""
    assert kafka.topics() == {"here": 1}


def test_nor_is_a_client_id(kafka: Broker) -> None:
    head = struct.pack(">hhi", ApiKey.METADATA, 1, 1) + NO_UTF_8
    assert _sent(kafka, frame(head, ZERO)) == b""
    assert kafka.topics() == {"here": 1}


def test_an_answer_that_cannot_be_written_costs_its_connection_only(kafka: Broker) -> None:
    """A name that may be read, in a sentence that old versions have no room for."""
    row = {"name": "y" * 32767, "num_partitions": 1, "replication_factor": 1}
    topic = {**row, "assignments": (), "configs": ()}
    body = {"topics": [topic], "timeout": 1000, "validate_only": False}
    assert _asked(kafka, ApiKey.CREATE_TOPICS, 4, **body) == b""
    assert kafka.topics() == {"here": 1}
    assert _asked(kafka, ApiKey.CREATE_TOPICS, 5, **body) != b"", "where there is room it is"
