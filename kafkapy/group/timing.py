"""Timers: which run after a shard is loaded, and what happens when one fires."""

from collections.abc import Hashable

from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic import leave as classic_leave
from kafkapy.group.classic import rebalance
from kafkapy.group.classic.group import ClassicGroup, ClassicGroupStands
from kafkapy.group.classic.members import expect_heartbeat
from kafkapy.group.consumer import regexes
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import MemberState
from kafkapy.group.consumer.targets import update_epoch
from kafkapy.group.consumer.timers import expect_member, expect_revocation
from kafkapy.group.migration.departures import let_go
from kafkapy.group.offsets import expiry, forgetting
from kafkapy.group.plan import Context, Plan
from kafkapy.group.share import heartbeat as share_heartbeat
from kafkapy.group.share.group import ShareDraft, ShareGroup
from kafkapy.group.state import GroupState
from kafkapy.group.streams import heartbeat as streams_heartbeat
from kafkapy.group.streams import targets as streams_targets
from kafkapy.group.streams.group import StreamsDraft, StreamsGroup
from kafkapy.group.streams.member import MemberState as StreamsMemberState


def loaded(state: GroupState, plan: Plan, ctx: Context) -> None:
    """Every member gets a whole session: the old leader knew when it was heard of last, we
    do not."""
    interval_ms = ctx.settings.offsets_retention_check_interval_ms
    plan.timers[timers.EXPIRE_OFFSETS] = later(ctx.now, interval_ms)
    for group in state.groups.values():
        match group:
            case ClassicGroup():
                _load_classic(group, plan, ctx)
            case ConsumerGroup():
                for profile, holding in group.members():
                    expect_member(group.group_id, profile, plan, ctx)
                    if holding.state is MemberState.UNREVOKED_PARTITIONS:
                        expect_revocation(group.group_id, profile, holding, plan, ctx)
            case ShareGroup():
                for member_id in group.profiles:
                    share_heartbeat.expect_member(ShareDraft(group, plan), member_id, ctx)
            case StreamsGroup():
                _load_streams(group, plan, ctx)


def fired(key: Hashable, state: GroupState, plan: Plan, ctx: Context) -> None:
    """A timer of a group or member that is gone, or became another, does nothing."""
    match key:
        case timers.EXPIRE_OFFSETS:
            expiry.expire(state, plan, ctx)
            return
        case timers.FORGET_DELETED_TOPICS:
            forgetting.forget_deleted_topics(state, plan, ctx)
            return
    assert isinstance(key, tuple), key
    kind, group_id, *rest = key
    group = state.groups.get(group_id)
    match group:
        case ClassicGroup():
            _fired_classic(kind, group, rest, plan, ctx)
        case ConsumerGroup():
            _fired_consumer(kind, group, rest, plan, ctx)
        case ShareGroup() if kind == "session" and rest[0] in group.profiles:
            share_heartbeat.take_out(ShareDraft(group, plan), rest[0], ctx)
        case StreamsGroup():
            _fired_streams(kind, group, rest, plan, ctx)


def _load_classic(standing: ClassicGroup, plan: Plan, ctx: Context) -> None:
    for member in standing.members.values():
        expect_heartbeat(standing, member, plan, ctx)
    if len(standing.members) > ctx.settings.max_size:
        # The bound was lowered: whoever rejoins last is turned away.
        group = standing.copy()
        rebalance.prepare(group, plan, ctx)
        plan.notes.append(ClassicGroupStands(group))


def _fired_classic(
    kind: str, standing: ClassicGroup, rest: list[str], plan: Plan, ctx: Context
) -> None:
    match kind:
        case "session":
            classic_leave.session_ended(standing, rest[0], plan, ctx)
        case "join":
            group = standing.copy()
            rebalance.join_time_is_up(group, plan, ctx)
            plan.notes.append(ClassicGroupStands(group))
        case "sync":
            group = standing.copy()
            rebalance.sync_time_is_up(group, plan, ctx)
            plan.notes.append(ClassicGroupStands(group))


def _fired_consumer(
    kind: str, group: ConsumerGroup, rest: list[str], plan: Plan, ctx: Context
) -> None:
    draft = ConsumerDraft(group, plan)
    match kind:
        case "session" | "rebalance" | "member join" | "member sync":
            if rest[0] in group.profiles:
                let_go(draft, rest, ctx)
        case "regex":
            if regexes.go_on(draft, ctx):
                update_epoch(draft, ctx, has_changed=True)


def _load_streams(group: StreamsGroup, plan: Plan, ctx: Context) -> None:
    for profile, holding in group.members():
        streams_heartbeat.expect_member(group.group_id, profile, plan, ctx)
        if holding.state is StreamsMemberState.UNREVOKED_TASKS:
            streams_heartbeat.expect_revocation(group.group_id, profile, holding, plan, ctx)


def _fired_streams(
    kind: str, group: StreamsGroup, rest: list[str], plan: Plan, ctx: Context
) -> None:
    draft = StreamsDraft(group, plan)
    match kind:
        case "session" | "rebalance":
            if rest[0] in group.profiles:
                streams_heartbeat.take_out(draft, rest[0])
        case "assign":
            streams_targets.delay_is_over(draft, ctx)
