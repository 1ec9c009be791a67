"""AssignReplicasToDirs: a broker says in which directory it keeps its replicas (KIP-858).

A replica in a directory that is offline cannot lead nor be in sync.

    its directory is gone --> it may still be among those that may lead: the disk may come back
        it is in another directory, says the broker --> it has begun anew there, with nothing, and
                                                        whoever still has the records is waited for
"""

from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.partitions.leadership import change
from kafkapy.kraft.controller.partitions.partition_change import without
from kafkapy.kraft.controller.state import ControllerState, Located
from kafkapy.kraft.features import DIRECTORY_ASSIGNMENT
from kafkapy.kraft.image.topics import PartitionState


@dataclass(frozen=True, slots=True)
class ReplicaDirectory:
    directory: UUID
    topic_id: UUID
    index: int


@dataclass(frozen=True, slots=True)
class AssignReplicas:
    broker_id: int
    broker_epoch: int
    replicas: tuple[ReplicaDirectory, ...]


# In the order of the request.
AssignReply = tuple[Refused | None, ...]


class DirectoryMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AssignReplicas, now: Instant) -> Step[Fact, AssignReply]:
        if self._state.image.metadata_version < DIRECTORY_ASSIGNMENT:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet."
            )
        broker = self._state.broker(event.broker_id, event.broker_epoch)
        records: list[Fact] = []
        reply: list[Refused | None] = []
        for replica in event.replicas:
            try:
                records += self._assign(broker.id, replica)
                reply.append(None)
            except Refused as refused:
                reply.append(refused)
        return Step(records=tuple(records), reply=tuple(reply))

    def _assign(self, broker_id: int, replica: ReplicaDirectory) -> list[Fact]:
        topic = self._state.image.topics_by_id.get(replica.topic_id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        state = topic.partitions.get(replica.index)
        if state is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if broker_id not in state.replicas:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        at = Located(topic, replica.index, state)
        directories = {broker_id: replica.directory}

        def is_another(other: int) -> bool:
            return other != broker_id and self._state.is_active(other)

        if not self._state.is_online(broker_id, replica.directory):
            isr = without(state.isr, (broker_id,))
            record = change(self._state, at, is_another, directories=directories, isr=isr)
        elif self._begins_anew(broker_id, state):
            lost = (broker_id,) if self._state.elr_enabled else ()
            isr = without(state.isr, lost)
            record = change(
                self._state, at, is_another, directories=directories, isr=isr, lost=lost
            )
        else:
            record = change(self._state, at, directories=directories)
        return [] if record is None else [record]

    def _begins_anew(self, broker_id: int, state: PartitionState) -> bool:
        """It is somewhere else because where it was is gone, and nobody has taken it into the ISR
        since. A replica without others has nobody to wait for: it leads at once."""
        is_in_sync = state.has_leader and broker_id in state.isr
        return (
            len(state.replicas) > 1
            and not is_in_sync
            and not self._state.is_online(broker_id, state.directory(broker_id))
        )
