"""A share group's values <-> their records (types 10 to 15)."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kafkapy.core.time import Instant
from kafkapy.group.records import Pair, TargetPartitions
from kafkapy.group.records.share import (
    DeletingTopic,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartitionsInfo,
)
from kafkapy.group.share.member import Holding, Profile, Target
from kafkapy.group.share.state_partitions import Kept, StatePartitions

STABLE = 0

# Writing


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Pair:
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return ShareGroupMetadataKey(group_id=group_id), value


def profile_record(group_id: str, profile: Profile) -> Pair:
    key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=profile.member_id)
    return key, ShareGroupMemberMetadataValue(
        rack_id=profile.rack_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=tuple(sorted(profile.subscribed_topics)),
    )


def target_record(group_id: str, member_id: str, target: Target) -> Pair:
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return key, ShareGroupTargetAssignmentMemberValue(topic_partitions=_written(target))


def assignment_epoch_record(group_id: str, epoch: int, now: Instant) -> Pair:
    value = ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=now
    )
    return ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value


def holding_record(group_id: str, member_id: str, holding: Holding) -> Pair:
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return key, ShareGroupCurrentMemberAssignmentValue(
        member_epoch=holding.epoch,
        previous_member_epoch=holding.previous_epoch,
        state=STABLE,
        assigned_partitions=_written(holding.assigned),
    )


def state_record(group_id: str, state: StatePartitions) -> Pair:
    return ShareGroupStatePartitionMetadataKey(
        group_id=group_id
    ), ShareGroupStatePartitionMetadataValue(
        initializing_topics=_infos(state.initializing),
        initialized_topics=_infos(state.initialized),
        deleting_topics=tuple(
            DeletingTopic(topic_id=topic_id, topic_name=name)
            for topic_id, name in sorted(state.deleting.items())
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> list[Pair]:
    """In the order in which Kafka writes them, its own replay asks for it."""
    return [
        (ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str], has_state: bool) -> list[Pair]:
    members = list(member_ids)
    records: list[Pair] = [
        *(
            (ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=one), None)
            for one in members
        ),
        *(
            (ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=one), None)
            for one in members
        ),
        (ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *((ShareGroupMemberMetadataKey(group_id=group_id, member_id=one), None) for one in members),
    ]
    if has_state:
        records.append((ShareGroupStatePartitionMetadataKey(group_id=group_id), None))
    records.append((ShareGroupMetadataKey(group_id=group_id), None))
    return records


# Reading


def profile_from(member_id: str, value: ShareGroupMemberMetadataValue) -> Profile:
    return Profile(
        member_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        frozenset(value.subscribed_topic_names),
    )


def target_from(partitions: Iterable[TargetPartitions]) -> Target:
    return {
        one.topic_id: frozenset(one.partitions) for one in partitions if one.topic_id is not None
    }


def state_from(value: ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    return StatePartitions(
        _kept(value.initializing_topics),
        _kept(value.initialized_topics),
        {one.topic_id: one.topic_name for one in value.deleting_topics if one.topic_id is not None},
    )


def _written(target: Target) -> tuple[TargetPartitions, ...]:
    return tuple(
        TargetPartitions(topic_id=topic_id, partitions=tuple(sorted(target[topic_id])))
        for topic_id in sorted(target)
        if target[topic_id]
    )


def _infos(topics: Mapping[UUID, Kept]) -> tuple[TopicPartitionsInfo, ...]:
    return tuple(
        TopicPartitionsInfo(
            topic_id=topic_id, topic_name=kept.topic, partitions=tuple(sorted(kept.partitions))
        )
        for topic_id, kept in sorted(topics.items())
    )


def _kept(infos: Iterable[TopicPartitionsInfo]) -> dict[UUID, Kept]:
    return {
        one.topic_id: Kept(one.topic_name, frozenset(one.partitions))
        for one in infos
        if one.topic_id is not None
    }
