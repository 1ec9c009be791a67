"""What members are told about the generation they are in."""

from kafkapy.group.classic.events import Joined, JoinedMember, Synced
from kafkapy.group.classic.group import ClassicGroup, ClassicMember


def joined(group: ClassicGroup, member_id: str, members: tuple[JoinedMember, ...] = ()) -> Joined:
    return Joined(
        member_id=member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        members=members,
    )


def members_for_leader(group: ClassicGroup) -> tuple[JoinedMember, ...]:
    """Whom the leader assigns to, with what each said under the selected protocol."""
    return tuple(
        JoinedMember(member.member_id, member.instance_id, member.metadata(group.protocol_name))
        for member in group.members.values()
    )


def synced(group: ClassicGroup, member: ClassicMember) -> Synced:
    return Synced(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )
