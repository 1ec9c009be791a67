"""What `kafkapy groups describe` shows of a share group: where it is, and who its members are."""

import argparse
from typing import Any

from kafkapy.cli.client import Client, check
from kafkapy.cli.output import show
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey


def described_share(client: Client, group: str) -> Any | None:
    """None if it is no share group. (Who has no share groups is not asked for one.)"""
    listed = client.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []})
    kinds = {one.group_id: getattr(one, "group_type", "") for one in listed.groups}
    if kinds.get(group) != "share":
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
    asked = {"groups": [{"group_id": options.group, "topics": None}]}
    (offsets,) = client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, asked).groups
    check(offsets.error_code, f"group {options.group}", offsets.error_message)
    rows = [
        {
            "topic": topic.topic_name,
            "partition": one.partition_index,
            "start": None if one.start_offset < 0 else one.start_offset,
            "lag": None if getattr(one, "lag", -1) < 0 else one.lag,
        }
        for topic in offsets.topics
        for one in topic.partitions
    ]
    if not options.json:
        count = len(found.members)
        print(f"{options.group}: share, {found.group_state}, {count} members")
    rows.sort(key=lambda row: (row["topic"], row["partition"]))
    show(rows, as_json=options.json, empty="no offsets")
    return 0


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
