"""A streams group's values <-> their records (types 17 and 19 to 23).

Tasks are written sorted, so that equal states are equal bytes.
"""

from collections.abc import Iterable, Mapping

from kafkapy.core.time import Instant
from kafkapy.group.records import Pair
from kafkapy.group.records.streams import (
    AssignmentConfig,
    ClientTag,
    Endpoint,
    OwnedTaskIds,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
    TaskIds,
)
from kafkapy.group.streams.member import (
    Held,
    Holding,
    MemberState,
    Owned,
    Profile,
    Target,
    Tasks,
)

_STATES = {int(state): state for state in MemberState}

# Writing


def epoch_record(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    configs: Mapping[str, str],
) -> Pair:
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=tuple(
            AssignmentConfig(key=key, value=value) for key, value in sorted(configs.items())
        ),
    )
    return StreamsGroupMetadataKey(group_id=group_id), value


def profile_record(group_id: str, profile: Profile) -> Pair:
    endpoint = profile.user_endpoint
    value = StreamsGroupMemberMetadataValue(
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        topology_epoch=profile.topology_epoch,
        process_id=profile.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=tuple(ClientTag(key=key, value=value) for key, value in profile.client_tags),
    )
    return StreamsGroupMemberMetadataKey(group_id=group_id, member_id=profile.member_id), value


def topology_record(group_id: str, value: StreamsGroupTopologyValue) -> Pair:
    return StreamsGroupTopologyKey(group_id=group_id), value


def target_record(group_id: str, member_id: str, target: Target) -> Pair:
    key = StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return key, StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_task_ids(target.active),
        standby_tasks=_task_ids(target.standby),
        warmup_tasks=_task_ids(target.warmup),
    )


def assignment_epoch_record(group_id: str, epoch: int, now: Instant) -> Pair:
    value = StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=now
    )
    return StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value


def holding_record(group_id: str, member_id: str, holding: Holding) -> Pair:
    key = StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    assigned, pending = holding.assigned, holding.pending_revocation
    return key, StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=holding.epoch,
        previous_member_epoch=holding.previous_epoch,
        state=holding.state,
        active_tasks=_owned_ids(assigned.active),
        standby_tasks=_copied_ids(assigned.standby),
        warmup_tasks=_copied_ids(assigned.warmup),
        active_tasks_pending_revocation=_owned_ids(pending.active),
        standby_tasks_pending_revocation=_copied_ids(pending.standby),
        warmup_tasks_pending_revocation=_copied_ids(pending.warmup),
    )


def member_tombstones(group_id: str, member_id: str) -> list[Pair]:
    """In this order: Kafka's replay does not take a member away that still owns something."""
    keys = (
        StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupMemberMetadataKey,
    )
    return [(key(group_id=group_id, member_id=member_id), None) for key in keys]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[Pair]:
    members = sorted(member_ids)
    return [
        *(
            (StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=one), None)
            for one in members
        ),
        *(
            (StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=one), None)
            for one in members
        ),
        (StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(
            (StreamsGroupMemberMetadataKey(group_id=group_id, member_id=one), None)
            for one in members
        ),
        (StreamsGroupMetadataKey(group_id=group_id), None),
        (StreamsGroupTopologyKey(group_id=group_id), None),
    ]


def _task_ids(tasks: Tasks) -> tuple[TaskIds, ...]:
    return tuple(
        TaskIds(subtopology_id=one, partitions=tuple(sorted(tasks[one])))
        for one in sorted(tasks)
        if tasks[one]
    )


def _copied_ids(tasks: Tasks) -> tuple[OwnedTaskIds, ...]:
    return tuple(
        OwnedTaskIds(subtopology_id=one, partitions=tuple(sorted(tasks[one])))
        for one in sorted(tasks)
        if tasks[one]
    )


def _owned_ids(owned: Owned) -> tuple[OwnedTaskIds, ...]:
    found = []
    for one in sorted(owned):
        partitions = tuple(sorted(owned[one]))
        if partitions:
            epochs = tuple(owned[one][partition] for partition in partitions)
            found.append(
                OwnedTaskIds(subtopology_id=one, partitions=partitions, assignment_epochs=epochs)
            )
    return tuple(found)


# Reading


def profile_from(member_id: str, value: StreamsGroupMemberMetadataValue) -> Profile:
    endpoint = value.user_endpoint
    return Profile(
        member_id,
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        value.topology_epoch,
        value.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        tuple((one.key, one.value) for one in value.client_tags),
    )


def target_from(value: StreamsGroupTargetAssignmentMemberValue) -> Target:
    return Target(
        tasks_from(value.active_tasks),
        tasks_from(value.standby_tasks),
        tasks_from(value.warmup_tasks),
    )


def holding_from(value: StreamsGroupCurrentMemberAssignmentValue) -> Holding:
    epoch = value.member_epoch
    return Holding(
        epoch,
        value.previous_member_epoch,
        _STATES.get(value.state, MemberState.UNKNOWN),
        Held(
            _owned_from(value.active_tasks, epoch),
            tasks_from(value.standby_tasks),
            tasks_from(value.warmup_tasks),
        ),
        Held(
            _owned_from(value.active_tasks_pending_revocation, epoch),
            tasks_from(value.standby_tasks_pending_revocation),
            tasks_from(value.warmup_tasks_pending_revocation),
        ),
    )


def configs_from(value: StreamsGroupMetadataValue) -> Mapping[str, str]:
    return {one.key: one.value for one in value.last_assignment_configs or ()}


def tasks_from(listed: Iterable[TaskIds | OwnedTaskIds]) -> Tasks:
    return {one.subtopology_id: frozenset(one.partitions) for one in listed if one.partitions}


def _owned_from(listed: Iterable[OwnedTaskIds], member_epoch: int) -> Owned:
    owned: dict[str, dict[int, int]] = {}
    for one in listed:
        epochs = one.assignment_epochs
        if epochs is None or len(epochs) != len(one.partitions):
            epochs = (member_epoch,) * len(one.partitions)
        owned[one.subtopology_id] = dict(zip(one.partitions, epochs, strict=True))
    return owned
