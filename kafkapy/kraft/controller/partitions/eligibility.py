"""Eligible leader replicas are told by min.insync.replicas: where that changes, they are none.

A replica outside of the ISR holds every committed record only as long as nothing was committed
without it. KIP-966.
"""

from collections.abc import Iterator

from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.partitions.index import ELIGIBLE_BESIDE_ISR
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.records.metadata import ClearElrRecord, PartitionChangeRecord


def emptied(state: ControllerState, topic: str) -> Iterator[Fact]:
    """Of all topics for "". Where nobody leads nothing was committed since: who is eligible there
    has it all, and must stay so, or nobody would ever lead again."""
    yield ClearElrRecord(topic_name=topic)
    topics = state.image.topics_by_name
    for one in topics.values() if not topic else (topics[topic],):
        for index, partition in one.partitions.items():
            if not partition.isr and (partition.elr or partition.last_known_elr):
                yield PartitionChangeRecord(
                    partition_id=index,
                    topic_id=one.id,
                    eligible_leader_replicas=partition.elr,
                    last_known_elr=partition.last_known_elr,
                )


def are_left_over(state: ControllerState) -> bool:
    """Whether there are some beside an ISR, from when ELR was enabled before."""
    return state.index.has_any(ELIGIBLE_BESIDE_ISR)
