"""What a classic group is asked, and what it answers.

An error that an answer carries beside other fields stands in `error`; every other one is
raised as Refused.
"""

from typing import NamedTuple

from kafkapy.core.errors import ErrorCode

# What a client sends before it has an id of its own.
NO_MEMBER_ID = ""
NO_GENERATION = -1


class OfferedProtocol(NamedTuple):
    """One assignment strategy (or other protocol) a member could follow."""

    name: str
    metadata: bytes


class JoinGroup(NamedTuple):
    """`fresh_member_id` is for a member that has none; `needs_known_member_id` (v4+) makes
    a new dynamic member ask again with it; `can_skip_assignment` is v9+ (KIP-814)."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[OfferedProtocol, ...]
    fresh_member_id: str
    needs_known_member_id: bool = True
    can_skip_assignment: bool = True


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_MEMBER_ID
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncGroup(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...]


class Synced(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class Heartbeat(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    generation: int


class HeartbeatHeard(NamedTuple):
    error: ErrorCode = ErrorCode.NONE


class LeavingMember(NamedTuple):
    member_id: str
    instance_id: str | None


class LeaveGroup(NamedTuple):
    group_id: str
    members: tuple[LeavingMember, ...]


class MemberLeft(NamedTuple):
    member_id: str
    instance_id: str | None
    error: ErrorCode


class Left(NamedTuple):
    members: tuple[MemberLeft, ...]
