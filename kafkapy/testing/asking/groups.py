"""Groups as a test sees them: who is in, in which state, how far they are.

Asked with Kafka's own requests: ListGroups, then DescribeGroups (classic) or
ConsumerGroupDescribe (KIP-848), and OffsetFetch.
"""

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing.asking.ask import check

_LOOK_SECONDS: Final = 0.005
_MOST_LOOKS: Final = 1000
# KIP-848: a member that goes for good, static or not.
_LEAVE_EPOCH: Final = -1

Ask = Callable[[ApiKey, int, Mapping[str, Any]], Any]


class Member(NamedTuple):
    """`partitions` is what it was told to read; empty until the group is stable."""

    member_id: str
    client_id: str
    partitions: frozenset[TopicPartition]


class Group(NamedTuple):
    """`state` and `kind` are Kafka's words: Stable, Empty ...; classic, consumer ..."""

    group_id: str
    state: str
    kind: str
    members: tuple[Member, ...]


def groups(ask: Ask) -> list[Group]:
    body: dict[str, list[str]] = {"states_filter": [], "types_filter": []}
    listed = _once_loaded(lambda: ask(ApiKey.LIST_GROUPS, 5, body))
    check(listed.error_code, "groups")
    describe = {"classic": _classic_members, "consumer": _consumer_members}
    return [
        Group(
            one.group_id,
            one.group_state,
            one.group_type.lower(),
            describe.get(one.group_type.lower(), _no_members)(ask, one.group_id),
        )
        for one in sorted(listed.groups, key=lambda one: str(one.group_id))
    ]


def one_group(ask: Ask, group_id: str) -> Group:
    known = {one.group_id: one for one in groups(ask)}
    if group_id not in known:
        raise LookupError(f"there is no group {group_id!r}; the broker knows {sorted(known)}")
    return known[group_id]


def expire(ask: Ask, group_id: str, member_id: str | None, client_id: str | None) -> Member:
    """End the session of one member, with the request by which it would leave itself."""
    group = one_group(ask, group_id)
    chosen = [
        one
        for one in group.members
        if member_id in (None, one.member_id) and client_id in (None, one.client_id)
    ]
    if len(chosen) != 1:
        who = ", ".join(f"{one.member_id} of {one.client_id}" for one in group.members)
        raise LookupError(f"{len(chosen)} members of {group_id} are meant; it has: {who or 'none'}")
    (member,) = chosen
    if group.kind == "consumer":
        left = ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, _leaving(group_id, member.member_id))
        check(left.error_code, f"member {member.member_id}", left.error_message)
        return member
    who_leaves = {"member_id": member.member_id, "group_instance_id": None, "reason": None}
    left = ask(ApiKey.LEAVE_GROUP, 5, {"group_id": group_id, "members": [who_leaves]})
    check(left.error_code or left.members[0].error_code, f"member {member.member_id}")
    return member


def _leaving(group_id: str, member_id: str) -> dict[str, Any]:
    """A ConsumerGroupHeartbeat that says no more than that its member goes for good."""
    return {
        "group_id": group_id,
        "member_id": member_id,
        "member_epoch": _LEAVE_EPOCH,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": -1,
        "subscribed_topic_names": None,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": None,
    }


def committed(ask: Ask, group_id: str) -> dict[TopicPartition, int]:
    asked = {"group_id": group_id, "member_id": None, "member_epoch": -1, "topics": None}
    body = {"groups": [asked], "require_stable": False}
    # Asked first: a group that is used for the first time in between has committed nothing yet.
    was_a_group_used = _was_a_group_used(ask)
    group = _once_loaded(lambda: ask(ApiKey.OFFSET_FETCH, 9, body).groups[0])
    if group.error_code == ErrorCode.NOT_COORDINATOR and not was_a_group_used:
        return {}
    check(group.error_code, f"group {group_id}")
    return {
        TopicPartition(topic.name, one.partition_index): one.committed_offset
        for topic in group.topics
        for one in topic.partitions
        if one.committed_offset >= 0
    }


def _was_a_group_used(ask: Ask) -> bool:
    body = {"topics": [{"name": CONSUMER_OFFSETS}], "allow_auto_topic_creation": False}
    answer = ask(ApiKey.METADATA, 8, body)
    return bool(answer.topics[0].error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _once_loaded(fetch: Callable[[], Any]) -> Any:
    """After a restart the coordinator reads its log first: milliseconds."""
    for _ in range(_MOST_LOOKS):
        answer = fetch()
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
        time.sleep(_LOOK_SECONDS)
    return answer


def _no_members(_ask: Ask, _group_id: str) -> tuple[Member, ...]:
    return ()


def _classic_members(ask: Ask, group_id: str) -> tuple[Member, ...]:
    body = {"groups": [group_id], "include_authorized_operations": False}
    group = ask(ApiKey.DESCRIBE_GROUPS, 5, body).groups[0]
    check(group.error_code, f"group {group_id}")
    return tuple(
        Member(one.member_id, one.client_id, frozenset(_assigned(bytes(one.member_assignment))))
        for one in group.members
    )


def _consumer_members(ask: Ask, group_id: str) -> tuple[Member, ...]:
    body = {"group_ids": [group_id], "include_authorized_operations": False}
    group = ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, body).groups[0]
    check(group.error_code, f"group {group_id}")
    return tuple(
        Member(
            one.member_id,
            one.client_id,
            frozenset(
                TopicPartition(topic.topic_name, index)
                for topic in one.assignment.topic_partitions
                for index in topic.partitions
            ),
        )
        for one in group.members
    )


def _assigned(data: bytes) -> Iterator[TopicPartition]:
    """The consumer protocol's assignment: i16 version, [topic, [i32 partition]], user data."""
    if not data:
        return
    try:
        (topics,) = struct.unpack_from(">i", data, 2)
        at = 6
        for _ in range(topics):
            (size,) = struct.unpack_from(">h", data, at)
            topic = data[at + 2 : at + 2 + size].decode()
            at += 2 + size
            (count,) = struct.unpack_from(">i", data, at)
            for index in struct.unpack_from(f">{count}i", data, at + 4):
                yield TopicPartition(topic, index)
            at += 4 + 4 * count
    except (struct.error, UnicodeDecodeError) as bad:
        raise Corrupt(f"an assignment of {len(data)} bytes: {bad}") from None
