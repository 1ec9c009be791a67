"""Which part of share/ decides on which event."""

from typing import Final, assert_never

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.events import ShareEvent
from kafkapy.group.members import JOINING, LEAVING
from kafkapy.group.plan import Context, Plan
from kafkapy.group.share import admin, heartbeat
from kafkapy.group.share.checks import check_request
from kafkapy.group.share.events import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareGroup,
    ShareHeartbeat,
    ShareOffsetsWanted,
    ShareStateDeleted,
    ShareStateInitialized,
)
from kafkapy.group.share.group import ShareDraft, ShareGroup
from kafkapy.group.state import GroupState

SHARE_EVENTS: Final = (
    ShareHeartbeat,
    ShareStateInitialized,
    ShareStateDeleted,
    DescribeShareGroup,
    ShareOffsetsWanted,
    AlterShareOffsets,
    DeleteShareOffsets,
)


def decide_share(event: ShareEvent, state: GroupState, plan: Plan, ctx: Context) -> None:
    if isinstance(event, ShareHeartbeat):
        _heartbeat(event, state, plan, ctx)
        return
    if isinstance(event, AlterShareOffsets) and event.group_id not in state.groups:
        # A group may be told where to begin before it has a member.
        draft = ShareDraft(ShareGroup(event.group_id), plan, is_new=True)
    else:
        draft = ShareDraft(_known(event.group_id, state), plan)
    match event:
        case ShareStateInitialized():
            admin.initialized(event, draft, ctx)
        case ShareStateDeleted():
            admin.deleted(event, draft)
        case DescribeShareGroup():
            plan.reply = admin.describe(draft.group, ctx)
        case ShareOffsetsWanted():
            plan.reply = admin.kept(draft.group)
        case AlterShareOffsets():
            admin.alter(event, draft)
        case DeleteShareOffsets():
            admin.delete_offsets(event, draft, ctx)
        case _:
            assert_never(event)


def _heartbeat(event: ShareHeartbeat, state: GroupState, plan: Plan, ctx: Context) -> None:
    check_request(event, ctx)
    if event.member_epoch == LEAVING:
        heartbeat.leave(event, ShareDraft(_known(event.group_id, state), plan), ctx)
        return
    group = state.groups.get(event.group_id)
    if isinstance(group, ShareGroup):
        draft = ShareDraft(group, plan)
    elif event.member_epoch != JOINING:
        raise _not_found(event.group_id)
    elif group is None:
        draft = ShareDraft(ShareGroup(event.group_id), plan, is_new=True)
    else:
        raise _wrong_kind(event.group_id)
    heartbeat.heartbeat(event, draft, ctx)


def _known(group_id: str, state: GroupState) -> ShareGroup:
    group = state.groups.get(group_id)
    if group is None:
        raise _not_found(group_id)
    if not isinstance(group, ShareGroup):
        raise _wrong_kind(group_id)
    return group


def _not_found(group_id: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")


def _wrong_kind(group_id: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
