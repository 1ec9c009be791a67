"""A classic group: who is in it, in which generation, and where its rebalance stands.

    Empty --join--> PreparingRebalance --all joined, or time is up--> CompletingRebalance
      ^                  ^      ^                                           |
      |                  |      +---- member joins, leaves or expires ------+
      |                  |                                                  | leader syncs
      +--- nobody joined-+------ member joins, leaves or expires ----- Stable

What `GroupMetadata` records hold (generation, protocol, leader, members, assignments)
survives; where a rebalance stands does not, and a replayed group is Empty or Stable.

Deciding works on a `copy`, which becomes the group when the step is applied.
"""

from dataclasses import field, replace
from enum import Enum

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant
from kafkapy.group.classic.events import OfferedProtocol

CONSUMER_PROTOCOL_TYPE = "consumer"


class ClassicState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """`is_new` until its first join is complete: it cannot send heartbeats before."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[OfferedProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    awaits_join: bool = False
    awaits_sync: bool = False

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whoever waits for us cannot send heartbeats, and need not."""
        return not self.is_new and (self.awaits_join or self.awaits_sync)

    def metadata(self, protocol_name: str | None) -> bytes:
        for offered in self.protocols:
            if offered.name == protocol_name:
                return offered.metadata
        raise AssertionError((self.member_id, "does not speak", protocol_name))


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """An empty group waits for more members; each one that comes extends the wait."""

    delay_ms: int
    remaining_ms: int
    has_new_member: bool = False


@dataclass(slots=True)
class ClassicGroup:
    group_id: str
    state: ClassicState
    state_since: Instant
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    # None: unknown, because the members are no consumers or their metadata unreadable.
    subscribed_topics: frozenset[str] | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    # Given an id (MEMBER_ID_REQUIRED), not yet back with it.
    pending_members: set[str] = field(default_factory=set)
    # Joined this generation, and have not asked for their assignment.
    pending_sync: set[str] = field(default_factory=set)
    initial_delay: InitialDelay | None = None
    # How many members offer each protocol, and how many wait in Join.
    offers: dict[str, int] = field(default_factory=dict)
    awaiting_join: int = 0

    def copy(self) -> "ClassicGroup":
        return replace(
            self,
            members=dict(self.members),
            static_members=dict(self.static_members),
            pending_members=set(self.pending_members),
            pending_sync=set(self.pending_sync),
            offers=dict(self.offers),
        )

    # Reading

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Nobody ever joined: it only holds the offsets of consumers that assign themselves."""
        return self.protocol_type is None and self.is_empty and not self.pending_members

    @property
    def speaks_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def can_rebalance(self) -> bool:
        return self.state is not ClassicState.PREPARING_REBALANCE

    @property
    def has_all_members_joined(self) -> bool:
        return self.awaiting_join == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_leader(self, member_id: str) -> bool:
        return self.leader == member_id

    def is_subscribed_to(self, topic: str) -> bool:
        """Unknown subscriptions of consumers count as a yes."""
        if self.subscribed_topics is None:
            return self.speaks_consumer_protocol
        return topic in self.subscribed_topics

    # Writing; only ever on a copy

    def become(self, state: ClassicState, now: Instant) -> None:
        self.state = state
        self.state_since = now

    def put(self, member: ClassicMember) -> None:
        """Add a member, or what it changed to."""
        standing = self.members.get(member.member_id)
        if standing is not None:
            self._count(standing, -1)
        elif not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Take a member out, pending or not; the first of the others leads if it led."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.is_leader(member_id):
            self.leader = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.pending_sync.discard(member_id)
        return member

    def replace_id(self, old: ClassicMember, new_member_id: str) -> ClassicMember:
        """A static member came back under a new id, in its old place."""
        was_leader = self.is_leader(old.member_id)
        self.remove(old.member_id)
        renamed = replace(
            old, member_id=new_member_id, is_new=False, awaits_join=False, awaits_sync=False
        )
        self.put(renamed)
        if was_leader:
            self.leader = new_member_id
        return renamed

    def _count(self, member: ClassicMember, by: int) -> None:
        # Each name once: a client may say it twice, and is one member all the same.
        for name in {offered.name for offered in member.protocols}:
            count = self.offers.get(name, 0) + by
            if count:
                self.offers[name] = count
            else:
                del self.offers[name]  # or names that members made up would pile up
        if member.awaits_join:
            self.awaiting_join += by


@dataclass(frozen=True, slots=True)
class ClassicGroupStands:
    """Note: the group is like this now, where its rebalance stands included."""

    group: ClassicGroup


def empty_group(group_id: str, now: Instant) -> ClassicGroup:
    return ClassicGroup(group_id, ClassicState.EMPTY, now)
