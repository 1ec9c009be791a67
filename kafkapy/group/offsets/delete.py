"""Offsets that are deleted on request, or because their topic was.

A tombstone takes along what open transactions have pending for its partition. So where a topic
was made anew and a transaction commits for that one, the old topic's offsets stay until the
transaction has ended: nobody is told of them (fetch.py).
"""

from enum import Enum, auto
from typing import Final
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic.commits import check_offset_deletion
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.offsets.events import DeleteOffsets, OffsetsDeleted, TopicDeleted
from kafkapy.group.offsets.store import offset_tombstone
from kafkapy.group.plan import Context, Plan
from kafkapy.group.records import Pair
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.state import Group, GroupState, TopicsToForget
from kafkapy.group.unserved import ForeignGroup

# Tombstones of one step: a batch stays far below max.message.bytes.
TOMBSTONES_PER_STEP: Final = 2_000
# Transactions last for seconds, and what waits for their ends is in nobody's way.
LOOK_AGAIN_MS: Final = 10_000


def delete(event: DeleteOffsets, state: GroupState, plan: Plan) -> None:
    group = state.groups.get(event.group_id)
    if group is None or isinstance(group, ForeignGroup | ShareGroup):
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
        case ConsumerGroup():
            return group.is_subscribed_to(topic)
        case _:
            return False


def all_tombstones(group_id: str, state: GroupState) -> list[Pair]:
    return [
        offset_tombstone(group_id, partition)
        for partition in state.offsets.known_partitions(group_id)
    ]


def topic_deleted(event: TopicDeleted, state: GroupState, plan: Plan, ctx: Context) -> None:
    """Remember it, and delete in steps of bounded size."""
    plan.notes.append(TopicsToForget((*state.topics_to_forget, event)))
    plan.timers[timers.FORGET_DELETED_TOPICS] = ctx.now


def forget_deleted_topics(state: GroupState, plan: Plan, ctx: Context) -> None:
    deleted: dict[str, set[UUID | None]] = {}
    for topic in state.topics_to_forget:
        deleted.setdefault(topic.name, {None}).add(topic.topic_id)
    held: set[str] = set()
    for group_id in state.groups:
        for partition in state.offsets.known_partitions(group_id):
            if partition.topic not in deleted:
                continue
            match _fate(group_id, partition, deleted[partition.topic], state):
                case _Fate.GOES if len(plan.records) == TOMBSTONES_PER_STEP:
                    plan.timers[timers.FORGET_DELETED_TOPICS] = ctx.now
                    return
                case _Fate.GOES:
                    plan.records.append(offset_tombstone(group_id, partition))
                case _Fate.GOES_LATER:
                    held.add(partition.topic)
    plan.notes.append(
        TopicsToForget(tuple(one for one in state.topics_to_forget if one.name in held))
    )
    if held:
        plan.timers[timers.FORGET_DELETED_TOPICS] = later(ctx.now, LOOK_AGAIN_MS)


class _Fate(Enum):
    STAYS = auto()
    GOES = auto()
    GOES_LATER = auto()


def _fate(
    group_id: str, partition: TopicPartition, deleted: set[UUID | None], state: GroupState
) -> _Fate:
    """What was committed since for a new topic of the name stays, in a transaction or not."""
    committed = state.offsets.get(group_id, partition)
    pending = [one.topic_id in deleted for one in state.offsets.pending(group_id, partition)]
    if committed is not None and committed.topic_id not in deleted:
        return _Fate.STAYS
    if all(pending):
        return _Fate.GOES
    return _Fate.STAYS if committed is None and not any(pending) else _Fate.GOES_LATER
