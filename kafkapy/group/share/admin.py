"""What the node and its operators do with a share group's state at the share coordinator."""

from collections.abc import Iterable

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.plan import Context
from kafkapy.group.share.events import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribedShareMember,
    Noted,
    ShareGroupDescribed,
    ShareOffsetsKept,
    ShareStateDeleted,
    ShareStateInitialized,
    ShareStateToDelete,
    StateToInitialize,
)
from kafkapy.group.share.group import DeletionAsked, ShareDraft, ShareGroup
from kafkapy.group.share.state_partitions import listed
from kafkapy.group.share.stored import epoch_record, state_record
from kafkapy.group.topics import TopicPartitions, named


def initialized(event: ShareStateInitialized, draft: ShareDraft, ctx: Context) -> None:
    """Of what is still wanted: a topic may have gone meanwhile."""
    state = draft.group.state_partitions
    wanted: list[TopicPartitions] = []
    for one in event.topics:
        kept = state.initializing.get(one.topic_id)
        if kept is not None and ctx.topics.with_id(one.topic_id) is not None:
            partitions = tuple(p for p in one.partitions if p in kept.partitions)
            if partitions:
                wanted.append(one._replace(partitions=partitions))
    if wanted:
        draft.write(state_record(draft.group_id, state.done(wanted)))
    draft.plan.reply = Noted()


def deleted(event: ShareStateDeleted, draft: ShareDraft) -> None:
    state = draft.group.state_partitions
    after = state.gone(event.topic_ids)
    if after != state:
        draft.write(state_record(draft.group_id, after))
    draft.plan.reply = Noted()


def describe(group: ShareGroup, ctx: Context) -> ShareGroupDescribed:
    return ShareGroupDescribed(
        group.state().value,
        group.epoch,
        group.assignment_epoch,
        ctx.settings.share_assignor,
        tuple(
            DescribedShareMember(profile, holding.epoch, named(holding.assigned, ctx.topics))
            for profile, holding in group.members()
        ),
    )


def kept(group: ShareGroup) -> ShareOffsetsKept:
    return ShareOffsetsKept(listed(group.state_partitions.initialized))


def alter(event: AlterShareOffsets, draft: ShareDraft) -> None:
    """Under a new epoch, so that leaders who know the old state are fenced."""
    _check_empty(draft.group)
    group = draft.group
    draft.write(epoch_record(group.group_id, group.epoch + 1, group.metadata_hash))
    draft.write(state_record(group.group_id, group.state_partitions.begun(event.topics)))
    draft.plan.reply = StateToInitialize(group.group_id, draft.group.epoch, event.topics)


def delete_offsets(event: DeleteShareOffsets, draft: ShareDraft, ctx: Context) -> None:
    _check_empty(draft.group)
    topics = _to_delete(draft.group, ctx)
    _delete(tuple(one for one in topics if one.topic_id in event.topics), draft, ctx)


def delete_group(draft: ShareDraft, ctx: Context) -> bool:
    """Whether it can be deleted now: else the reply says what has to be deleted first, or a
    later group of that name would have it."""
    _check_empty(draft.group)
    topics = _to_delete(draft.group, ctx)
    if not topics:
        return True
    _delete(topics, draft, ctx)
    return False


def _delete(topics: tuple[TopicPartitions, ...], draft: ShareDraft, ctx: Context) -> None:
    """Said before it is done: if nobody hears of its end, the group does not take for
    initialized what the share coordinator has forgotten."""
    if topics:
        leaving = {one.topic_id: one.topic for one in topics}
        draft.write(state_record(draft.group_id, draft.group.state_partitions.leaving(leaving)))
        draft.note(DeletionAsked(draft.group_id, ctx.now))
    draft.plan.reply = ShareStateToDelete(topics)


def _to_delete(group: ShareGroup, ctx: Context) -> tuple[TopicPartitions, ...]:
    """Of what is being deleted already any partition may be left. With a topic its states go."""
    state = group.state_partitions
    left = [
        TopicPartitions(topic_id, topic.name, tuple(range(topic.partition_count)))
        for topic_id in sorted(state.deleting)
        if (topic := ctx.topics.with_id(topic_id)) is not None
    ]
    return (*state.all(), *left)


def topics_deleted(draft: ShareDraft, topic_ids: Iterable[object]) -> None:
    """The share coordinator hears of it itself."""
    state = draft.group.state_partitions
    ids = frozenset(topic_ids)
    gone = [one for one in (*state.initialized, *state.initializing, *state.deleting) if one in ids]
    if gone:
        draft.write(state_record(draft.group_id, state.gone(gone)))


def _check_empty(group: ShareGroup) -> None:
    if not group.is_empty:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
