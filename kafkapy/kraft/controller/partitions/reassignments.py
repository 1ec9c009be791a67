"""Reassignments: a partition moves to other replicas in three steps.

    1  replicas := target + those that leave;  adding, removing are noted
    2  the new replicas catch up and enter the ISR (AlterPartition)
    3  the ISR holds the whole target: those that leave are gone, the notes cleared

Step 3 happens in partition_change.py, with whatever change makes it possible; a mere
reordering does 1 and 3 at once. KIP-455; KIP-860 (the replication factor may be fixed).
"""

from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.partitions.index import REASSIGNING
from kafkapy.kraft.controller.partitions.leadership import change
from kafkapy.kraft.controller.partitions.partition_change import Election, without
from kafkapy.kraft.controller.state import MAX_RECORDS_PER_OPERATION, ControllerState, Located
from kafkapy.kraft.controller.topics.assignments import check_replicas
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import PartitionChangeRecord


@dataclass(frozen=True, slots=True)
class Reassignment:
    """`replicas` None cancels what is under way."""

    where: TopicPartition
    replicas: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class AlterReassignments:
    wanted: tuple[Reassignment, ...]
    may_change_replication_factor: bool = True


@dataclass(frozen=True, slots=True)
class ListReassignments:
    """`partitions` None: of every topic."""

    partitions: tuple[TopicPartition, ...] | None


ReassignmentEvent = AlterReassignments | ListReassignments
AlterReply = dict[TopicPartition, Refused | None]
ListReply = dict[TopicPartition, PartitionState]


class ReassignmentMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: ReassignmentEvent, now: Instant) -> Step[Fact, Any]:
        match event:
            case AlterReassignments():
                return self._alter_all(event)
            case ListReassignments():
                return Step(reply=self._listed(event))

    def _alter_all(self, event: AlterReassignments) -> Step[Fact, AlterReply]:
        if len(event.wanted) > MAX_RECORDS_PER_OPERATION:
            raise Refused(ErrorCode.INVALID_REQUEST, "Too many reassignments in one request.")
        records: list[Fact] = []
        reply: AlterReply = {}
        for wanted in event.wanted:
            try:
                record = self._alter(wanted, event.may_change_replication_factor)
                if record is not None:
                    records.append(record)
                reply[wanted.where] = None
            except Refused as refused:
                reply[wanted.where] = refused
        return Step(records=tuple(records), reply=reply)

    def _alter(self, wanted: Reassignment, factor_may_change: bool) -> PartitionChangeRecord | None:
        at = self._find(wanted.where)
        if wanted.replicas is None:
            return self._cancelled(at)
        check_replicas(self._state, wanted.replicas, None)
        standing = without(at.state.replicas, at.state.removing_replicas)
        if not factor_may_change and len(wanted.replicas) != len(standing):
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The replication factor is changed from {len(standing)} to {len(wanted.replicas)}",
            )
        return self._moved(at, wanted.replicas)

    def _find(self, where: TopicPartition) -> Located:
        topic = self._state.image.topics_by_name.get(where.topic)
        if topic is None:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {where.topic}."
            )
        state = topic.partitions.get(where.partition)
        if state is None:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"Unable to find partition {where.topic}:{where.partition}.",
            )
        return Located(topic, where.partition, state)

    def _moved(self, at: Located, target: tuple[int, ...]) -> PartitionChangeRecord | None:
        removing = tuple(sorted(set(at.state.replicas) - set(target)))
        adding = tuple(sorted(set(target) - set(at.state.replicas)))
        return change(
            self._state,
            at,
            election=Election.ONLINE,
            replicas=target + removing,
            removing=removing or at.state.removing_replicas,
            adding=adding or at.state.adding_replicas,
        )

    def _cancelled(self, at: Located) -> PartitionChangeRecord | None:
        state = at.state
        if not state.is_reassigning:
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = without(state.replicas, state.adding_replicas)
        isr = without(state.isr, state.adding_replicas)
        if not isr:
            if not replicas:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    "Invalid replica assignment: addingReplicas contains all replicas.",
                )
            if not self._state.allows_unclean_election(at.topic.name):
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Unable to revert partition assignment for {at.topic.name}:{at.index} "
                    "because it would require an unclean leader election.",
                )
            isr = replicas[:1]
        return change(self._state, at, replicas=replicas, isr=isr, removing=(), adding=())

    def _listed(self, event: ListReassignments) -> ListReply:
        image = self._state.image
        wanted = event.partitions
        if wanted is None:
            under_way = self._state.located(self._state.index.places(REASSIGNING))
            return {TopicPartition(at.topic.name, at.index): at.state for at in under_way}
        found = {where: image.partition_by_name(*where) for where in wanted}
        return {
            where: state
            for where, state in found.items()
            if state is not None and state.is_reassigning
        }
