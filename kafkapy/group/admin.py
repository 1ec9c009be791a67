"""What tools ask: which groups there are, what one is like, and to delete it."""

from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import Holding, Profile, partitions_of
from kafkapy.group.deletion import group_tombstones_of
from kafkapy.group.offsets.delete import all_tombstones, that_fit
from kafkapy.group.plan import Context, Plan
from kafkapy.group.share import admin as share_admin
from kafkapy.group.share.group import ShareDraft, ShareGroup
from kafkapy.group.state import Group, GroupState
from kafkapy.group.streams.group import StreamsGroup
from kafkapy.group.topics import TopicPartitions, named

# Groups looked at in one step: less than a millisecond.
LISTED_AT_ONCE: Final = 250


class ListGroups(NamedTuple):
    """Lower-case names to filter by; empty means all. `group_ids`: of these, from `start` on,
    and not of those that there are now."""

    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    group_ids: tuple[str, ...] | None = None
    start: int = 0


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    group_type: str


class GroupsListed(NamedTuple):
    """Of so many groups that were looked at. `go_on`: what to ask for the others."""

    groups: tuple[ListedGroup, ...]
    looked_at: int
    go_on: ListGroups | None


class DescribeGroup(NamedTuple):
    group_id: str


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupDescribed(NamedTuple):
    state: str
    protocol_type: str
    protocol: str
    members: tuple[DescribedMember, ...]


class DescribeConsumerGroup(NamedTuple):
    group_id: str


class DescribedConsumer(NamedTuple):
    profile: Profile
    epoch: int
    assignment: tuple[TopicPartitions, ...]
    target: tuple[TopicPartitions, ...]


class ConsumerGroupDescribed(NamedTuple):
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]


class DeleteGroup(NamedTuple):
    group_id: str


class GroupDeleted(NamedTuple):
    pass


class GroupHasMore(NamedTuple):
    """Some of the group's offsets are deleted, more than one batch holds; whoever wants it gone
    has to ask again."""


def list_groups(event: ListGroups, state: GroupState) -> GroupsListed:
    ids = tuple(state.groups) if event.group_ids is None else event.group_ids
    end = event.start + LISTED_AT_ONCE
    some = [state.groups[one] for one in ids[event.start : end] if one in state.groups]
    return GroupsListed(
        tuple(
            group
            for group in map(_listed, some)
            if (not event.states or _asked_for(group.state) in event.states)
            and (not event.types or group.group_type in event.types)
        ),
        len(some),
        event._replace(group_ids=ids, start=end) if end < len(ids) else None,
    )


def describe(event: DescribeGroup, state: GroupState) -> GroupDescribed:
    """A classic group; metadata and protocol only while they are agreed on."""
    group = state.groups.get(event.group_id)
    if group is None:
        raise _not_found(event.group_id)
    if not isinstance(group, ClassicGroup):
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {event.group_id} is not a classic group."
        )
    is_stable = group.state is ClassicState.STABLE
    protocol = (group.protocol_name or "") if is_stable else ""
    return GroupDescribed(
        group.state.value,
        group.protocol_type or "",
        protocol,
        tuple(_described(member, protocol) for member in group.members.values()),
    )


def describe_consumers(
    event: DescribeConsumerGroup, state: GroupState, ctx: Context
) -> ConsumerGroupDescribed:
    group = state.groups.get(event.group_id)
    if group is None:
        raise _not_found(event.group_id)
    if not isinstance(group, ConsumerGroup):
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {event.group_id} is not a consumer group."
        )
    return ConsumerGroupDescribed(
        group.state().value,
        group.epoch,
        group.assignment_epoch,
        group.preferred_assignor() or ctx.settings.consumer_assignors[0],
        tuple(_consumer(profile, holding, group, ctx) for profile, holding in group.members()),
    )


def delete_group(event: DeleteGroup, state: GroupState, plan: Plan, ctx: Context) -> None:
    group = state.groups.get(event.group_id)
    if group is None:
        raise _not_found(event.group_id)
    if isinstance(group, ShareGroup):
        if share_admin.delete_group(ShareDraft(group, plan), ctx):
            plan.records += group_tombstones_of(group)
            plan.reply = GroupDeleted()
        return
    if not group.is_empty:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
    offsets = all_tombstones(event.group_id, state)
    # In one batch, if one holds them: who deletes a group finds all of it or nothing, whenever
    # the coordinator dies. Apache Kafka cannot delete a larger one (README.md).
    count = that_fit(event.group_id, offsets)
    plan.records += offsets[:count]
    if len(offsets) > count:
        plan.reply = GroupHasMore()
    else:
        plan.records += group_tombstones_of(group)
        plan.reply = GroupDeleted()


def _asked_for(state: str) -> str:
    """How a filter names a state."""
    return "not_ready" if state == "NotReady" else state.lower()


def _listed(group: Group) -> ListedGroup:
    match group:
        case ClassicGroup():
            protocol_type = group.protocol_type or ""
            return ListedGroup(group.group_id, protocol_type, group.state.value, "classic")
        case ConsumerGroup():
            return ListedGroup(group.group_id, "consumer", group.state().value, "consumer")
        case ShareGroup():
            return ListedGroup(group.group_id, "share", group.state().value, "share")
        case StreamsGroup():
            return ListedGroup(group.group_id, "streams", group.state().value, "streams")


def _described(member: ClassicMember, protocol: str) -> DescribedMember:
    return DescribedMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.metadata(protocol) if protocol else b"",
        member.assignment,
    )


def _consumer(
    profile: Profile, holding: Holding, group: ConsumerGroup, ctx: Context
) -> DescribedConsumer:
    return DescribedConsumer(
        profile,
        holding.epoch,
        named(partitions_of(holding.assigned), ctx.topics),
        named(group.target(profile.member_id), ctx.topics),
    )


def _not_found(group_id: str) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
