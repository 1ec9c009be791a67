"""A consumer group whose members all speak the classic protocol becomes a classic group.

Epoch n becomes generation n, and what each member should own is its assignment. Gone is
who left; a rebalance follows, because its partitions are nobody's. If a classic member
took the place of the last other one, it takes its assignment too, and nothing else changes.
"""

from collections.abc import Collection
from dataclasses import replace

from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic import protocols
from kafkapy.group.classic.events import OfferedProtocol
from kafkapy.group.classic.group import (
    CONSUMER_PROTOCOL_TYPE,
    ClassicGroup,
    ClassicGroupStands,
    ClassicMember,
    ClassicState,
)
from kafkapy.group.classic.rebalance import prepare
from kafkapy.group.classic.stored import group_record
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import Profile, Target
from kafkapy.group.consumer.stored import group_tombstones
from kafkapy.group.consumer.timers import clear_member_timers
from kafkapy.group.embedded import Assignment, EmbeddedPartitions, version_of, write_assignment
from kafkapy.group.plan import Context
from kafkapy.group.topics import Topics


def should_downgrade(group: ConsumerGroup, leaving: Collection[str], ctx: Context) -> bool:
    rest = [profile for name, profile in group.profiles.items() if name not in leaving]
    return (
        bool(rest)
        and all(profile.is_classic for profile in rest)
        and ctx.settings.consumer_migration_policy.allows_downgrade
        and len(rest) <= ctx.settings.max_size
    )


def downgrade(draft: ConsumerDraft, leaving: Collection[str], ctx: Context) -> ClassicGroup:
    """The group without those who leave, rebalancing if anybody does."""
    group = draft.group
    plan = draft.plan
    classic = ClassicGroup(
        group.group_id,
        ClassicState.STABLE,
        ctx.wall,
        generation=group.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
    )
    for name, profile in group.profiles.items():
        clear_member_timers(plan, group.group_id, name)
        if name not in leaving:
            classic.put(_classic_member(profile))
    classic.protocol_name = protocols.select(classic)
    classic.subscribed_topics = protocols.topics_of_members(classic)
    for member in list(classic.members.values()):
        version = version_of(member.metadata(classic.protocol_name)) or 0
        assignment = embed(group.target(member.member_id), version, ctx.topics)
        classic.put(replace(member, assignment=assignment))
        until = later(ctx.now, member.session_timeout_ms)
        plan.timers[timers.session(group.group_id, member.member_id)] = until
    # What the draft planned for the consumer group is overtaken by its tombstones.
    plan.records += group_tombstones(group.group_id, group.profiles, group.regexes)
    plan.records.append(group_record(classic))
    if leaving:
        prepare(classic, plan, ctx)
    plan.notes.append(ClassicGroupStands(classic))
    return classic


def embed(target: Target, version: int, topics: Topics) -> bytes:
    """An assignment as consumers of the classic protocol read it, topics by name."""
    found = []
    for topic_id, partitions in target.items():
        topic = topics.with_id(topic_id)
        if topic is not None and partitions:
            found.append((topic.name, tuple(sorted(partitions))))
    assigned = tuple(
        EmbeddedPartitions(topic=name, partitions=numbers) for name, numbers in sorted(found)
    )
    return write_assignment(Assignment(assigned_partitions=assigned), version)


def _classic_member(profile: Profile) -> ClassicMember:
    assert profile.classic is not None, ("speaks no classic protocol", profile)
    return ClassicMember(
        member_id=profile.member_id,
        instance_id=profile.instance_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        session_timeout_ms=profile.classic.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols=tuple(
            OfferedProtocol(offered.name, offered.metadata)
            for offered in profile.classic.supported_protocols
        ),
    )
