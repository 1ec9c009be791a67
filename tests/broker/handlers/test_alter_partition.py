"""AlterPartition in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import alter_partition
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode

KEY = 56


def _alter(node: AdminNode, version: int, isr: list[int], **fields: Any) -> Any:
    state = node.cluster.partition("t")
    partition = {
        "partition_index": 0,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "leader_recovery_state": 0,
    } | fields
    if version < 3:
        partition["new_isr"] = isr
    else:
        partition["new_isr_with_epochs"] = [
            {"broker_id": one, "broker_epoch": node.image.brokers[one].epoch} for one in isr
        ]
    topic = {"topic_id": node.image.topics_by_name["t"].id, "partitions": [partition]}
    return node.request(
        alter_partition,
        KEY,
        version,
        broker_id=1,
        broker_epoch=node.image.brokers[1].epoch,
        topics=[topic],
    )


@pytest.mark.parametrize("version", [2, 3])
def test_the_leader_learns_what_its_partition_is_now(version: int) -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1, 2))
    (topic,) = _alter(node, version, [1]).topics
    (result,) = topic.partitions
    assert (result.error_code, tuple(result.isr)) == (ErrorCode.NONE, (1,))
    assert (result.leader_id, result.leader_epoch, result.partition_epoch) == (1, 0, 1)


def test_what_is_refused_is_refused_for_its_partition() -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1, 2))
    answer = _alter(node, 3, [1], partition_epoch=-1)
    assert answer.error_code == ErrorCode.NONE
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_a_stale_sender_is_refused_as_a_whole() -> None:
    node = AdminNode()
    answer = node.request(alter_partition, KEY, 3, broker_id=1, broker_epoch=999, topics=[])
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
