"""Which part of streams/ decides on which event."""

from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.members import JOINING, LEAVING
from kafkapy.group.migration.upgrade import forget_empty
from kafkapy.group.plan import Context, Plan
from kafkapy.group.state import GroupState
from kafkapy.group.streams import heartbeat
from kafkapy.group.streams.checks import check_request
from kafkapy.group.streams.events import (
    DescribedStreamsMember,
    DescribeStreamsGroup,
    StreamsGroupDescribed,
    StreamsHeartbeat,
)
from kafkapy.group.streams.group import StreamsDraft, StreamsGroup

STREAMS_EVENTS: Final = (StreamsHeartbeat, DescribeStreamsGroup)


def decide_streams(
    event: StreamsHeartbeat | DescribeStreamsGroup, state: GroupState, plan: Plan, ctx: Context
) -> None:
    if isinstance(event, DescribeStreamsGroup):
        plan.reply = _describe(_known(event.group_id, state))
        return
    if not ctx.settings.is_streams_protocol_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    check_request(event)
    if event.member_epoch == LEAVING:
        heartbeat.leave(event, StreamsDraft(_known(event.group_id, state), plan))
        return
    group = state.groups.get(event.group_id)
    if group is None and event.member_epoch != JOINING:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {event.group_id} not found.")
    if isinstance(group, StreamsGroup):
        heartbeat.heartbeat(event, StreamsDraft(group, plan), ctx, is_new=False)
        return
    if group is not None:
        if event.member_epoch != JOINING or not (
            isinstance(group, ClassicGroup) and group.is_empty
        ):
            raise _wrong_kind(event.group_id)
        forget_empty(group, plan)
    draft = StreamsDraft(StreamsGroup(event.group_id), plan, is_new=True)
    heartbeat.heartbeat(event, draft, ctx, is_new=True)


def _describe(group: StreamsGroup) -> StreamsGroupDescribed:
    configured = group.configured
    return StreamsGroupDescribed(
        group.state().value,
        group.epoch,
        group.assignment_epoch,
        group.topology,
        configured if configured is not None and configured.is_ready else None,
        tuple(
            DescribedStreamsMember(profile, holding, group.target(profile.member_id))
            for profile, holding in group.members()
        ),
    )


def _known(group_id: str, state: GroupState) -> StreamsGroup:
    group = state.groups.get(group_id)
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, StreamsGroup):
        raise _wrong_kind(group_id)
    return group


def _wrong_kind(group_id: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
