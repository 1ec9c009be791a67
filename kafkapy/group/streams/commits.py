"""May this committer commit to, or fetch from, a streams group?

A member that is some epochs behind may still commit for the tasks it had all along: each active
task carries the epoch it was assigned at (KIP-1251).
"""

from collections.abc import Iterable

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.members import known_member
from kafkapy.group.offsets.events import Committer, OffsetToCommit
from kafkapy.group.streams.group import StreamsGroup


def check_commit(
    group: StreamsGroup,
    by: Committer,
    offsets: Iterable[OffsetToCommit],
    *,
    is_transactional: bool,
    speaks_of_groups: bool = True,
) -> None:
    epoch = by.generation_or_epoch
    if epoch < 0 and group.is_empty:
        return
    if is_transactional and epoch == -1 and not by.member_id and by.instance_id is None:
        return  # old transactional producers do not say who they consume for
    known_member(group, by.member_id)
    if not is_transactional and not speaks_of_groups:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    holding = group.holding(by.member_id)
    if epoch == holding.epoch:
        return
    stale = ErrorCode.ILLEGAL_GENERATION if is_transactional else ErrorCode.STALE_MEMBER_EPOCH
    if epoch > holding.epoch or group.topology is None:
        raise Refused(stale)
    for offset in offsets:
        reader = group.topology.readers.get(offset.partition.topic)
        assigned_at = None
        if reader is not None:
            assigned_at = holding.assignment_epoch((reader, offset.partition.partition))
        if assigned_at is None or epoch < assigned_at:
            raise Refused(stale)


def check_fetch(group: StreamsGroup, member_id: str | None, member_epoch: int) -> None:
    if member_id is None and member_epoch < 0:
        return
    profile = known_member(group, member_id or "")
    if member_epoch != group.holding(profile.member_id).epoch:
        raise Refused(ErrorCode.STALE_MEMBER_EPOCH)
