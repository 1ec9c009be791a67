"""Offsets that are deleted on request. Those of deleted topics: forgetting.py.

A step is one batch, and a batch that is too large is refused, now and whenever it is tried again.
"""

from collections.abc import Sequence
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

# Of what goes by itself, in one step: that takes milliseconds.
TOMBSTONES_PER_STEP: Final = 2_000
# Of a batch. max.message.bytes is 1,048,588 unless somebody says otherwise; what is left of it is
# for the last group's own tombstones: a handful, each with a name of at most 32 KB.
BYTES_PER_STEP: Final = 800_000
# Of a tombstone besides its names, and of the longest name of a topic.
_FIXED_BYTES: Final = 40
_TOPIC_BYTES: Final = 249


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


def most_bytes(group_id: str) -> int:
    """That a tombstone of the group takes."""
    return len(group_id.encode()) + _TOPIC_BYTES + _FIXED_BYTES


def that_fit(group_id: str, tombstones: Sequence[Pair]) -> int:
    """How many of these offsets' tombstones one batch holds: at least one."""
    left = BYTES_PER_STEP
    each = len(group_id.encode()) + _FIXED_BYTES
    for count, (key, _) in enumerate(tombstones):
        left -= each + len(key.topic.encode())
        if left < 0:
            return max(count, 1)
    return len(tombstones)
