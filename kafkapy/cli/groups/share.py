"""What `kafkapy groups` shows of a share group, and how it moves one.

Where a consumer group has committed offsets, a share group has start offsets: the first record of
each partition that is not done. Moving them forgets what behind them is done or was delivered.
"""

import argparse
from typing import Any

from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.groups.asking import group_type
from kafkapy.cli.groups.reset_plan import Where
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey


def described_share(client: Client, group: str) -> Any | None:
    """None if it is no share group. (Who has no share groups is not asked for one.)"""
    if group_type(client, group) != "share":
        return None
    body = {"group_ids": [group], "include_authorized_operations": False}
    (found,) = client.ask(ApiKey.SHARE_GROUP_DESCRIBE, body).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    check(found.error_code, f"group {group}", found.error_message)
    return found


def show_share(client: Client, options: argparse.Namespace, found: Any) -> int:
    if options.members:
        show(_member_rows(found), as_json=options.json, empty="no members")
        return 0
    rows = [
        {
            "topic": topic,
            "partition": partition,
            "start": None if one.start_offset < 0 else one.start_offset,
            "lag": None if getattr(one, "lag", -1) < 0 else one.lag,
        }
        for (topic, partition), one in sorted(read_by_share(client, options.group).items())
    ]
    if not options.json:
        count = len(found.members)
        print(f"{options.group}: share, {found.group_state}, {count} members")
    show(rows, as_json=options.json, empty="no offsets")
    return 0


def read_by_share(client: Client, group: str) -> dict[Where, Any]:
    """What is said of each partition that it reads, or has read."""
    asked = {"groups": [{"group_id": group, "topics": None}]}
    (offsets,) = client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, asked).groups
    check(offsets.error_code, f"group {group}", offsets.error_message)
    return {
        (topic.topic_name, one.partition_index): one
        for topic in offsets.topics
        for one in topic.partitions
    }


def start_offsets(read: dict[Where, Any]) -> dict[Where, int]:
    """Where it has begun."""
    return {where: one.start_offset for where, one in read.items() if one.start_offset >= 0}


def move_share(client: Client, group: str, offsets: dict[Where, int]) -> None:
    topics: dict[str, list[dict[str, int]]] = {}
    for (topic, partition), offset in offsets.items():
        row = {"partition_index": partition, "start_offset": offset}
        topics.setdefault(topic, []).append(row)
    answer = client.ask(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        {
            "group_id": group,
            "topics": [{"topic_name": name, "partitions": rows} for name, rows in topics.items()],
        },
    )
    if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise Failed(f"group {group} is active: stop its members first")
    check(answer.error_code, f"group {group}", answer.error_message)
    check_all(
        (one.error_code, f"{topic.topic_name}-{one.partition_index}", one.error_message)
        for topic in answer.responses
        for one in topic.partitions
    )


def _member_rows(found: Any) -> list[dict[str, Any]]:
    return [
        {
            "member": one.member_id,
            "client": one.client_id,
            "host": one.client_host,
            "partitions": sorted(
                f"{topic.topic_name}-{partition}"
                for topic in one.assignment.topic_partitions
                for partition in topic.partitions
            ),
        }
        for one in found.members
    ]
