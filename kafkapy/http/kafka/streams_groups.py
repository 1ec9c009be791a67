"""Streams groups (KIP-1071): who is in one, and which partitions each member reads."""

from typing import Any, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.protocol.api_keys import ApiKey


class Reader(NamedTuple):
    member_id: str
    client_id: str
    client_host: str
    partitions: tuple[TopicPartition, ...]


class StreamsGroup(NamedTuple):
    state: str
    members: tuple[Reader, ...]


async def describe(kafka: Kafka, group: str) -> StreamsGroup | None:
    """None if it is no streams group, or its cluster has none."""
    body = {"group_ids": [group], "include_authorized_operations": False}
    answer = await kafka.ask_coordinator(
        group, ApiKey.STREAMS_GROUP_DESCRIBE, body, lambda one: int(one.groups[0].error_code)
    )
    found = answer.groups[0]
    if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    check(found.error_code, group, found.error_message)
    reads = {} if found.topology is None else _inputs(found.topology)
    return StreamsGroup(
        found.group_state,
        tuple(
            Reader(one.member_id, one.client_id, one.client_host, tuple(_read(one, reads)))
            for one in found.members
        ),
    )


def _inputs(topology: Any) -> dict[str, list[str]]:
    """By subtopology, the topics whose partitions are its tasks."""
    return {
        one.subtopology_id: [
            *one.source_topics,
            *(info.name for info in one.repartition_source_topics),
        ]
        for one in topology.subtopologies or ()
    }


def _read(member: Any, reads: dict[str, list[str]]) -> list[TopicPartition]:
    return [
        TopicPartition(topic, partition)
        for tasks in member.assignment.active_tasks
        for topic in reads.get(tasks.subtopology_id, ())
        for partition in tasks.partitions
    ]
