"""Offsets nobody needs any more, and groups with nothing left.

    explicit time in the commit     then
    classic group, empty            a retention time after it became empty
    classic consumers, stable       a retention time after the commit, of topics that none
                                    of them subscribes to
    consumer group, empty           a retention time after the commit
    consumer group with members     of unsubscribed topics, as above
    streams group                   as a consumer group; of topics its topology does not read
    simple group (no protocol)      a retention time after the commit
    places of the node's own        with their topic: whoever begins anew would do all again

Never while a transaction may still commit to the partition. An empty group without
offsets is deleted. The check runs every offsets.retention.check.interval.ms, in slices.
"""

from collections.abc import Sequence
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.deletion import group_tombstones_of
from kafkapy.group.offsets.delete import (
    BYTES_PER_STEP,
    TOMBSTONES_PER_STEP,
    is_subscribed,
    most_bytes,
)
from kafkapy.group.offsets.store import NO_EXPIRY, Committed, offset_tombstone
from kafkapy.group.plan import Context, Plan
from kafkapy.group.state import Group, GroupState, GroupsToExpire
from kafkapy.group.streams.group import StreamsGroup

# One slice looks at this many groups or offsets, about 2 ms.
LOOKED_AT_PER_SLICE: Final = 2_000


def expire(state: GroupState, plan: Plan, ctx: Context) -> None:
    """The timer: begin a round, or go on with it."""
    todo = state.groups_to_expire
    waiting = list(todo.group_ids or state.groups)
    partitions, at = todo.partitions, todo.looked_at
    left, room = LOOKED_AT_PER_SLICE, BYTES_PER_STEP
    while waiting and left > 0 and room > 0 and len(plan.records) < TOMBSTONES_PER_STEP:
        group_id = waiting[-1]
        each = most_bytes(group_id)
        group = state.groups.get(group_id)
        if not partitions and group is not None:
            partitions = tuple(state.offsets.of_group(group_id))
        count = min(left, TOMBSTONES_PER_STEP - len(plan.records), max(room // each, 1))
        some = partitions[at : at + count]
        at += len(some)
        left -= 1 + len(some)
        if group is not None:
            gone = _expired(group_id, group, some, state, ctx)
            plan.records += [offset_tombstone(group_id, partition) for partition in gone]
            room -= each * len(gone)
            if at < len(partitions):
                break
            if _has_nothing_but(len(gone), group_id, group, state):
                its_own = group_tombstones_of(group)
                plan.records += its_own
                room -= each * len(its_own)
        waiting.pop()
        partitions, at = (), 0
    plan.notes.append(GroupsToExpire(tuple(waiting), partitions, at))
    pause_ms = 0 if waiting else ctx.settings.offsets_retention_check_interval_ms
    plan.timers[timers.EXPIRE_OFFSETS] = later(ctx.now, pause_ms)


def _expired(
    group_id: str,
    group: Group,
    partitions: Sequence[TopicPartition],
    state: GroupState,
    ctx: Context,
) -> list[TopicPartition]:
    """Of these, some of which may be gone by now."""
    if group_id.startswith(ctx.settings.lasting_groups):
        return []
    offsets = state.offsets.of_group(group_id)
    return [
        partition
        for partition in partitions
        if (committed := offsets.get(partition)) is not None
        and not is_subscribed(group, partition.topic)
        and not state.offsets.is_pending(group_id, partition)
        and _is_expired(group, committed, ctx)
    ]


def _has_nothing_but(count: int, group_id: str, group: Group, state: GroupState) -> bool:
    """Whether nothing is left of an empty group once so many of its offsets are gone."""
    return (
        count == len(state.offsets.of_group(group_id))
        and not state.offsets.has_open_transactions(group_id)
        and _is_empty(group)
    )


def _is_expired(group: Group, committed: Committed, ctx: Context) -> bool:
    since: int = committed.commit_timestamp
    if isinstance(group, ClassicGroup) and group.protocol_type is not None:
        if group.state is ClassicState.EMPTY:
            if group.state_since >= 0:
                since = group.state_since
        elif group.state is not ClassicState.STABLE or group.subscribed_topics is None:
            return False
    if committed.expire_timestamp != NO_EXPIRY:
        return committed.expire_timestamp <= ctx.wall
    return ctx.wall - since >= ctx.settings.offsets_retention_ms


def _is_empty(group: Group) -> bool:
    return isinstance(group, ClassicGroup | ConsumerGroup | StreamsGroup) and (
        group.is_empty and not (isinstance(group, ClassicGroup) and group.pending_members)
    )
