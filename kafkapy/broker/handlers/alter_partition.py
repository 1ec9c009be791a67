"""AlterPartition, v2-3, on controllers. v3 has the epochs of the brokers in the ISR."""

from typing import TYPE_CHECKING, cast

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import Refused
from kafkapy.kraft.controller.partitions.isr import (
    ANY_EPOCH,
    AlterPartition,
    AlterPartitionReply,
    NewIsr,
    PartitionAgreed,
)
from kafkapy.kraft.image.topics import RECOVERED, PartitionState
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from kio.schema.alter_partition.v2.request import PartitionData as PartitionDataV2
    from kio.schema.alter_partition.v3.request import AlterPartitionRequest, PartitionData

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[AlterPartitionRequest]") -> Answer:
    topics = call.body.topics
    event = AlterPartition(
        broker_id=call.body.broker_id,
        broker_epoch=call.body.broker_epoch,
        partitions=tuple(
            NewIsr(
                topic_id=topic.topic_id or ZERO_UUID,
                index=one.partition_index,
                leader_epoch=one.leader_epoch,
                partition_epoch=one.partition_epoch,
                isr=_isr(one),
                recovery=optional(one, "leader_recovery_state", RECOVERED),
            )
            for topic in topics
            for one in topic.partitions
        ),
    )

    def answer(reply: AlterPartitionReply) -> Fields:
        results = iter(reply)
        return {
            "throttle_time": 0,
            "error_code": 0,
            "topics": [
                {
                    "topic_id": topic.topic_id,
                    "partitions": [
                        _result(one.partition_index, next(results)) for one in topic.partitions
                    ],
                }
                for topic in topics
            ],
        }

    return ask(node, event, answer, lambda refused: {**code(refused), "topics": []})


def _isr(asked: "PartitionData") -> tuple[tuple[int, int], ...]:
    if hasattr(asked, "new_isr_with_epochs"):
        return tuple((one.broker_id, one.broker_epoch) for one in asked.new_isr_with_epochs)
    return tuple((broker, ANY_EPOCH) for broker in cast("PartitionDataV2", asked).new_isr)


def _result(index: int, result: PartitionState | PartitionAgreed | Refused) -> Fields:
    if isinstance(result, Refused):
        return {
            "partition_index": index,
            "error_code": result.code,
            "leader_id": 0,
            "leader_epoch": 0,
            "isr": [],
            "leader_recovery_state": 0,
            "partition_epoch": 0,
        }
    return {
        "partition_index": index,
        "error_code": 0,
        "leader_id": result.leader,
        "leader_epoch": result.leader_epoch,
        "isr": result.isr,
        "leader_recovery_state": result.leader_recovery_state,
        "partition_epoch": result.partition_epoch,
    }
