"""ListOffsets at a leader that has just begun: what it can tell, and to whom."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from kafkapy.broker.handlers import list_offsets
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Call, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import Instant
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.messages import decode_request, encode_request
from tests.broker.partitions.in_memory import open_partition
from tests.coordinator.fakes import FakeClock

NEWEST = 11
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
CONSUMER, DEBUGGING_CONSUMER, REPLICA = -1, -2, 2
NOBODY = (UUID(int=1), UUID(int=1))


@pytest.fixture
def partition() -> Partition:
    """Three records, the first one committed; then another epoch of the same leader begins,
    whose follower has not fetched yet."""
    partition = open_partition(TopicPartition("t", 0), clock=FakeClock())
    state = PartitionState((1, 2), (1, 2), 1, 2, 2, NOBODY)
    partition.follow_metadata(state)
    for timestamp in (10, 20, 30):
        records = build_batch([NewRecord(value=b"v", timestamp=timestamp)])
        partition.append(memoryview(records))
    partition.follower_fetched(2, 1, 0, -1, Instant(0))
    partition.follow_metadata(PartitionState((1, 2), (1, 2), 1, 3, 3, NOBODY))
    assert (partition.log.high_watermark, partition.leader_epoch_start) == (1, 3)
    return partition


def ask(
    partition: Partition,
    timestamp: int,
    *,
    version: int = NEWEST,
    replica: int = CONSUMER,
    epoch: int = -1,
    isolation: int = 0,
) -> tuple[ErrorCode, int]:
    row = {"partition_index": 0, "current_leader_epoch": epoch, "timestamp": timestamp}
    body = {
        "replica_id": replica,
        "isolation_level": isolation,
        "topics": [{"name": "t", "partitions": [row]}],
        "timeout": 0,
    }
    request = decode_request(
        ApiKey.LIST_OFFSETS, version, encode_request(ApiKey.LIST_OFFSETS, version, body)
    )
    call = Call(
        ApiKey.LIST_OFFSETS, version, 1, None, request, Peer("PLAINTEXT", "here"), Instant(0)
    )
    partitions = SimpleNamespace(readable=lambda *_: partition)
    node = SimpleNamespace(authorizer=None, partitions=partitions)
    answer = cast(Any, list_offsets.handle(cast(Any, node), call))
    told = answer["topics"][0]["partitions"][0]
    return told["error_code"], told["offset"]


@pytest.mark.parametrize("timestamp", [LATEST, MAX_TIMESTAMP, 20, 99])
def test_a_new_leader_does_not_know_the_end_yet(partition: Partition, timestamp: int) -> None:
    assert ask(partition, timestamp) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    committed_only = ask(partition, timestamp, isolation=1)
    assert committed_only == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)


def test_old_clients_know_another_code(partition: Partition) -> None:
    assert ask(partition, LATEST, version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


def test_what_is_committed_is_found_all_the_same(partition: Partition) -> None:
    assert ask(partition, EARLIEST) == (ErrorCode.NONE, 0)
    assert ask(partition, 10) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("replica", [REPLICA, DEBUGGING_CONSUMER])
def test_replicas_and_debuggers_are_told_the_log_end(partition: Partition, replica: int) -> None:
    assert ask(partition, LATEST, replica=replica) == (ErrorCode.NONE, 3)
    assert ask(partition, 30, replica=replica) == (ErrorCode.NONE, 2)


def test_once_the_high_watermark_is_there_everybody_is_told(partition: Partition) -> None:
    partition.follower_fetched(2, 3, 0, -1, Instant(0))
    assert ask(partition, LATEST) == (ErrorCode.NONE, 3)
    assert ask(partition, 99) == (ErrorCode.NONE, -1)


def test_who_knows_another_epoch_is_told(partition: Partition) -> None:
    assert ask(partition, EARLIEST, epoch=2) == (ErrorCode.FENCED_LEADER_EPOCH, -1)
    assert ask(partition, EARLIEST, epoch=4) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1)
    assert ask(partition, EARLIEST, epoch=3) == (ErrorCode.NONE, 0)


def test_who_does_not_lead_serves_debuggers_only(partition: Partition) -> None:
    partition.follow_metadata(PartitionState((1, 2), (1, 2), 2, 4, 4, NOBODY))
    assert ask(partition, LATEST) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert ask(partition, LATEST, replica=DEBUGGING_CONSUMER) == (ErrorCode.NONE, 3)
