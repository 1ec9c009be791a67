"""What `kafkapy groups` shows of a streams group: its members' active tasks as the partitions that
they read."""

from typing import Any

from kafkapy.cli.client import Client, check
from kafkapy.cli.groups.asking import Described, Member, group_type
from kafkapy.protocol.api_keys import ApiKey


def described_streams(client: Client, group: str) -> Described | None:
    """None if it is no streams group. (Who has no streams groups is not asked for one.)"""
    if group_type(client, group) != "streams":
        return None
    body = {"group_ids": [group], "include_authorized_operations": False}
    (found,) = client.ask(ApiKey.STREAMS_GROUP_DESCRIBE, body).groups
    check(found.error_code, f"group {group}", found.error_message)
    reads = {} if found.topology is None else _inputs(found.topology)
    members = []
    for one in found.members:
        owned = [
            (topic, partition)
            for tasks in one.assignment.active_tasks
            for topic in reads.get(tasks.subtopology_id, ())
            for partition in tasks.partitions
        ]
        members.append((Member(one.member_id, one.client_id, one.client_host), owned))
    return Described("streams", found.group_state, members)


def _inputs(topology: Any) -> dict[str, list[str]]:
    """By subtopology, the topics whose partitions are its tasks."""
    return {
        one.subtopology_id: [
            *one.source_topics,
            *(info.name for info in one.repartition_source_topics),
        ]
        for one in topology.subtopologies or ()
    }
