"""ShareGroupHeartbeat: a member says what changed, and hears what it is to read.

    who is it       a new member, or a known one at its epoch
    what changed    its profile
    new epoch       if its topics changed, or those of the group, or more of them can be read
    new targets     if the epoch grew and the interval allows (simple.py)
    initialize      partitions that the share coordinator does not know yet: told with the answer

Partitions are assigned once the share coordinator knows them (state_partitions.py), so a new
group's first answers are empty.
"""

from dataclasses import replace
from uuid import UUID

from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.members import JOINING, check_epoch, check_room, known_member, previous_epoch
from kafkapy.group.plan import Context
from kafkapy.group.share.events import (
    ShareHeartbeat,
    ShareHeartbeatHeard,
    StateToInitialize,
)
from kafkapy.group.share.group import (
    InitializationAsked,
    ShareDraft,
    ShareGroup,
    ShareRefreshWanted,
)
from kafkapy.group.share.member import Holding, Profile, Target
from kafkapy.group.share.simple import Subscriber, assign
from kafkapy.group.share.stored import (
    assignment_epoch_record,
    epoch_record,
    holding_record,
    member_tombstones,
    profile_record,
    state_record,
    target_record,
)
from kafkapy.group.topics import Topic, TopicPartitions, fingerprint


def heartbeat(event: ShareHeartbeat, draft: ShareDraft, ctx: Context) -> None:
    group, member_id = draft.group, event.member_id
    check_room("share", group, member_id, ctx.settings.share_max_size)
    standing = group.profiles.get(member_id)
    if standing is None and event.member_epoch != JOINING:
        known_member(group, member_id)
    check_epoch("share", group.holding(member_id), event.member_epoch)
    before = group.holding(member_id)
    profile = _updated(standing or Profile(member_id), event)
    if profile != standing:
        draft.write(profile_record(draft.group_id, profile))
    has_changed = standing is None or profile.subscribed_topics != standing.subscribed_topics
    if draft.group.wants_refresh:
        _forget_deleted(draft, ctx)
    _update_epoch(draft, ctx, has_changed=has_changed)
    _update_targets(draft, ctx)
    after = _reconcile(draft, profile, ctx, has_changed=has_changed)
    to_initialize = _begin_initializing(draft, ctx)
    expect_member(draft, member_id, ctx)
    is_full = event.member_epoch == JOINING or event.subscribed_topics is not None
    draft.plan.reply = ShareHeartbeatHeard(
        member_id,
        after.epoch,
        ctx.settings.share_heartbeat_ms(draft.group_id),
        after.assigned if is_full or after.assigned != before.assigned else None,
        to_initialize,
    )


def leave(event: ShareHeartbeat, draft: ShareDraft, ctx: Context) -> None:
    known_member(draft.group, event.member_id)
    draft.plan.reply = ShareHeartbeatHeard(event.member_id, event.member_epoch, 0, None)
    take_out(draft, event.member_id, ctx)


def take_out(draft: ShareDraft, member_id: str, ctx: Context) -> None:
    draft.write_all(member_tombstones(draft.group_id, member_id))
    draft.plan.timers[timers.session(draft.group_id, member_id)] = None
    group = draft.group
    number = fingerprint(group.subscribers, ctx.topics)
    draft.write(epoch_record(group.group_id, group.epoch + 1, number))


def expect_member(draft: ShareDraft, member_id: str, ctx: Context) -> None:
    timeout_ms = ctx.settings.share_session_ms(draft.group_id)
    draft.plan.timers[timers.session(draft.group_id, member_id)] = later(ctx.now, timeout_ms)


def _updated(profile: Profile, event: ShareHeartbeat) -> Profile:
    topics = profile.subscribed_topics
    if event.subscribed_topics is not None:
        topics = frozenset(event.subscribed_topics)
    return replace(
        profile,
        rack_id=event.rack_id or profile.rack_id,
        client_id=event.client_id,
        client_host=event.client_host,
        subscribed_topics=topics,
    )


def _forget_deleted(draft: ShareDraft, ctx: Context) -> None:
    """Of topics that went while nobody led here, or could write it, nobody told the group."""
    state = draft.group.state_partitions
    known = (*state.initialized, *state.initializing, *state.deleting)
    gone = [topic_id for topic_id in known if ctx.topics.with_id(topic_id) is None]
    if gone:
        draft.write(state_record(draft.group_id, state.gone(gone)))


def _update_epoch(draft: ShareDraft, ctx: Context, *, has_changed: bool) -> None:
    group = draft.group
    if not has_changed and not group.wants_refresh:
        return
    number = fingerprint(group.subscribers, ctx.topics)
    if has_changed or number != group.metadata_hash or _has_more_to_read(group, ctx):
        draft.write(epoch_record(group.group_id, group.epoch + 1, number))
    if group.wants_refresh:
        draft.note(ShareRefreshWanted(group.group_id, is_wanted=False))


def _has_more_to_read(group: ShareGroup, ctx: Context) -> bool:
    """Targets that are still to be computed will have it."""
    if group.epoch > group.assignment_epoch:
        return False
    can_be_read = {
        (topic_id, partition)
        for topic_id, partitions in _readable(group, ctx).items()
        for partition in partitions
    }
    return can_be_read != group.assigned_partitions()


def _update_targets(draft: ShareDraft, ctx: Context) -> None:
    group = draft.group
    if group.epoch <= group.assignment_epoch:
        return
    age_ms = ctx.wall - group.assignment_timestamp
    if 0 <= age_ms < ctx.settings.share_assignment_ms(group.group_id):
        return
    subscribers = [
        Subscriber(
            member_id,
            frozenset(topic.topic_id for topic in _topics(profile, ctx)),
            group.target(member_id),
        )
        for member_id, profile in sorted(group.profiles.items())
    ]
    for member_id, target in assign(subscribers, _readable(group, ctx)).items():
        if member_id not in group.targets or group.targets[member_id] != target:
            draft.write(target_record(group.group_id, member_id, target))
    draft.write(assignment_epoch_record(group.group_id, group.epoch, ctx.wall))


def _reconcile(draft: ShareDraft, profile: Profile, ctx: Context, *, has_changed: bool) -> Holding:
    """Straight to the target; what it is not subscribed to any more it loses at once."""
    group = draft.group
    holding = group.holding(profile.member_id)
    if holding.epoch == group.assignment_epoch and not has_changed:
        return holding
    assigned: Target = group.target(profile.member_id)
    if has_changed:
        ids = {topic.topic_id for topic in _topics(profile, ctx)}
        assigned = {topic_id: found for topic_id, found in assigned.items() if topic_id in ids}
    epoch = group.assignment_epoch
    after = Holding(epoch, previous_epoch(holding, epoch), assigned)
    if after != holding:
        draft.write(holding_record(group.group_id, profile.member_id, after))
    return after


def _begin_initializing(draft: ShareDraft, ctx: Context) -> StateToInitialize | None:
    """What nobody has told the share coordinator of, and, after a while, what it has not said
    that it knows. What is being deleted waits; but not for ever, for that may have failed."""
    group = draft.group
    state = group.state_partitions
    retry_ms = ctx.settings.share_initialize_retry_ms
    is_deleting = ctx.now < later(group.deletion_asked_at, retry_ms)
    missing = []
    for name in sorted(group.subscribers):
        topic = ctx.topics.named(name)
        if topic is None or (topic.topic_id in state.deleting and is_deleting):
            continue
        lacking = state.lacking(topic)
        if lacking:
            missing.append(TopicPartitions(topic.topic_id, name, lacking))
    if missing:
        state = state.begun(missing)
        draft.write(state_record(group.group_id, state))
    retry_at = later(group.initialization_asked_at, retry_ms)
    if not missing and (not state.initializing or ctx.now < retry_at):
        return None
    draft.note(InitializationAsked(group.group_id, ctx.now))
    topics = tuple(missing)
    if ctx.now >= retry_at:
        topics = tuple(
            TopicPartitions(topic_id, kept.topic, tuple(sorted(kept.partitions)))
            for topic_id, kept in sorted(state.initializing.items())
        )
    return StateToInitialize(group.group_id, group.epoch, topics)


def _readable(group: ShareGroup, ctx: Context) -> dict[UUID, frozenset[int]]:
    """Of the topics that somebody subscribes to, what the share coordinator knows."""
    found: dict[UUID, frozenset[int]] = {}
    for name in group.subscribers:
        topic = ctx.topics.named(name)
        if topic is not None:
            kept = group.state_partitions.initialized.get(topic.topic_id)
            if kept is not None:
                there = frozenset(range(topic.partition_count))
                found[topic.topic_id] = kept.partitions & there
    return found


def _topics(profile: Profile, ctx: Context) -> list[Topic]:
    found = (ctx.topics.named(name) for name in sorted(profile.subscribed_topics))
    return [topic for topic in found if topic is not None]
