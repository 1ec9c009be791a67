"""May this committer commit to, or fetch from, a consumer group?

A member that is some epochs behind may still commit what it owned all along: each
partition carries the epoch it was assigned at (KIP-1251).
"""

from collections.abc import Iterable

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.members import known_member
from kafkapy.group.offsets.events import Committer, OffsetToCommit
from kafkapy.group.topics import Topics


def check_commit(
    group: ConsumerGroup,
    by: Committer,
    offsets: Iterable[OffsetToCommit],
    topics: Topics,
    *,
    is_transactional: bool,
    speaks_of_groups: bool = True,
) -> None:
    epoch = by.generation_or_epoch
    if epoch < 0 and group.is_empty:
        return
    if is_transactional and epoch == -1 and not by.member_id and by.instance_id is None:
        return  # old transactional producers do not say who they consume for
    profile = known_member(group, by.member_id)
    if not is_transactional and not profile.is_classic and not speaks_of_groups:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    holding = group.holding(by.member_id)
    if epoch == holding.epoch:
        return
    stale = ErrorCode.STALE_MEMBER_EPOCH
    if profile.is_classic or is_transactional:
        stale = ErrorCode.ILLEGAL_GENERATION
    if epoch > holding.epoch:
        raise Refused(stale)
    for offset in offsets:
        topic = topics.named(offset.partition.topic)
        assigned_at = None
        if topic is not None:
            assigned_at = holding.assignment_epoch(topic.topic_id, offset.partition.partition)
        if assigned_at is None or epoch < assigned_at:
            raise Refused(stale)


def check_fetch(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> None:
    if member_id is None and member_epoch < 0:
        return
    profile = known_member(group, member_id or "")
    if member_epoch != group.holding(profile.member_id).epoch:
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION if profile.is_classic else ErrorCode.STALE_MEMBER_EPOCH
        )
