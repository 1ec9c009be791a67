"""A classic group <-> its GroupMetadata record (type 2)."""

from kafkapy.core.time import Instant
from kafkapy.group.classic.events import OfferedProtocol
from kafkapy.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from kafkapy.group.classic.protocols import topics_of_members
from kafkapy.group.records import GroupMetadataKey, GroupMetadataValue, MemberMetadata, Pair


def group_record(group: ClassicGroup) -> Pair:
    """Protocol metadata is kept of the selected protocol only, as Kafka keeps it."""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=group.state_since,
        members=tuple(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=member.assignment,
            )
            for member in group.members.values()
        ),
    )
    return GroupMetadataKey(group=group.group_id), value


def group_tombstone(group_id: str) -> Pair:
    return GroupMetadataKey(group=group_id), None


def group_from(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    group = ClassicGroup(
        group_id,
        ClassicState.STABLE if value.members else ClassicState.EMPTY,
        Instant(value.current_state_timestamp),
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader=value.leader,
    )
    for member in value.members:
        group.put(_member_from(member, value))
    # An empty group keeps its type; the members' own overwrote it with the same.
    group.protocol_type = value.protocol_type or None
    group.leader = value.leader
    group.subscribed_topics = topics_of_members(group)
    return group


def _member_from(member: MemberMetadata, value: GroupMetadataValue) -> ClassicMember:
    rebalance_timeout_ms = member.rebalance_timeout
    if rebalance_timeout_ms == -1:  # version 0 had none
        rebalance_timeout_ms = member.session_timeout
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=member.session_timeout,
        protocol_type=value.protocol_type,
        protocols=(OfferedProtocol(value.protocol or "", member.subscription),),
        assignment=member.assignment,
    )
