"""ConsumerGroupHeartbeat: a member says what changed, and hears what it should own.

    who is it     membership.py    a new member, a known one, a static one in a new life
    what changed  here             its profile, its regular expression (regexes.py)
    new epoch     targets.py       if that, or the topics, changed
    new targets   targets.py       if the epoch grew and the interval allows
    reconcile     reconcile.py     one step of this member towards its target

A heartbeat that changes nothing, which is nearly every one, writes nothing.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from kafkapy.group.consumer import regexes
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatHeard
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import Holding, Profile, Target, partitions_of
from kafkapy.group.consumer.membership import subscribe
from kafkapy.group.consumer.reconcile import Reconciliation, next_holding
from kafkapy.group.consumer.stored import holding_record, profile_record
from kafkapy.group.consumer.targets import update_epoch, update_targets
from kafkapy.group.consumer.timers import clear_member_timers, expect_member, expect_revocation
from kafkapy.group.members import JOINING, check_room
from kafkapy.group.plan import Context
from kafkapy.group.topics import Topics


def heartbeat(event: ConsumerHeartbeat, draft: ConsumerDraft, ctx: Context) -> None:
    member_id = event.member_id or event.fresh_member_id
    check_room("consumer", draft.group, member_id, ctx.settings.consumer_max_size)
    standing = subscribe(event, member_id, draft)
    before = draft.group.holding(member_id)
    if standing is not None and standing.is_classic:
        # What it had to do in time by JoinGroup and SyncGroup it does by heartbeats now.
        clear_member_timers(draft.plan, draft.group_id, member_id)
    profile = _updated(standing or Profile(member_id), event)
    changed = adopt_profile(draft, standing, profile)
    has_regex_changed = regexes.resolve_for(profile, event.may_describe, draft, ctx)
    update_epoch(draft, ctx, has_changed=changed or has_regex_changed)
    update_targets(draft, ctx)
    reported = {} if event.member_epoch == JOINING else event.owned
    after = reconcile(draft, profile, reported, ctx, has_subscription_changed=changed)
    expect_member(draft.group_id, profile, draft.plan, ctx)
    draft.plan.reply = _answer(event, draft.group, member_id, before, after, ctx)


def adopt_profile(draft: ConsumerDraft, standing: Profile | None, profile: Profile) -> bool:
    """Write who the member is now; whether assignments may depend on the difference."""
    if profile == standing:
        return False
    if profile.subscribed_regex is not None and (
        standing is None or standing.subscribed_regex != profile.subscribed_regex
    ):
        regexes.check_regex(profile.subscribed_regex)
    draft.write(profile_record(draft.group_id, profile))
    regexes.forget_unused(draft)
    before = standing or Profile(profile.member_id)
    return (
        before.subscribed_topics != profile.subscribed_topics
        or before.subscribed_regex != profile.subscribed_regex
    )


def reconcile(
    draft: ConsumerDraft,
    profile: Profile,
    reported: Target | None,
    ctx: Context,
    *,
    has_subscription_changed: bool,
) -> Holding:
    """One step of the member, who says it owns `reported`, towards its target."""
    group = draft.group
    holding = group.holding(profile.member_id)
    if holding.is_reconciled_to(group.assignment_epoch) and not has_subscription_changed:
        return holding
    after = next_holding(
        group,
        holding,
        Reconciliation(
            profile.member_id,
            group.assignment_epoch,
            group.target(profile.member_id),
            reported,
            subscribed_ids(group, profile, ctx.topics),
            has_subscription_changed,
        ),
    )
    if after != holding:
        draft.write(holding_record(group.group_id, profile.member_id, after))
        expect_revocation(group.group_id, profile, after, draft.plan, ctx)
    return after


def subscribed_ids(group: ConsumerGroup, profile: Profile, topics: Topics) -> frozenset[UUID]:
    found = map(topics.named, group.topics_of(profile))
    return frozenset(topic.topic_id for topic in found if topic is not None)


def _updated(profile: Profile, event: ConsumerHeartbeat) -> Profile:
    """None (-1 for the timeout) leaves a field as it is; who heartbeats here speaks the
    consumer protocol, whatever it spoke before."""
    regex = profile.subscribed_regex
    if event.subscribed_regex is not None:
        regex = event.subscribed_regex or None
    topics = profile.subscribed_topics
    if event.subscribed_topics is not None:
        topics = frozenset(event.subscribed_topics)
    timeout_ms = event.rebalance_timeout_ms
    said: dict[str, Any] = {
        "instance_id": event.instance_id or profile.instance_id,
        "rack_id": event.rack_id or profile.rack_id,
        "client_id": event.client_id,
        "client_host": event.client_host,
        "subscribed_topics": topics,
        "subscribed_regex": regex,
        "rebalance_timeout_ms": profile.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        "server_assignor": event.server_assignor or profile.server_assignor,
        "classic": None,
    }
    if all(getattr(profile, name) == value for name, value in said.items()):
        return profile  # as nearly all heartbeats of a group at rest
    return replace(profile, **said)


def _answer(
    event: ConsumerHeartbeat,
    group: ConsumerGroup,
    member_id: str,
    before: Holding,
    after: Holding,
    ctx: Context,
) -> ConsumerHeartbeatHeard:
    """The assignment travels when it changed, or when the member sent everything: it joins,
    or is not sure what it heard last."""
    is_full = event.member_epoch == JOINING or (
        event.rebalance_timeout_ms != -1
        and (event.subscribed_topics is not None or event.subscribed_regex is not None)
        and event.owned is not None
    )
    assignment = None
    if is_full or (
        after.assigned is not before.assigned
        and partitions_of(after.assigned) != partitions_of(before.assigned)
    ):
        assignment = partitions_of(after.assigned)
    interval_ms = ctx.settings.heartbeat_interval_ms(group.group_id)
    return ConsumerHeartbeatHeard(member_id, after.epoch, interval_ms, assignment)
