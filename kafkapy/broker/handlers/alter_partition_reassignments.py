"""AlterPartitionReassignments, v0-1. v1 can insist on the replication factor (KIP-860).

A partition that is named twice, with two targets, is refused: each of the two moves would be
decided as if the other were not there, and their records could not both be applied.
"""

from collections import Counter
from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict, whole
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions.reassignments import (
    AlterReassignments,
    AlterReply,
    Reassignment,
)

if TYPE_CHECKING:
    from kio.schema.alter_partition_reassignments.v1.request import (
        AlterPartitionReassignmentsRequest,
    )

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[AlterPartitionReassignmentsRequest]") -> Answer:
    topics = call.body.topics
    factor_may_change = optional(call.body, "allow_replication_factor_change", True)
    asked = [
        Reassignment(
            TopicPartition(topic.name, one.partition_index),
            None if one.replicas is None else tuple(one.replicas),
        )
        for topic in topics
        for one in topic.partitions
    ]
    wanted = dict.fromkeys(asked)
    counts = Counter(one.where for one in wanted)
    twice: AlterReply = {where: _TWICE for where, count in counts.items() if count > 1}
    event = AlterReassignments(
        wanted=tuple(one for one in wanted if one.where not in twice),
        may_change_replication_factor=factor_may_change,
    )

    def answer(reply: AlterReply) -> Fields:
        reply = {**reply, **twice}
        return {
            "throttle_time": 0,
            "allow_replication_factor_change": factor_may_change,
            "error_code": 0,
            "error_message": None,
            "responses": [
                {
                    "name": topic.name,
                    "partitions": [
                        {
                            "partition_index": one.partition_index,
                            **verdict(reply[TopicPartition(topic.name, one.partition_index)]),
                        }
                        for one in topic.partitions
                    ],
                }
                for topic in topics
            ],
        }

    def refusal(refused: Refused) -> Fields:
        """Row by row, too."""
        rows = answer({one.where: refused for one in wanted})
        return {**rows, **whole(refused)}

    return ask(node, event, answer, refusal)


_TWICE = Refused(ErrorCode.INVALID_REQUEST, "Each partition must appear at most once.")
