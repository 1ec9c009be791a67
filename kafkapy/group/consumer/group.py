"""A consumer group: the fold of its records, with what follows from them at hand.

    epoch              grows with every change of members, subscriptions or their topics
    assignment_epoch   the epoch the targets were computed for; behind while that waits
    member epoch       how far each member has got; at most the assignment epoch

`apply` is the only writer, of the group itself or of the copy a decision works on. It
takes records in any order that compaction may leave behind.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from enum import Enum
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.group.consumer import stored
from kafkapy.group.consumer.member import (
    NEW_HOLDING,
    NOTHING,
    Holding,
    Profile,
    Target,
)
from kafkapy.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    Pair,
)


class ConsumerGroupState(Enum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """Which topics a regular expression stood for when it was looked at."""

    topics: frozenset[str]
    version: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """A regular expression half looked at: names are matched in bounded slices."""

    regex: str
    names: tuple[str, ...]
    done: int
    found: tuple[str, ...]
    version: int
    may_describe: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Look:
    """When a regular expression was last resolved, against which version of the topics."""

    version: int
    at: int


@dataclass(slots=True)
class ConsumerGroup:
    group_id: str
    # The first that is written is 2, as Kafka's is.
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 0
    assignment_timestamp: int = 0
    profiles: dict[str, Profile] = field(default_factory=dict)
    holdings: dict[str, Holding] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    # What follows from the above.
    static_members: dict[str, str] = field(default_factory=dict)
    owners: dict[tuple[UUID, int], str] = field(default_factory=dict)
    subscribers: Counter[str] = field(default_factory=Counter)
    regex_users: Counter[str] = field(default_factory=Counter)
    classic_offers: Counter[str] = field(default_factory=Counter)
    classic_count: int = 0
    # Soft: a subscribed topic changed (or may have, before we led), and where regular
    # expressions stand.
    wants_refresh: bool = True
    looks: dict[str, Look] = field(default_factory=dict)
    resolving: dict[str, Resolution] = field(default_factory=dict)
    told_to_rejoin: set[str] = field(default_factory=set)

    def copy(self) -> "ConsumerGroup":
        return ConsumerGroup(
            self.group_id,
            self.epoch,
            self.metadata_hash,
            self.assignment_epoch,
            self.assignment_timestamp,
            dict(self.profiles),
            dict(self.holdings),
            dict(self.targets),
            dict(self.regexes),
            dict(self.static_members),
            dict(self.owners),
            self.subscribers.copy(),
            self.regex_users.copy(),
            self.classic_offers.copy(),
            self.classic_count,
            self.wants_refresh,
            dict(self.looks),
            dict(self.resolving),
            set(self.told_to_rejoin),
        )

    # Reading

    @property
    def is_empty(self) -> bool:
        return not self.profiles

    def holding(self, member_id: str) -> Holding:
        return self.holdings.get(member_id, NEW_HOLDING)

    def target(self, member_id: str) -> Target:
        return self.targets.get(member_id, NOTHING)

    def static_member(self, instance_id: str) -> Profile | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.profiles.get(member_id)

    def is_free_for(self, member_id: str, topic_id: UUID, partition: int) -> bool:
        return self.owners.get((topic_id, partition), member_id) == member_id

    def topics_of(self, profile: Profile) -> frozenset[str]:
        """By name and by regular expression; one not resolved yet stands for nothing."""
        if profile.subscribed_regex is None:
            return profile.subscribed_topics
        resolved = self.regexes.get(profile.subscribed_regex)
        if resolved is None:
            return profile.subscribed_topics
        return profile.subscribed_topics | resolved.topics

    def subscribed_topics(self) -> set[str]:
        names = set(self.subscribers)
        for regex in self.regex_users:
            resolved = self.regexes.get(regex)
            if resolved is not None:
                names |= resolved.topics
        return names

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribers or any(
            topic in self.regexes[regex].topics
            for regex in self.regex_users
            if regex in self.regexes
        )

    def is_subscribed_to_any(self, topics: frozenset[str]) -> bool:
        """Asked of every group when thousands of topics change: whichever is shorter is gone
        through."""
        return _have_in_common(topics, self.subscribers) or any(
            _have_in_common(topics, self.regexes[regex].topics)
            for regex in self.regex_users
            if regex in self.regexes
        )

    def state(self) -> ConsumerGroupState:
        if not self.profiles:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        for member_id in self.profiles:
            if not self.holding(member_id).is_reconciled_to(self.assignment_epoch):
                return ConsumerGroupState.RECONCILING
        return ConsumerGroupState.STABLE

    def preferred_assignor(self) -> str | None:
        """What most members ask for; None if nobody asks for any."""
        votes = Counter(
            profile.server_assignor
            for profile in self.profiles.values()
            if profile.server_assignor is not None
        )
        return max(sorted(votes), key=lambda name: votes[name]) if votes else None

    def waits_for_others(self, member_id: str) -> bool:
        """Whether anything of its target is still in somebody else's hands."""
        assigned = self.holding(member_id).assigned
        return any(
            partition not in assigned.get(topic_id, {})
            and not self.is_free_for(member_id, topic_id, partition)
            for topic_id, partitions in self.target(member_id).items()
            for partition in partitions
        )

    def members(self) -> Iterator[tuple[Profile, Holding]]:
        for member_id, profile in self.profiles.items():
            yield profile, self.holding(member_id)

    # Writing

    def note(self, note: "ConsumerNote") -> None:
        match note:
            case RefreshWanted():
                self.wants_refresh = note.is_wanted
            case RegexLooked(regex=regex, look=look, resolution=resolution):
                self.resolving.pop(regex, None)
                if look is not None:
                    self.looks[regex] = look
                if resolution is not None:
                    self.resolving[regex] = resolution
            case ToldToRejoin(member_id=member_id, has_been=has_been):
                if has_been:
                    self.told_to_rejoin.add(member_id)
                else:
                    self.told_to_rejoin.discard(member_id)

    def apply(self, record: Pair) -> None:
        key, value = record
        match key:
            case ConsumerGroupCurrentMemberAssignmentKey():
                self._hold(key.member_id, None if value is None else stored.holding_from(value))
            case ConsumerGroupMemberMetadataKey():
                member_id = key.member_id
                profile = None if value is None else stored.profile_from(member_id, value)
                self._introduce(member_id, profile)
            case ConsumerGroupTargetAssignmentMemberKey():
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    self.targets[key.member_id] = stored.target_from(value)
            case ConsumerGroupTargetAssignmentMetadataKey():
                self.assignment_epoch = 0 if value is None else value.assignment_epoch
                self.assignment_timestamp = 0 if value is None else value.assignment_timestamp
            case ConsumerGroupMetadataKey():
                # Its tombstone removes the whole group: that is for whoever holds it.
                assert value is not None, record
                self.epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case ConsumerGroupRegularExpressionKey():
                regex = key.regular_expression
                if value is None:
                    self.regexes.pop(regex, None)
                    self.looks.pop(regex, None)
                    self.resolving.pop(regex, None)
                else:
                    self.regexes[regex] = ResolvedRegex(
                        frozenset(value.topics), value.version, value.timestamp
                    )
                    self.looks[regex] = Look(value.version, value.timestamp)
            case ConsumerGroupPartitionMetadataKey():
                self.wants_refresh = True
            case _:
                raise AssertionError(("not of a consumer group", record))

    def _introduce(self, member_id: str, profile: Profile | None) -> None:
        standing = self.profiles.pop(member_id, None)
        if standing is not None:
            self._count(standing, -1)
            instance_id = standing.instance_id
            if instance_id is not None and self.static_members.get(instance_id) == member_id:
                del self.static_members[instance_id]
        if profile is None:
            self.told_to_rejoin.discard(member_id)
        else:
            self.profiles[member_id] = profile
            self._count(profile, 1)
            if profile.instance_id is not None:
                self.static_members[profile.instance_id] = member_id

    def _count(self, profile: Profile, by: int) -> None:
        for topic in profile.subscribed_topics:
            _add(self.subscribers, topic, by)
        if profile.subscribed_regex is not None:
            _add(self.regex_users, profile.subscribed_regex, by)
        if profile.classic is not None:
            self.classic_count += by
            # As in a classic group: a name said twice is one offer.
            for name in {protocol.name for protocol in profile.classic.supported_protocols}:
                _add(self.classic_offers, name, by)

    def _hold(self, member_id: str, holding: Holding | None) -> None:
        standing = self.holdings.pop(member_id, None)
        if standing is not None:
            for owned in (standing.assigned, standing.pending_revocation):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        if self.owners.get((topic_id, partition)) == member_id:
                            del self.owners[topic_id, partition]
        if holding is not None:
            self.holdings[member_id] = holding
            for owned in (holding.assigned, holding.pending_revocation):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        self.owners[topic_id, partition] = member_id


def _have_in_common(some: Collection[str], others: Collection[str]) -> bool:
    if len(some) > len(others):
        some, others = others, some
    return any(name in others for name in some)


def _add(counts: Counter[str], name: str, by: int) -> None:
    counts[name] += by
    if counts[name] <= 0:
        del counts[name]


@dataclass(frozen=True, slots=True)
class RefreshWanted:
    """Note: compare the topics' fingerprint at the next heartbeat, or (False) done that."""

    group_id: str
    is_wanted: bool


@dataclass(frozen=True, slots=True)
class RegexLooked:
    """Note: a regular expression was resolved (`look`), or is being resolved further."""

    group_id: str
    regex: str
    look: Look | None = None
    resolution: Resolution | None = None


@dataclass(frozen=True, slots=True)
class ToldToRejoin:
    """Note: a classic member was told to rejoin, or has (`has_been` False)."""

    group_id: str
    member_id: str
    has_been: bool


ConsumerNote = RefreshWanted | RegexLooked | ToldToRejoin
