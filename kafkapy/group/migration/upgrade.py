"""A classic group becomes a consumer group.

Generation n becomes epoch n, targets and holdings are what the leader assigned last, and
every member is stable: nobody notices until the next epoch. Members that wait in Join or
Sync are sent back, as they would be for any other rebalance.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.group import timers
from kafkapy.group.classic.events import Joined, Synced
from kafkapy.group.classic.group import ClassicGroup, ClassicMember
from kafkapy.group.classic.stored import group_tombstone
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import Holding, Profile, Target
from kafkapy.group.consumer.stored import (
    assignment_epoch_record,
    epoch_record,
    holding_record,
    profile_record,
    target_record,
)
from kafkapy.group.consumer.timers import expect_member
from kafkapy.group.embedded import read_assignment, read_subscription
from kafkapy.group.plan import Context, Plan
from kafkapy.group.records import ClassicMemberMetadata, ClassicProtocol
from kafkapy.group.topics import Topics, fingerprint

# When the leader assigned last does not matter: the next assignment need not wait for it.
LONG_AGO: Final = Instant(0)


def replace_empty(group: ClassicGroup, plan: Plan) -> ConsumerDraft:
    forget_empty(group, plan)
    return ConsumerDraft(ConsumerGroup(group.group_id), plan, is_new=True)


def forget_empty(group: ClassicGroup, plan: Plan) -> None:
    """Of an empty classic group only the offsets stay."""
    _forget_waiting(group, plan)
    plan.records.append(group_tombstone(group.group_id))


def upgrade(group: ClassicGroup, plan: Plan, ctx: Context) -> ConsumerDraft:
    _check(group, ctx)
    members = [_converted(member, group, ctx) for member in group.members.values()]
    _forget_waiting(group, plan)
    plan.records.append(group_tombstone(group.group_id))
    draft = ConsumerDraft(ConsumerGroup(group.group_id), plan, is_new=True)
    for profile, _ in members:
        draft.write(profile_record(group.group_id, profile))
    number = fingerprint(draft.group.subscribed_topics(), ctx.topics)
    draft.write(epoch_record(group.group_id, group.generation, number))
    for profile, target in members:
        draft.write(target_record(group.group_id, profile.member_id, target))
    draft.write(assignment_epoch_record(group.group_id, group.generation, LONG_AGO))
    for profile, target in members:
        assigned = {
            topic_id: dict.fromkeys(partitions, group.generation)
            for topic_id, partitions in target.items()
        }
        holding = Holding(group.generation, group.generation, assigned=assigned)
        draft.write(holding_record(group.group_id, profile.member_id, holding))
        expect_member(group.group_id, profile, plan, ctx)
    return draft


def classic_metadata(
    session_timeout_ms: int, protocols: tuple[tuple[str, bytes], ...]
) -> ClassicMemberMetadata:
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=tuple(
            ClassicProtocol(name=name, metadata=metadata) for name, metadata in protocols
        ),
    )


def _check(group: ClassicGroup, ctx: Context) -> None:
    settings = ctx.settings
    if not settings.consumer_migration_policy.allows_upgrade:
        raise _cannot(group, "the online upgrade is disabled")
    if not group.speaks_consumer_protocol:
        raise _cannot(group, "it does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer_max_size:
        raise _cannot(group, "it is larger than a consumer group may be")


def _converted(member: ClassicMember, group: ClassicGroup, ctx: Context) -> tuple[Profile, Target]:
    metadata = member.protocols[0].metadata
    for offered in member.protocols:
        if offered.name == group.protocol_name:
            metadata = offered.metadata
    subscription = read_subscription(metadata)
    if subscription is None:
        raise _cannot(group, "the embedded consumer protocol is malformed")
    profile = Profile(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topics=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=classic_metadata(member.session_timeout_ms, member.protocols),
    )
    return profile, _assigned_to(member, group, ctx.topics)


def _assigned_to(member: ClassicMember, group: ClassicGroup, topics: Topics) -> Target:
    if not member.assignment:
        return {}
    assignment = read_assignment(member.assignment)
    if assignment is None:
        raise _cannot(group, "the embedded consumer protocol is malformed")
    if assignment.user_data:
        raise _cannot(group, "an unsupported custom assignor is in use")
    found = {}
    for owned in assignment.assigned_partitions:
        topic = topics.named(owned.topic)
        if topic is not None:
            found[topic.topic_id] = frozenset(owned.partitions)
    return found


def _forget_waiting(group: ClassicGroup, plan: Plan) -> None:
    error = ErrorCode.REBALANCE_IN_PROGRESS
    for member in group.members.values():
        if member.awaits_join:
            key = timers.waits_in_join(group.group_id, member.member_id)
            plan.answer(key, Joined(error, member.member_id))
        if member.awaits_sync:
            plan.answer(timers.waits_in_sync(group.group_id, member.member_id), Synced(error))
    for member_id in (*group.pending_members, *group.members):
        plan.timers[timers.session(group.group_id, member_id)] = None
    plan.timers[timers.join(group.group_id)] = None
    plan.timers[timers.sync(group.group_id)] = None


def _cannot(group: ClassicGroup, why: str) -> Refused:
    return Refused(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.",
    )
