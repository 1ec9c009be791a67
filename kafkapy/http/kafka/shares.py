"""Share groups (KIP-932): who is in one, where it is in each partition, and moved elsewhere."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

SHARE: Final = "share"


class Place(NamedTuple):
    """`start`: the first record that is not done, None before the group has begun there; `lag`:
    how many are not, also between others that are; None where nobody could tell."""

    start: int | None
    lag: int | None


async def is_one(kafka: Kafka, group: str) -> bool:
    found = await groups.list_groups(kafka)
    return any(one.name == group and one.type == SHARE for one in found)


async def describe(kafka: Kafka, group: str) -> Any:
    """kio's DescribedGroup."""
    body = {"group_ids": [group], "include_authorized_operations": False}
    answer = await kafka.ask_coordinator(
        group, ApiKey.SHARE_GROUP_DESCRIBE, body, lambda one: int(one.groups[0].error_code)
    )
    found = answer.groups[0]
    check(found.error_code, group, found.error_message)
    return found


async def places(kafka: Kafka, group: str) -> dict[TopicPartition, Place]:
    """Of topics that the principal may see."""
    body = {"groups": [{"group_id": group, "topics": None}]}
    answer = await kafka.ask_coordinator(
        group, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, body, lambda one: int(one.groups[0].error_code)
    )
    told = answer.groups[0]
    check(told.error_code, group, told.error_message)
    names = [topic.topic_name for topic in told.topics]
    visible = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    return {
        TopicPartition(topic.topic_name, one.partition_index): Place(
            one.start_offset if one.start_offset >= 0 else None,
            one.lag if one.lag >= 0 else None,
        )
        for topic in told.topics
        if topic.topic_name in visible
        for one in topic.partitions
        if not one.error_code
    }


async def move(kafka: Kafka, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """The group has to be empty. KafkaError for the first partition that was refused."""
    topics: dict[str, list[dict[str, int]]] = {}
    for where, offset in offsets.items():
        row = {"partition_index": where.partition, "start_offset": offset}
        topics.setdefault(where.topic, []).append(row)
    body = {
        "group_id": group,
        "topics": [{"topic_name": name, "partitions": rows} for name, rows in topics.items()],
    }
    answer = await kafka.ask_coordinator(
        group, ApiKey.ALTER_SHARE_GROUP_OFFSETS, body, lambda one: int(one.error_code)
    )
    check(answer.error_code, group, answer.error_message)
    for topic in answer.responses:
        for one in topic.partitions:
            what = f"{group}: {topic.topic_name}-{one.partition_index}"
            check(one.error_code, what, one.error_message)
