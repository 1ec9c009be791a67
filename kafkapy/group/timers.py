"""The keys of a shard's timers, and of the places where askers are parked.

Plain tuples, the kind first: two kinds never compare equal.
"""

from typing import Final

Key = tuple[str, ...]

EXPIRE_OFFSETS: Final = ("expire offsets",)
FORGET_DELETED_TOPICS: Final = ("forget deleted topics",)


def session(group_id: str, member_id: str) -> Key:
    """A member of any protocol that is not heard of until then is gone."""
    return ("session", group_id, member_id)


def join(group_id: str) -> Key:
    """Classic: the join phase ends, whoever has not rejoined."""
    return ("join", group_id)


def sync(group_id: str) -> Key:
    """Classic: members that have not asked for their assignment are removed."""
    return ("sync", group_id)


def rebalance(group_id: str, member_id: str) -> Key:
    """A member that has not given up its partitions or tasks until then is gone."""
    return ("rebalance", group_id, member_id)


def member_join(group_id: str, member_id: str) -> Key:
    """A classic member of a consumer group was told to rejoin and has not."""
    return ("member join", group_id, member_id)


def member_sync(group_id: str, member_id: str) -> Key:
    """A classic member of a consumer group has joined and not asked for its assignment."""
    return ("member sync", group_id, member_id)


def assign(group_id: str) -> Key:
    """Streams: the first target assignment need not wait for more members any longer."""
    return ("assign", group_id)


def regex(group_id: str) -> Key:
    """Consumer: regular expressions are resolved again."""
    return ("regex", group_id)


def waits_in_join(group_id: str, member_id: str) -> Key:
    return ("waits in join", group_id, member_id)


def waits_in_sync(group_id: str, member_id: str) -> Key:
    return ("waits in sync", group_id, member_id)
