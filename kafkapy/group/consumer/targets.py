"""The group's epoch, and the target assignment computed for it.

The epoch grows when members, subscriptions or subscribed topics change. Targets follow,
but not more often than the assignment interval allows: when many members come at once
they are assigned together (their next heartbeats bring what the first could not).
"""

from uuid import UUID

from kafkapy.group.assignors import ASSIGNORS, MemberSubscription, Subscriptions
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.group import ConsumerGroup, RefreshWanted
from kafkapy.group.consumer.member import Target
from kafkapy.group.consumer.stored import assignment_epoch_record, epoch_record, target_record
from kafkapy.group.plan import Context
from kafkapy.group.topics import Topic, Topics, fingerprint


def update_epoch(draft: ConsumerDraft, ctx: Context, *, has_changed: bool) -> None:
    """A new epoch if the group changed, or if its topics turn out to have."""
    group = draft.group
    if not has_changed and not group.wants_refresh:
        return
    number = fingerprint(group.subscribed_topics(), ctx.topics)
    if has_changed or number != group.metadata_hash:
        draft.write(epoch_record(group.group_id, group.epoch + 1, number))
    if group.wants_refresh:
        draft.note(RefreshWanted(group.group_id, is_wanted=False))


def update_targets(draft: ConsumerDraft, ctx: Context) -> None:
    group = draft.group
    if group.epoch <= group.assignment_epoch:
        return
    age_ms = ctx.wall - group.assignment_timestamp
    if 0 <= age_ms < ctx.settings.assignment_interval_ms(group.group_id):
        return
    for member_id, target in _assign(group, ctx).items():
        if member_id not in group.targets or group.targets[member_id] != target:
            draft.write(target_record(group.group_id, member_id, target))
    draft.write(assignment_epoch_record(group.group_id, group.epoch, ctx.wall))


def _assign(group: ConsumerGroup, ctx: Context) -> dict[str, Target]:
    name = group.preferred_assignor()
    if name not in ctx.settings.consumer_assignors:
        name = ctx.settings.consumer_assignors[0]
    assigned = ASSIGNORS[name](_subscriptions(group, ctx.topics))
    return {
        member_id: {
            topic_id: frozenset(numbers) for topic_id, numbers in partitions.items() if numbers
        }
        for member_id, partitions in assigned.items()
    }


def _subscriptions(group: ConsumerGroup, topics: Topics) -> Subscriptions:
    ids_of: dict[frozenset[str], frozenset[UUID]] = {}
    found: dict[UUID, Topic] = {}
    members = []
    for member_id in sorted(group.profiles):
        profile = group.profiles[member_id]
        names = group.topics_of(profile)
        ids = ids_of.get(names)
        if ids is None:
            known = [topic for topic in map(topics.named, sorted(names)) if topic is not None]
            found.update({topic.topic_id: topic for topic in known})
            ids = ids_of[names] = frozenset(topic.topic_id for topic in known)
        members.append(
            MemberSubscription(
                member_id, profile.instance_id, profile.rack_id, ids, group.target(member_id)
            )
        )
    return Subscriptions(tuple(members), found)
