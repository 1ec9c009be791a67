"""Which of the offered protocols a generation follows.

Candidates are what all members offer; each member votes for its first candidate; most
votes win, and among equals the one voted for first.
"""

from collections import Counter

from kafkapy.group.classic.events import OfferedProtocol
from kafkapy.group.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, ClassicMember
from kafkapy.group.embedded import subscribed_topics


def are_supported(
    group: ClassicGroup, protocol_type: str, protocols: tuple[OfferedProtocol, ...]
) -> bool:
    """Whether a member with these may join: it must have one in common with all members."""
    if group.is_empty:
        return bool(protocol_type) and bool(protocols)
    if group.protocol_type != protocol_type:
        return False
    size = len(group.members)
    return any(group.offers.get(offered.name, 0) == size for offered in protocols)


def select(group: ClassicGroup) -> str:
    size = len(group.members)
    candidates = {name for name, count in group.offers.items() if count == size}
    votes = Counter(_vote(member, candidates) for member in group.members.values())
    assert votes, ("nobody votes in", group.group_id)
    return max(votes, key=lambda name: votes[name])


def topics_of_members(group: ClassicGroup) -> frozenset[str] | None:
    """What consumers of this generation are subscribed to; None where that is not known."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not group.members:
        return frozenset()
    if group.protocol_name is None:
        return None
    found: set[str] = set()
    for member in group.members.values():
        topics = subscribed_topics(member.metadata(group.protocol_name))
        if topics is None:
            return None
        found.update(topics)
    return frozenset(found)


def _vote(member: ClassicMember, candidates: set[str]) -> str:
    for offered in member.protocols:
        if offered.name in candidates:
            return offered.name
    raise AssertionError((member.member_id, "offers none of", candidates))
