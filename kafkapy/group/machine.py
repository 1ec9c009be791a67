"""The machine of one shard: it sends each event to the part that knows about it.

    event --> which group, of which kind --> classic/ | consumer/ | share/ | streams/ | ...
                                                  |
                                                 Plan --> Step

`decide` reads `state`, `apply` writes it. All the knowledge is in the parts; here is only
who is asked.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Loaded, Step, TimerFired
from kafkapy.core.time import Instant
from kafkapy.group import admin, timing
from kafkapy.group.classic import heartbeat as classic_heartbeat
from kafkapy.group.classic import join as classic_join
from kafkapy.group.classic import leave as classic_leave
from kafkapy.group.classic import sync as classic_sync
from kafkapy.group.classic.events import Heartbeat, JoinGroup, LeaveGroup, Left, SyncGroup
from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.consumer import checks as consumer_checks
from kafkapy.group.consumer import heartbeat as consumer_heartbeat
from kafkapy.group.consumer import leave as consumer_leave
from kafkapy.group.consumer.at_rest import heartbeat_at_rest
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.consumer.group import ConsumerGroup, RefreshWanted
from kafkapy.group.deletion import group_tombstones_of
from kafkapy.group.events import Event, TopicsChanged
from kafkapy.group.members import JOINING, LEAVING, LEAVING_FOR_A_WHILE
from kafkapy.group.migration import classic_members
from kafkapy.group.migration.departures import let_go
from kafkapy.group.migration.upgrade import replace_empty, upgrade
from kafkapy.group.offsets import commit, delete, fetch, forgetting
from kafkapy.group.offsets.events import (
    CommitOffsets,
    CommitOffsetsInTransaction,
    DeleteOffsets,
    FetchOffsets,
    TopicsDeleted,
)
from kafkapy.group.plan import Context, Plan
from kafkapy.group.settings import GroupSettings
from kafkapy.group.share.group import ShareGroup, ShareRefreshWanted
from kafkapy.group.share.machine import SHARE_EVENTS, decide_share
from kafkapy.group.state import GroupState
from kafkapy.group.streams.group import StreamsGroup, StreamsRefreshWanted
from kafkapy.group.streams.machine import STREAMS_EVENTS, decide_streams
from kafkapy.group.topics import Topics

_REFRESH: Final[Mapping[type[Any], Callable[..., Any]]] = {
    ConsumerGroup: RefreshWanted,
    ShareGroup: ShareRefreshWanted,
    StreamsGroup: StreamsRefreshWanted,
}


class GroupMachine:
    """`settings` and `topics` are asked for at every decision: both change while it runs."""

    def __init__(self, settings: Callable[[], GroupSettings], topics: Callable[[], Topics]) -> None:
        self.state = GroupState()
        self._settings = settings
        self._topics = topics

    def apply(self, record: Any) -> None:
        self.state.apply(record)

    def decide(self, event: Event, now: Instant, wall: Instant) -> Step[Any, Any]:
        if type(event) is ConsumerHeartbeat:
            group = self.state.groups.get(event.group_id)
            if type(group) is ConsumerGroup:
                step = heartbeat_at_rest(event, group, self._settings(), now)
                if step is not None:
                    return step
        elif type(event) is Heartbeat and event.group_id:
            group = self.state.groups.get(event.group_id)
            if isinstance(group, ClassicGroup):
                return classic_heartbeat.heartbeat(event, group, now)
        return self.decide_at_length(event, now, wall)

    def decide_at_length(self, event: Event, now: Instant, wall: Instant) -> Step[Any, Any]:
        """What heartbeats nearly always need not."""
        plan = Plan()
        self._plan(event, plan, Context(now, wall, self._settings(), self._topics()))
        return plan.step()

    def _plan(self, event: Event, plan: Plan, ctx: Context) -> None:
        state = self.state
        match event:
            case ConsumerHeartbeat():
                self._consumer_heartbeat(event, plan, ctx)
            case CommitOffsets():
                commit.commit(event, state, plan, ctx)
            case FetchOffsets():
                plan.reply = fetch.fetch(event, state, ctx)
            case Heartbeat():
                draft = self._classic_in_consumer_group(event.group_id, plan)
                classic_members.heartbeat(event, draft, ctx)
            case JoinGroup():
                self._join(event, plan, ctx)
            case SyncGroup():
                self._sync(event, plan, ctx)
            case LeaveGroup():
                self._leave(event, plan, ctx)
            case CommitOffsetsInTransaction():
                commit.commit_in_transaction(event, state, plan, ctx)
            case DeleteOffsets():
                delete.delete(event, state, plan)
            case admin.ListGroups():
                plan.reply = admin.list_groups(event, state)
            case admin.DescribeGroup():
                plan.reply = admin.describe(event, state)
            case admin.DescribeConsumerGroup():
                plan.reply = admin.describe_consumers(event, state, ctx)
            case admin.DeleteGroup():
                admin.delete_group(event, state, plan, ctx)
            case TopicsChanged():
                self._topics_changed(event, plan)
            case TopicsDeleted():
                forgetting.topics_deleted(event, state, plan, ctx)
            case _ if isinstance(event, SHARE_EVENTS):
                decide_share(event, state, plan, ctx)
            case _ if isinstance(event, STREAMS_EVENTS):
                decide_streams(event, state, plan, ctx)
            case Loaded():
                timing.loaded(state, plan, ctx)
            case TimerFired(key):
                timing.fired(key, state, plan, ctx)

    # Classic

    def _join(self, event: JoinGroup, plan: Plan, ctx: Context) -> None:
        classic_join.check(event, ctx)
        group = self.state.groups.get(event.group_id)
        match group:
            case ShareGroup():
                raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            case StreamsGroup() if not group.is_empty:
                raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            case ConsumerGroup() if not group.is_empty:
                classic_members.join(event, ConsumerDraft(group, plan), ctx)
            case ConsumerGroup() | StreamsGroup():
                plan.records += group_tombstones_of(group)
                classic_join.join(event, None, plan, ctx)
            case _:
                classic_join.join(event, group, plan, ctx)

    def _sync(self, event: SyncGroup, plan: Plan, ctx: Context) -> None:
        if not event.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.state.groups.get(event.group_id)
        if isinstance(group, ClassicGroup):
            classic_sync.sync(event, group, plan, ctx)
        else:
            draft = self._classic_in_consumer_group(event.group_id, plan)
            classic_members.sync(event, draft, ctx)

    def _leave(self, event: LeaveGroup, plan: Plan, ctx: Context) -> None:
        if not event.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.state.groups.get(event.group_id)
        if isinstance(group, ClassicGroup):
            classic_leave.leave(event, group, plan, ctx)
            return
        draft = self._classic_in_consumer_group(event.group_id, plan)
        gone, answers = classic_members.leaving_members(event, draft.group)
        plan.reply = Left(answers)
        if gone:
            let_go(draft, gone, ctx)

    def _classic_in_consumer_group(self, group_id: str, plan: Plan) -> ConsumerDraft:
        if not group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.state.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return ConsumerDraft(group, plan)

    # Consumer

    def _consumer_heartbeat(self, event: ConsumerHeartbeat, plan: Plan, ctx: Context) -> None:
        consumer_checks.check_request(event, ctx)
        if event.member_epoch in (LEAVING, LEAVING_FOR_A_WHILE):
            group = self.state.groups.get(event.group_id)
            if not isinstance(group, ConsumerGroup):
                raise _no_such_group(event.group_id)
            draft = ConsumerDraft(group, plan)
            leaving = consumer_leave.leave(event, draft)
            if leaving is not None:
                let_go(draft, (leaving,), ctx)
            return
        consumer_heartbeat.heartbeat(event, self._consumer_group(event, plan, ctx), ctx)

    def _consumer_group(self, event: ConsumerHeartbeat, plan: Plan, ctx: Context) -> ConsumerDraft:
        """Who joins creates the group, or makes it one of consumers."""
        group = self.state.groups.get(event.group_id)
        if isinstance(group, ConsumerGroup):
            return ConsumerDraft(group, plan)
        if event.member_epoch != JOINING or isinstance(group, StreamsGroup | ShareGroup):
            raise _no_such_group(event.group_id)
        if group is None:
            return ConsumerDraft(ConsumerGroup(event.group_id), plan, is_new=True)
        if group.is_empty:
            return replace_empty(group, plan)
        return upgrade(group, plan, ctx)

    def _topics_changed(self, event: TopicsChanged, plan: Plan) -> None:
        for group_id, group in self.state.groups.items():
            note = _REFRESH.get(type(group))
            if note is None or isinstance(group, ClassicGroup) or group.wants_refresh:
                continue
            if group.is_subscribed_to_any(event.names):
                plan.notes.append(note(group_id, is_wanted=True))


def _no_such_group(group_id: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
