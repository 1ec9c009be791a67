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
from kafkapy.group.share.group import ShareDraft, ShareGroup
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


def delete_offsets(event: DeleteShareOffsets, draft: ShareDraft) -> None:
    _check_empty(draft.group)
    state = draft.group.state_partitions
    known = {
        topic_id: name
        for topic_id, name in event.topics.items()
        if topic_id in state.initialized
        or topic_id in state.initializing
        or topic_id in state.deleting
    }
    topics = [one for one in state.all() if one.topic_id in known]
    if topics:
        draft.write(state_record(draft.group_id, state.leaving(known)))
    draft.plan.reply = ShareStateToDelete(tuple(topics))


def delete_group(draft: ShareDraft) -> bool:
    """Whether it can be deleted now: else the reply says what the share coordinator has."""
    _check_empty(draft.group)
    topics = draft.group.state_partitions.all()
    if not topics:
        return True
    draft.plan.reply = ShareStateToDelete(topics)
    return False


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
