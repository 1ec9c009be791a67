"""Offsets that are deleted on request. Those of deleted topics: forgetting.py."""

from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.commits import check_offset_deletion
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.offsets.events import DeleteOffsets, OffsetsDeleted
from kafkapy.group.offsets.store import offset_tombstone
from kafkapy.group.plan import Plan
from kafkapy.group.records import Pair
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.state import Group, GroupState
from kafkapy.group.streams.group import StreamsGroup

# Tombstones of one step: a batch stays far below max.message.bytes.
TOMBSTONES_PER_STEP: Final = 2_000


def delete(event: DeleteOffsets, state: GroupState, plan: Plan) -> None:
    group = state.groups.get(event.group_id)
    if group is None or isinstance(group, ShareGroup):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, ClassicGroup):
        check_offset_deletion(group)
    errors = []
    known = set(state.offsets.known_partitions(event.group_id))
    for partition in event.partitions:
        if is_subscribed(group, partition.topic):
            errors.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
            continue
        errors.append(ErrorCode.NONE)
        if partition in known:
            plan.records.append(offset_tombstone(event.group_id, partition))
    plan.reply = OffsetsDeleted(tuple(errors))


def is_subscribed(group: Group | None, topic: str) -> bool:
    match group:
        case ClassicGroup():
            return not group.is_empty and group.is_subscribed_to(topic)
        case ConsumerGroup() | StreamsGroup():
            return group.is_subscribed_to(topic)
        case _:
            return False


def all_tombstones(group_id: str, state: GroupState) -> list[Pair]:
    return [
        offset_tombstone(group_id, partition)
        for partition in state.offsets.known_partitions(group_id)
    ]
