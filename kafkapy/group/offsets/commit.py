"""OffsetCommit and TxnOffsetCommit: a group's place in its partitions.

The group vouches for the committer (commits.py in classic/, consumer/, streams/); each
partition then stands for itself. Nobody's commit to a group that does not exist creates a
simple group: consumers that assign themselves, and tools.
"""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Transactional
from kafkapy.core.time import later
from kafkapy.group.classic.commits import check_committer, keep_session
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.consumer.commits import check_commit
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.offsets.events import (
    CommitOffsets,
    CommitOffsetsInTransaction,
    OffsetsCommitted,
    OffsetToCommit,
)
from kafkapy.group.offsets.store import NO_EXPIRY, Committed, commit_record
from kafkapy.group.plan import Context, Plan
from kafkapy.group.records import Pair
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.state import GroupState
from kafkapy.group.streams.commits import check_commit as check_streams_commit
from kafkapy.group.streams.group import StreamsGroup


def commit(event: CommitOffsets, state: GroupState, plan: Plan, ctx: Context) -> None:
    group = state.groups.get(event.group_id)
    by = event.committer
    match group:
        case ClassicGroup():
            check_committer(group, by, is_transactional=False)
            keep_session(group, by, plan, ctx)
        case ConsumerGroup():
            check_commit(
                group,
                by,
                event.offsets,
                ctx.topics,
                is_transactional=False,
                speaks_of_groups=event.speaks_of_groups,
            )
        case StreamsGroup():
            check_streams_commit(
                group,
                by,
                event.offsets,
                is_transactional=False,
                speaks_of_groups=event.speaks_of_groups,
            )
        case ShareGroup():
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        case None if by.generation_or_epoch >= 0:
            raise Refused(
                ErrorCode.GROUP_ID_NOT_FOUND
                if event.speaks_of_groups
                else ErrorCode.ILLEGAL_GENERATION
            )
    expires = NO_EXPIRY
    if event.retention_ms != -1:
        expires = later(ctx.wall, event.retention_ms)
    plan.records += _records(event.group_id, event.offsets, expires, ctx)
    plan.reply = _answer(event.offsets, ctx)


def commit_in_transaction(
    event: CommitOffsetsInTransaction, state: GroupState, plan: Plan, ctx: Context
) -> None:
    group = state.groups.get(event.group_id)
    by = event.committer
    match group:
        case ClassicGroup():
            check_committer(group, by, is_transactional=True)
        case ConsumerGroup():
            check_commit(group, by, event.offsets, ctx.topics, is_transactional=True)
        case StreamsGroup():
            check_streams_commit(group, by, event.offsets, is_transactional=True)
        case ShareGroup():
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        case None if by.generation_or_epoch >= 0:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
    plan.records += [
        Transactional(event.producer_id, event.producer_epoch, record, event.guard)
        for record in _records(event.group_id, event.offsets, NO_EXPIRY, ctx)
    ]
    plan.reply = _answer(event.offsets, ctx)


def _records(
    group_id: str, offsets: tuple[OffsetToCommit, ...], expires: int, ctx: Context
) -> list[Pair]:
    return [
        commit_record(
            group_id,
            offset.partition,
            Committed(
                offset.offset,
                offset.leader_epoch,
                offset.metadata,
                ctx.wall,
                expires,
                offset.topic_id,
            ),
        )
        for offset in offsets
        if _is_small_enough(offset, ctx)
    ]


def _answer(offsets: tuple[OffsetToCommit, ...], ctx: Context) -> OffsetsCommitted:
    return OffsetsCommitted(
        tuple(
            ErrorCode.NONE if _is_small_enough(offset, ctx) else ErrorCode.OFFSET_METADATA_TOO_LARGE
            for offset in offsets
        )
    )


def _is_small_enough(offset: OffsetToCommit, ctx: Context) -> bool:
    """As Java counts what a string has: a character outside of the BMP twice."""
    metadata, most = offset.metadata, ctx.settings.offset_metadata_max_bytes
    return len(metadata) <= most and len(metadata.encode("utf-16-le")) <= 2 * most
