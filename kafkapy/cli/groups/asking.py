"""What several commands ask of a consumer group's coordinator, and tell it."""

from typing import Any, NamedTuple

from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.group.embedded import read_assignment
from kafkapy.protocol.api_keys import ApiKey


class Member(NamedTuple):
    member_id: str
    client_id: str
    host: str


class Described(NamedTuple):
    """`owners` by (topic, partition)."""

    kind: str
    state: str
    members: list[tuple[Member, list[tuple[str, int]]]]

    @property
    def owners(self) -> dict[tuple[str, int], Member]:
        return {where: member for member, owned in self.members for where in owned}


def group_type(client: Client, group: str) -> str:
    """As ListGroups says it; "" for one that is not there, or of a server that has no types."""
    listed = client.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []})
    types = {one.group_id: getattr(one, "group_type", "") for one in listed.groups}
    return str(types.get(group, ""))


def described_group(client: Client, group: str) -> Described:
    answer = client.ask(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        {"group_ids": [group], "include_authorized_operations": False},
    ).groups[0]
    if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return _described_classic(client, group)
    check(answer.error_code, f"group {group}", answer.error_message)
    members = []
    for one in answer.members:
        owned = [
            (topic.topic_name, partition)
            for topic in one.assignment.topic_partitions
            for partition in topic.partitions
        ]
        members.append((Member(one.member_id, one.client_id, one.client_host), owned))
    return Described("consumer", answer.group_state, members)


def _described_classic(client: Client, group: str) -> Described:
    answer = client.ask(
        ApiKey.DESCRIBE_GROUPS, {"groups": [group], "include_authorized_operations": False}
    ).groups[0]
    check(answer.error_code, f"group {group}", answer.error_message)
    members = []
    for one in answer.members:
        assignment = None
        if answer.protocol_type == "consumer":
            assignment = read_assignment(one.member_assignment)
        owned = [
            (topic.topic, partition)
            for topic in (assignment.assigned_partitions if assignment else ())
            for partition in topic.partitions
        ]
        members.append((Member(one.member_id, one.client_id, one.client_host), owned))
    return Described("classic", answer.group_state, members)


def committed_offsets(client: Client, group: str) -> dict[tuple[str, int], int]:
    answer = client.ask(
        ApiKey.OFFSET_FETCH,
        {"groups": [{"group_id": group, "topics": None}], "require_stable": False},
    ).groups[0]
    check(answer.error_code, f"group {group}")
    return {
        (topic.name, one.partition_index): one.committed_offset
        for topic in answer.topics
        for one in topic.partitions
    }


def offsets_at(
    client: Client, wanted: set[tuple[str, int]], timestamp: int, *, is_whole: bool = True
) -> dict[tuple[str, int], int]:
    """Of partitions that exist; a topic that is gone has no offsets. Failed where a partition
    has none to tell now, unless the rest is worth knowing (not `is_whole`)."""
    found = {}
    existing = {topic.name for topic in client.metadata(None).topics}
    for topic in sorted({name for name, _ in wanted} & existing):
        indexes = [partition for name, partition in wanted if name == topic]
        asked = dict.fromkeys(indexes, timestamp)
        offsets = (
            client.offsets(topic, asked) if is_whole else client.known_offsets(topic, asked)[0]
        )
        found.update({(topic, index): offset for index, offset in offsets.items()})
    return found


def commit_offsets(client: Client, group: str, offsets: dict[tuple[str, int], int]) -> None:
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_leader_epoch": -1,
                "committed_metadata": "",
            }
        )
    answer = client.ask(
        ApiKey.OFFSET_COMMIT,
        {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
        },
    )
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                raise Failed(f"group {group} is active: stop its members first")
            check(one.error_code, f"{topic.name}-{one.partition_index}")
