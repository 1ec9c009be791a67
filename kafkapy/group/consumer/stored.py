"""A consumer group's values <-> their records (types 3, 5, 6, 7, 8 and 16).

Topics and partitions are written sorted, so that equal states are equal bytes.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from kafkapy.core.time import Instant
from kafkapy.group.consumer.member import Holding, MemberState, Owned, Profile, Target
from kafkapy.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    OwnedPartitions,
    Pair,
    TargetPartitions,
)

_STATES = {int(state): state for state in MemberState}


# Writing


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Pair:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return ConsumerGroupMetadataKey(group_id=group_id), value


def profile_record(group_id: str, profile: Profile) -> Pair:
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=profile.member_id)
    value = ConsumerGroupMemberMetadataValue(
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=tuple(sorted(profile.subscribed_topics)),
        subscribed_topic_regex=profile.subscribed_regex or "",
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        server_assignor=profile.server_assignor,
        classic_member_metadata=profile.classic,
    )
    return key, value


def target_record(group_id: str, member_id: str, target: Target) -> Pair:
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    partitions = tuple(
        TargetPartitions(topic_id=topic_id, partitions=tuple(sorted(target[topic_id])))
        for topic_id in sorted(target)
        if target[topic_id]
    )
    return key, ConsumerGroupTargetAssignmentMemberValue(topic_partitions=partitions)


def assignment_epoch_record(group_id: str, epoch: int, now: Instant) -> Pair:
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=now
    )
    return ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value


def holding_record(group_id: str, member_id: str, holding: Holding) -> Pair:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=holding.epoch,
        previous_member_epoch=holding.previous_epoch,
        state=holding.state,
        assigned_partitions=tuple(_write_owned(holding.assigned)),
        partitions_pending_revocation=tuple(_write_owned(holding.pending_revocation)),
    )
    return key, value


def regex_record(
    group_id: str, regex: str, topics: Iterable[str], version: int, now: Instant
) -> Pair:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    value = ConsumerGroupRegularExpressionValue(
        topics=tuple(sorted(topics)), version=version, timestamp=now
    )
    return key, value


def regex_tombstone(group_id: str, regex: str) -> Pair:
    return ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None


def member_tombstones(group_id: str, member_id: str) -> list[Pair]:
    """In this order: Kafka's replay does not take a member away that still owns something."""
    return [
        (ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> list[Pair]:
    members = list(member_ids)
    found: list[Pair] = []
    for key_class in (
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupTargetAssignmentMemberKey,
    ):
        found += [(key_class(group_id=group_id, member_id=member), None) for member in members]
    found.append((ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    found += [
        (ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member), None)
        for member in members
    ]
    found += [regex_tombstone(group_id, regex) for regex in regexes]
    found.append((ConsumerGroupPartitionMetadataKey(group_id=group_id), None))
    found.append((ConsumerGroupMetadataKey(group_id=group_id), None))
    return found


def _write_owned(owned: Owned) -> Iterator[OwnedPartitions]:
    for topic_id in sorted(owned):
        partitions = tuple(sorted(owned[topic_id]))
        if partitions:
            epochs = tuple(owned[topic_id][partition] for partition in partitions)
            yield OwnedPartitions(
                topic_id=topic_id, partitions=partitions, assignment_epochs=epochs
            )


# Reading


def profile_from(member_id: str, value: ConsumerGroupMemberMetadataValue) -> Profile:
    classic = value.classic_member_metadata
    if classic is not None and not classic.supported_protocols:
        classic = None  # written before there was such a field
    return Profile(
        member_id=member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topics=frozenset(value.subscribed_topic_names),
        subscribed_regex=value.subscribed_topic_regex or None,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=classic,
    )


def target_from(value: ConsumerGroupTargetAssignmentMemberValue) -> Target:
    return {
        one.topic_id: frozenset(one.partitions)
        for one in value.topic_partitions
        if one.topic_id is not None
    }


def holding_from(value: ConsumerGroupCurrentMemberAssignmentValue) -> Holding:
    return Holding(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=_STATES.get(value.state, MemberState.UNKNOWN),
        assigned=_read_owned(value.assigned_partitions, value.member_epoch),
        pending_revocation=_read_owned(value.partitions_pending_revocation, value.member_epoch),
    )


def _read_owned(listed: Iterable[OwnedPartitions], member_epoch: int) -> Owned:
    owned: dict[UUID, dict[int, int]] = {}
    for one in listed:
        if one.topic_id is None:
            continue
        epochs = one.assignment_epochs
        if epochs is None or len(epochs) != len(one.partitions):
            epochs = (member_epoch,) * len(one.partitions)
        owned[one.topic_id] = dict(zip(one.partitions, epochs, strict=True))
    return owned
