"""ListPartitionReassignments, v0 (KIP-455)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, whole
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions.reassignments import ListReassignments, ListReply

if TYPE_CHECKING:
    from kio.schema.list_partition_reassignments.v0.request import ListPartitionReassignmentsRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[ListPartitionReassignmentsRequest]") -> Answer:
    topics = call.body.topics
    wanted = None
    if topics is not None:
        wanted = tuple(
            TopicPartition(topic.name, index)
            for topic in topics
            for index in topic.partition_indexes
        )
    return ask(node, ListReassignments(wanted), _answer, whole)


def _answer(reply: ListReply) -> Fields:
    topics: dict[str, list[Fields]] = {}
    for where, state in reply.items():
        topics.setdefault(where.topic, []).append(
            {
                "partition_index": where.partition,
                "replicas": state.replicas,
                "adding_replicas": state.adding_replicas,
                "removing_replicas": state.removing_replicas,
            }
        )
    return {
        "throttle_time": 0,
        "error_code": 0,
        "error_message": None,
        "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
    }
