"""OffsetForLeaderEpoch: where epochs ended, to consumers and to replicas alike."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from kafkapy.broker.handlers import offset_for_leader_epoch
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

VERSION = 4
CONSUMER, REPLICA = -1, 2
NOBODY = (UUID(int=1), UUID(int=1))
KEY = ApiKey.OFFSET_FOR_LEADER_EPOCH


@pytest.fixture
def partition() -> Partition:
    """Epoch 2 has offsets 0 to 2, epoch 5 has 3; nothing is committed yet."""
    partition = open_partition(TopicPartition("t", 0), clock=FakeClock())
    for epoch, count in ((2, 3), (5, 1)):
        partition.follow_metadata(PartitionState((1, 2), (1, 2), 1, epoch, epoch, NOBODY))
        for _ in range(count):
            partition.append(memoryview(build_batch([NewRecord(value=b"v", timestamp=1)])))
    return partition


def ask(
    partition: Partition, epoch: int, *, replica: int = CONSUMER, current: int = -1
) -> tuple[ErrorCode, int, int]:
    row = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
    body = {"replica_id": replica, "topics": [{"topic": "t", "partitions": [row]}]}
    request = decode_request(KEY, VERSION, encode_request(KEY, VERSION, body))
    call = Call(KEY, VERSION, 1, None, request, Peer("PLAINTEXT", "here"), Instant(0))
    partitions = SimpleNamespace(readable=lambda *_: partition)
    node = SimpleNamespace(partitions=partitions, authorizer=None)
    answer = cast(Any, offset_for_leader_epoch.handle(cast(Any, node), call))
    told = answer["topics"][0]["partitions"][0]
    return told["error_code"], told["leader_epoch"], told["end_offset"]


@pytest.mark.parametrize("replica", [CONSUMER, REPLICA])
@pytest.mark.parametrize(
    ("epoch", "told"),
    [
        (2, (2, 3)),
        (3, (2, 3)),  # there was none: the one before it, as far as it went
        (5, (5, 4)),  # the newest one goes on; its end is the log's, committed or not
        (6, (-1, -1)),
    ],
)
def test_where_an_epoch_ended(
    partition: Partition, replica: int, epoch: int, told: tuple[int, int]
) -> None:
    assert ask(partition, epoch, replica=replica) == (ErrorCode.NONE, *told)


@pytest.mark.parametrize("replica", [CONSUMER, REPLICA])
def test_who_knows_another_epoch_of_the_leader_is_told(partition: Partition, replica: int) -> None:
    fenced = ask(partition, 2, replica=replica, current=4)
    assert fenced == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    ahead = ask(partition, 2, replica=replica, current=6)
    assert ahead == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)


def test_only_the_leader_tells(partition: Partition) -> None:
    partition.follow_metadata(PartitionState((1, 2), (1, 2), 2, 6, 6, NOBODY))
    assert ask(partition, 2) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
