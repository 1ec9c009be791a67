"""DescribeProducers: any replica answers, as `kafka-transactions find-hanging` asks each broker."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from kafkapy.broker.handlers import describe_producers
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Call, Peer
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import Instant
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log import history
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.messages import decode_request, encode_request
from tests.broker.partitions.in_memory import open_partition
from tests.coordinator.fakes import FakeClock

KEY = ApiKey.DESCRIBE_PRODUCERS
HERE, ELSEWHERE = 1, 2


@pytest.fixture
def partition() -> Partition:
    """Led here in epoch 1, with one idempotent producer."""
    partition = open_partition(TopicPartition("t", 0), clock=FakeClock())
    lead(partition, (HERE, ELSEWHERE), HERE, 1)
    record = NewRecord(value=b"v", timestamp=1)
    batch = build_batch([record], producer_id=7, producer_epoch=0, base_sequence=0)
    partition.append(memoryview(batch))
    return partition


def lead(partition: Partition, replicas: tuple[int, ...], leader: int, epoch: int) -> None:
    dirs = (UUID(int=1),) * len(replicas)
    partition.follow_metadata(PartitionState(replicas, replicas, leader, epoch, epoch, dirs))


def ask(
    partition: Partition, failed: Callable[[DiskFailed], None] | None = None
) -> tuple[ErrorCode, list[int]]:
    body = {"topics": [{"name": "t", "partition_indexes": [0]}]}
    request = decode_request(KEY, 0, encode_request(KEY, 0, body))
    call = Call(KEY, 0, 1, None, request, Peer("PLAINTEXT", "here"), Instant(0))
    node = SimpleNamespace(
        partitions=SimpleNamespace(hosted=lambda *_: partition),
        image=SimpleNamespace(topics_by_name={"t": None}),
        authorizer=None,
        directory_failed=failed,
    )
    answer = cast(Any, describe_producers.handle(cast(Any, node), call))
    told = answer["topics"][0]["partitions"][0]
    return told["error_code"], [one["producer_id"] for one in told["active_producers"]]


def test_the_leader_tells_its_producers(partition: Partition) -> None:
    assert ask(partition) == (ErrorCode.NONE, [7])


def test_a_follower_tells_them_too(partition: Partition) -> None:
    lead(partition, (HERE, ELSEWHERE), ELSEWHERE, 2)
    assert ask(partition) == (ErrorCode.NONE, [7])


def test_who_is_no_replica_does_not(partition: Partition) -> None:
    lead(partition, (ELSEWHERE,), ELSEWHERE, 2)
    assert ask(partition) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])


@pytest.mark.interpreted
def test_a_disk_that_cannot_be_read_is_told_and_leaves_no_half_of_them(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of producers it does not know, a log would take again what it has."""
    partition.log._history._producers = None
    told: list[DiskFailed] = []

    def fails(*_: object) -> None:
        raise DiskFailed("/data/t-0/0.log", "I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(history, "load_producers", fails)
        assert ask(partition, told.append) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
    assert len(told) == 1
    assert ask(partition) == (ErrorCode.NONE, [7])
