"""AssignReplicasToDirs, v0, on controllers (KIP-858)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.partitions.directories import (
    AssignReplicas,
    AssignReply,
    ReplicaDirectory,
)
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from kio.schema.assign_replicas_to_dirs.v0.request import AssignReplicasToDirsRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[AssignReplicasToDirsRequest]") -> Answer:
    directories = call.body.directories
    event = AssignReplicas(
        call.body.broker_id,
        call.body.broker_epoch,
        tuple(
            ReplicaDirectory(
                directory.id_ or ZERO_UUID, topic.topic_id or ZERO_UUID, one.partition_index
            )
            for directory in directories
            for topic in directory.topics
            for one in topic.partitions
        ),
    )

    def answer(reply: AssignReply) -> Fields:
        codes = iter(ErrorCode.NONE if one is None else one.code for one in reply)
        return {
            "throttle_time": 0,
            "error_code": 0,
            "directories": [
                {
                    "id_": directory.id_,
                    "topics": [
                        {
                            "topic_id": topic.topic_id,
                            "partitions": [
                                {"partition_index": one.partition_index, "error_code": next(codes)}
                                for one in topic.partitions
                            ],
                        }
                        for topic in directory.topics
                    ],
                }
                for directory in directories
            ],
        }

    return ask(node, event, answer, lambda refused: {**code(refused), "directories": []})
