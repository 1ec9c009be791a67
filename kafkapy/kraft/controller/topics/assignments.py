"""Replicas for new partitions: chosen by the placer, or checked if the client chose them."""

from collections.abc import Sequence
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.controller.topics.placement import StripedPlacer, usable
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import PartitionRecord

Replicas = tuple[int, ...]


def placed(
    state: ControllerState, partitions: int, replication_factor: int
) -> list[PartitionState]:
    """New partitions where the placer puts them; Refused(INVALID_REPLICATION_FACTOR)."""
    try:
        placer = StripedPlacer(usable(state.image.brokers.values()), state.rng)
        chosen = placer.place(partitions, replication_factor)
    except Refused as refused:
        raise _cannot_replicate(replication_factor, refused.message or "") from None
    made = [new_partition(state, replicas) for replicas in chosen]
    for partition in made:
        if partition is None:
            raise _cannot_replicate(
                replication_factor, "All brokers are currently fenced or in controlled shutdown."
            )
    return [partition for partition in made if partition is not None]


def _cannot_replicate(replication_factor: int, why: str) -> Refused:
    return Refused(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {replication_factor} time(s): {why}",
    )


def chosen(
    state: ControllerState, index: int, replicas: Replicas, replication_factor: int | None
) -> PartitionState:
    """A new partition where the client wants it; Refused(INVALID_REPLICA_ASSIGNMENT)."""
    check_replicas(state, replicas, replication_factor)
    partition = new_partition(state, replicas)
    if partition is None:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "All brokers specified in the manual partition assignment for partition "
            f"{index} are fenced or in controlled shutdown.",
        )
    return partition


def check_replicas(
    state: ControllerState, replicas: Sequence[int], replication_factor: int | None
) -> None:
    wrong = "The manual partition assignment includes"
    if not replicas:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{wrong} an empty replica list.")
    before = None
    for broker in sorted(replicas):
        if broker not in state.image.brokers:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{wrong} broker {broker}, but no such broker is registered.",
            )
        if broker == before:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{wrong} the broker {broker} more than once.",
            )
        before = broker
    if replication_factor is not None and len(replicas) != replication_factor:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{wrong} a partition with {len(replicas)} replica(s), but this is not consistent "
            f"with previous partitions, which have {replication_factor} replica(s).",
        )


def new_partition(state: ControllerState, replicas: Replicas) -> PartitionState | None:
    """Its first active replica leads it; None if there is no active one."""
    isr = tuple(broker for broker in replicas if state.is_active(broker))
    if not isr:
        return None
    return PartitionState(
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(state.default_directory(broker) for broker in replicas),
    )


def records_of(
    topic_id: UUID, partitions: Sequence[PartitionState], first_index: int = 0
) -> list[PartitionRecord]:
    return [
        partition.to_record(topic_id, first_index + position)
        for position, partition in enumerate(partitions)
    ]
