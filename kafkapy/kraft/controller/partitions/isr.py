"""AlterPartition: a leader says who is in sync with it; the controller agrees or not.

A refused change must not be retried blindly: the code tells the leader what it missed.
NEW_LEADER_ELECTED is an answer *and* a change: the ISR completed a reassignment, and the
leader that asked is no replica any more. formats/controller 2; KIP-497, KIP-841, KIP-903.
"""

from typing import Any, NamedTuple
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.partitions.leadership import change
from kafkapy.kraft.controller.state import ControllerState, Located
from kafkapy.kraft.image.topics import (
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionState,
    changed,
)

# "I do not know the epoch of that broker": it is not compared.
ANY_EPOCH = -1


@dataclass(frozen=True, slots=True)
class NewIsr:
    """`isr` are (broker, broker epoch)."""

    topic_id: UUID
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    recovery: int = RECOVERED


@dataclass(frozen=True, slots=True)
class AlterPartition:
    broker_id: int
    broker_epoch: int
    partitions: tuple[NewIsr, ...]


class PartitionAgreed(NamedTuple):
    """What a leader over the wire is told of its partition as it is now."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    leader_recovery_state: int


# In the order of the request: the partition as it is now, or why not.
AlterPartitionReply = tuple[PartitionState | PartitionAgreed | Refused, ...]


class IsrMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AlterPartition, now: Instant) -> Step[Fact, AlterPartitionReply]:
        self._state.broker(event.broker_id, event.broker_epoch)
        records: list[Fact] = []
        reply: list[PartitionState | Refused] = []
        for wanted in event.partitions:
            try:
                reply.append(self._alter(event.broker_id, wanted, records))
            except Refused as refused:
                reply.append(refused)
        return Step(records=tuple(records), reply=tuple(reply))

    def _alter(self, sender: int, wanted: NewIsr, records: list[Any]) -> PartitionState:
        at = self._find(wanted)
        self._check_epochs(sender, at.state, wanted)
        self._check_isr(at.state, wanted)
        isr = tuple(broker for broker, _ in wanted.isr)
        record = change(self._state, at, isr=isr, recovery=wanted.recovery)
        if record is None:
            return at.state
        records.append(record)
        if record.leader not in (sender, NO_LEADER_CHANGE):
            raise Refused(ErrorCode.NEW_LEADER_ELECTED)
        return changed(at.state, record)

    def _find(self, wanted: NewIsr) -> Located:
        topic = self._state.image.topics_by_id.get(wanted.topic_id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        state = topic.partitions.get(wanted.index)
        if state is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return Located(topic, wanted.index, state)

    def _check_epochs(self, sender: int, state: PartitionState, wanted: NewIsr) -> None:
        # The leader is ahead of us: then it is we who are not the controller any more.
        if (
            wanted.leader_epoch > state.leader_epoch
            or wanted.partition_epoch > state.partition_epoch
        ):
            raise Refused(ErrorCode.NOT_CONTROLLER)
        if wanted.leader_epoch < state.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        if sender != state.leader:
            raise Refused(ErrorCode.INVALID_REQUEST)
        if wanted.partition_epoch < state.partition_epoch:
            raise Refused(ErrorCode.INVALID_UPDATE_VERSION)

    def _check_isr(self, state: PartitionState, wanted: NewIsr) -> None:
        isr = [broker for broker, _ in wanted.isr]
        if (
            len(set(isr)) != len(isr)
            or not set(isr) <= set(state.replicas)
            or state.leader not in isr
            or wanted.recovery not in (RECOVERED, RECOVERING)
            or (wanted.recovery == RECOVERING and len(isr) > 1)
            or (state.leader_recovery_state == RECOVERED and wanted.recovery == RECOVERING)
        ):
            raise Refused(ErrorCode.INVALID_REQUEST)
        for broker, epoch in wanted.isr:
            registered = self._state.image.brokers.get(broker)
            if (
                registered is None
                or not registered.is_active
                or epoch not in (ANY_EPOCH, registered.epoch)
            ):
                raise Refused(ErrorCode.INELIGIBLE_REPLICA)
