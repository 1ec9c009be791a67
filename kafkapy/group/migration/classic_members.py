"""Members that speak the classic protocol to a consumer group.

    JoinGroup   it tells its subscription and what it owns, and takes one step towards its
                target, as a heartbeat of the other protocol would; generation = its epoch
    SyncGroup   what it owns now, in the consumer's embedded format
    Heartbeat   "rebalance in progress" when there is a step to take
    LeaveGroup  as leaving the consumer protocol; an administrator may name any member

Told to rejoin it has its rebalance timeout to do so, and as long again to sync.
"""

from dataclasses import replace
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic.events import (
    NO_MEMBER_ID,
    Heartbeat,
    HeartbeatHeard,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    MemberLeft,
    Synced,
    SyncGroup,
)
from kafkapy.group.classic.group import CONSUMER_PROTOCOL_TYPE
from kafkapy.group.consumer import regexes
from kafkapy.group.consumer.checks import known_static_member
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import everything
from kafkapy.group.consumer.group import ConsumerGroup, ToldToRejoin
from kafkapy.group.consumer.heartbeat import adopt_profile, reconcile
from kafkapy.group.consumer.member import (
    Holding,
    MemberState,
    Profile,
    Target,
    partitions_of,
)
from kafkapy.group.consumer.membership import replace_static
from kafkapy.group.consumer.targets import update_epoch, update_targets
from kafkapy.group.consumer.timers import clear_member_timers, expect_member
from kafkapy.group.embedded import Subscription, read_subscription, version_of
from kafkapy.group.members import check_room, known_member
from kafkapy.group.migration.downgrade import downgrade, embed, should_downgrade
from kafkapy.group.migration.upgrade import classic_metadata
from kafkapy.group.plan import Context
from kafkapy.group.records import ClassicMemberMetadata
from kafkapy.group.settings import MigrationPolicy
from kafkapy.group.topics import Topics


def join(event: JoinGroup, draft: ConsumerDraft, ctx: Context) -> None:
    if ctx.settings.consumer_migration_policy is MigrationPolicy.DISABLED:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    is_unknown = event.member_id == NO_MEMBER_ID
    member_id = event.fresh_member_id if is_unknown else event.member_id
    check_room("consumer", draft.group, member_id, ctx.settings.consumer_max_size)
    _check_protocols(event, draft.group)
    if is_unknown and event.instance_id is None and event.needs_known_member_id:
        # Before its subscription is looked at, as by Kafka.
        draft.plan.reply = Joined(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return
    subscription = read_subscription(event.protocols[0].metadata)
    if subscription is None:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    standing, replaced = _subscribe(event, member_id, draft)
    if standing is not None and not standing.is_classic:
        clear_member_timers(draft.plan, draft.group_id, member_id)
    profile = _profile_of(event, member_id, standing, subscription)
    changed = adopt_profile(draft, standing, profile)
    if replaced and should_downgrade(draft.group, (), ctx):
        _join_downgraded(event, member_id, draft, ctx)
        return
    regexes.resolve_for(profile, everything, draft, ctx)
    update_epoch(draft, ctx, has_changed=changed)
    update_targets(draft, ctx)
    owned = _owned_ids(subscription, ctx.topics)
    holding = reconcile(draft, profile, owned, ctx, has_subscription_changed=changed)
    draft.note(ToldToRejoin(draft.group_id, member_id, has_been=False))
    plan = draft.plan
    plan.timers[timers.member_join(draft.group_id, member_id)] = None
    until = later(ctx.now, event.rebalance_timeout_ms)
    plan.timers[timers.member_sync(draft.group_id, member_id)] = until
    expect_member(draft.group_id, profile, plan, ctx)
    plan.reply = Joined(
        member_id=member_id,
        generation=holding.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=_first_protocol(profile)[0],
    )


def sync(event: SyncGroup, draft: ConsumerDraft, ctx: Context) -> None:
    profile, holding = _classic_member(event.member_id, event.instance_id, draft.group)
    if event.generation != holding.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    name, metadata = _first_protocol(profile)
    if event.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or event.protocol_name not in (
        None,
        name,
    ):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    plan = draft.plan
    if (
        holding.epoch < draft.group.assignment_epoch
        and holding.state is not MemberState.UNREVOKED_PARTITIONS
    ):
        _tell_to_rejoin(profile, draft, ctx)
        plan.refuse(Refused(ErrorCode.REBALANCE_IN_PROGRESS))
        return
    plan.timers[timers.member_sync(draft.group_id, profile.member_id)] = None
    expect_member(draft.group_id, profile, plan, ctx)
    version = version_of(metadata) or 0
    assignment = embed(partitions_of(holding.assigned), version, ctx.topics)
    plan.reply = Synced(
        protocol_type=event.protocol_type, protocol_name=event.protocol_name, assignment=assignment
    )


def heartbeat(event: Heartbeat, draft: ConsumerDraft, ctx: Context) -> None:
    profile, holding = _classic_member(event.member_id, event.instance_id, draft.group)
    if event.generation != holding.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    expect_member(draft.group_id, profile, draft.plan, ctx)
    if draft.group.classic_count == len(draft.group.profiles):
        # No other heartbeats come to this group, which must not be downgraded: without this,
        # what the last consumer-protocol member left would be read by nobody, as it is by
        # Apache Kafka 4.3.1.
        update_epoch(draft, ctx, has_changed=False)
        update_targets(draft, ctx)
    group = draft.group
    error = ErrorCode.NONE
    if (
        holding.epoch < group.assignment_epoch
        or holding.state is MemberState.UNREVOKED_PARTITIONS
        or (
            holding.state is MemberState.UNRELEASED_PARTITIONS
            and not group.waits_for_others(profile.member_id)
        )
    ):
        error = ErrorCode.REBALANCE_IN_PROGRESS
        _tell_to_rejoin(profile, draft, ctx)
    draft.plan.reply = HeartbeatHeard(error)


def leaving_members(
    event: LeaveGroup, group: ConsumerGroup
) -> tuple[list[str], tuple[MemberLeft, ...]]:
    """Whom to take out, and what to answer about each."""
    gone: list[str] = []
    answers = []
    for leaving in event.members:
        try:
            member_id = _leaving(leaving, group)
            gone.append(member_id)
            answers.append(MemberLeft(member_id, leaving.instance_id, ErrorCode.NONE))
        except Refused as refused:
            answers.append(MemberLeft(leaving.member_id, leaving.instance_id, refused.code))
    return list(dict.fromkeys(gone)), tuple(answers)


def _check_protocols(event: JoinGroup, group: ConsumerGroup) -> None:
    """It must offer a consumer protocol that all classic members of the group offer."""
    names = {offered.name for offered in event.protocols}
    in_common = group.classic_count == 0 or any(
        group.classic_offers[name] == group.classic_count for name in names
    )
    if event.protocol_type != CONSUMER_PROTOCOL_TYPE or not in_common or not event.protocols:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _subscribe(
    event: JoinGroup, member_id: str, draft: ConsumerDraft
) -> tuple[Profile | None, bool]:
    """The standing profile, and whether it took the place of another static member."""
    group = draft.group
    if event.instance_id is None:
        return group.profiles.get(member_id), False
    if event.member_id != NO_MEMBER_ID:
        return known_static_member(group, event.instance_id, member_id), False
    standing = group.static_member(event.instance_id)
    if standing is None:
        return None, False
    return replace_static(draft, standing, member_id), True


def _profile_of(
    event: JoinGroup, member_id: str, standing: Profile | None, subscription: Subscription
) -> Profile:
    return replace(
        standing or Profile(member_id),
        instance_id=event.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=event.client_id,
        client_host=event.client_host,
        subscribed_topics=frozenset(subscription.topics),
        subscribed_regex=None,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        classic=classic_metadata(event.session_timeout_ms, event.protocols),
    )


def _join_downgraded(event: JoinGroup, member_id: str, draft: ConsumerDraft, ctx: Context) -> None:
    """Everybody is classic now, this one included; it is told of no leader, so that it
    only asks for its assignment."""
    classic = downgrade(draft, (), ctx)
    draft.plan.reply = Joined(
        member_id=member_id,
        generation=classic.generation,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=classic.protocol_name,
    )


def _owned_ids(subscription: Subscription, topics: Topics) -> Target:
    owned: dict[UUID, frozenset[int]] = {}
    for one in subscription.owned_partitions:
        topic = topics.named(one.topic)
        if topic is not None:
            owned[topic.topic_id] = frozenset(one.partitions)
    return owned


def _classic_member(
    member_id: str, instance_id: str | None, group: ConsumerGroup
) -> tuple[Profile, Holding]:
    profile = _member(member_id, instance_id, group)
    if not profile.is_classic:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    return profile, group.holding(profile.member_id)


def _member(member_id: str, instance_id: str | None, group: ConsumerGroup) -> Profile:
    if instance_id is None:
        return known_member(group, member_id)
    return known_static_member(group, instance_id, member_id)


def _leaving(leaving: LeavingMember, group: ConsumerGroup) -> str:
    if leaving.instance_id is not None and leaving.member_id == NO_MEMBER_ID:
        profile = group.static_member(leaving.instance_id)
        if profile is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return profile.member_id
    return _member(leaving.member_id, leaving.instance_id, group).member_id


def _tell_to_rejoin(profile: Profile, draft: ConsumerDraft, ctx: Context) -> None:
    """The time it has counts from the first time it was told."""
    if profile.member_id in draft.group.told_to_rejoin:
        return
    draft.note(ToldToRejoin(draft.group_id, profile.member_id, has_been=True))
    until = later(ctx.now, profile.rebalance_timeout_ms)
    draft.plan.timers[timers.member_join(draft.group_id, profile.member_id)] = until


def _first_protocol(profile: Profile) -> tuple[str, bytes]:
    classic: ClassicMemberMetadata | None = profile.classic
    assert classic is not None, ("speaks no classic protocol", profile)
    first = classic.supported_protocols[0]
    return first.name, first.metadata
