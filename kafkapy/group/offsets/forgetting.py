"""What groups know of topics that were deleted: their offsets there, and what share groups read.

    deleted --> waiting --> a round through all groups --> forgotten
                   ^                     |
                   +--- a transaction ---+

A tombstone takes along what open transactions have pending for its partition. So where a topic
was made anew and a transaction commits for that one, the old topic's offsets stay until the
transaction has ended: nobody is told of them (fetch.py).

A round is made of slices: neither thousands of groups nor thousands of offsets hold the node,
and a slice whose records are refused comes again.
"""

from enum import Enum, auto
from typing import Final
from uuid import UUID

from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.offsets.delete import BYTES_PER_STEP, TOMBSTONES_PER_STEP, most_bytes
from kafkapy.group.offsets.events import DeletedTopic, TopicsDeleted
from kafkapy.group.offsets.store import offset_tombstone
from kafkapy.group.plan import Context, Plan
from kafkapy.group.share.admin import topics_deleted as topics_deleted_in_share_group
from kafkapy.group.share.group import ShareDraft, ShareGroup
from kafkapy.group.state import GroupState, TopicsToForget

# One slice looks at this many groups or offsets, about 2 ms.
LOOKED_AT_PER_SLICE: Final = 2_000
# Transactions last for seconds, and what waits for their ends is in nobody's way.
LOOK_AGAIN_MS: Final = 10_000


def topics_deleted(event: TopicsDeleted, state: GroupState, plan: Plan, ctx: Context) -> None:
    """Remember them: what follows from it is the timer's."""
    todo = state.topics_to_forget
    plan.notes.append(
        TopicsToForget(todo.waiting + event.topics, todo.of_round, todo.group_ids, todo.held)
    )
    plan.timers[timers.FORGET_DELETED_TOPICS] = ctx.now


def forget_deleted_topics(state: GroupState, plan: Plan, ctx: Context) -> None:
    """The timer: begin a round, or go on with it."""
    todo = state.topics_to_forget
    if not todo.of_round:
        todo = TopicsToForget((), todo.waiting, tuple(state.groups))
    deleted = _ids_by_name(todo.of_round)
    topic_ids = frozenset(topic.topic_id for topic in todo.of_round)
    left = list(todo.group_ids)
    held = set(todo.held)
    partitions, at = todo.partitions, todo.looked_at
    looks, room = LOOKED_AT_PER_SLICE, BYTES_PER_STEP
    while left and looks > 0 and room > 0 and len(plan.records) < TOMBSTONES_PER_STEP:
        group_id = left[-1]
        each, had = most_bytes(group_id), len(plan.records)
        if not partitions:
            group = state.groups.get(group_id)
            if isinstance(group, ShareGroup):
                topics_deleted_in_share_group(ShareDraft(group, plan), topic_ids)
            partitions = tuple(state.offsets.known_partitions(group_id))
        count = min(looks, TOMBSTONES_PER_STEP - len(plan.records), max(room // each, 1))
        some = partitions[at : at + count]
        at += len(some)
        looks -= 1 + len(some)
        for partition in some:
            if partition.topic not in deleted:
                continue
            match _fate(group_id, partition, deleted[partition.topic], state):
                case _Fate.GOES:
                    plan.records.append(offset_tombstone(group_id, partition))
                case _Fate.GOES_LATER:
                    held.add(partition.topic)
        room -= each * (len(plan.records) - had)
        if at < len(partitions):
            break
        left.pop()
        partitions, at = (), 0
    if left:
        plan.timers[timers.FORGET_DELETED_TOPICS] = ctx.now
        todo = TopicsToForget(
            todo.waiting, todo.of_round, tuple(left), frozenset(held), partitions, at
        )
    else:
        again = tuple(topic for topic in todo.of_round if topic.name in held)
        if todo.waiting:
            plan.timers[timers.FORGET_DELETED_TOPICS] = ctx.now
        elif again:
            plan.timers[timers.FORGET_DELETED_TOPICS] = later(ctx.now, LOOK_AGAIN_MS)
        todo = TopicsToForget(again + todo.waiting)
    plan.notes.append(todo)


def _ids_by_name(topics: tuple[DeletedTopic, ...]) -> dict[str, set[UUID | None]]:
    """By which ids the topics of a name were known; commits of old are without any."""
    found: dict[str, set[UUID | None]] = {}
    for topic in topics:
        found.setdefault(topic.name, {None}).add(topic.topic_id)
    return found


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
