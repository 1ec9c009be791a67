"""Groups as pages show and change them: which there are, what they committed, what is left."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey


class Listed(NamedTuple):
    name: str
    protocol: str
    state: str
    type: str
    coordinator: int


async def list_groups(kafka: Kafka) -> list[Listed]:
    """Those that the principal may see, by name; of the brokers that answer."""
    answers = await kafka.ask_all(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []})
    found = [
        Listed(row.group_id, row.protocol_type, row.group_state, row.group_type, broker_id)
        for broker_id, answer in answers.items()
        if not isinstance(answer, KafkaError) and not answer.error_code
        for row in answer.groups
    ]
    sees = Operation.DESCRIBE
    if not await kafka.allowed(sees, ResourceType.CLUSTER, [CLUSTER_NAME]):
        names = await kafka.allowed(sees, ResourceType.GROUP, [one.name for one in found])
        found = [one for one in found if one.name in names]
    return sorted(found)


async def committed(kafka: Kafka, group: str) -> dict[TopicPartition, int]:
    """What the group has committed, of topics that the principal may see."""
    asked = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": None}
    answer = await kafka.ask_coordinator(
        group,
        ApiKey.OFFSET_FETCH,
        {"groups": [asked], "require_stable": False},
        lambda answer: int(answer.groups[0].error_code),
    )
    told = answer.groups[0]
    check(told.error_code, group)
    names = [topic.name for topic in told.topics]
    visible = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    return {
        TopicPartition(topic.name, row.partition_index): row.committed_offset
        for topic in told.topics
        if topic.name in visible
        for row in topic.partitions
        if not row.error_code and row.committed_offset >= 0
    }


async def commit(
    kafka: Kafka,
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    member_id: str = "",
    generation: int = -1,
) -> None:
    """KafkaError for the first partition that was refused. Without a member the group has to be
    empty, as Kafka wants it."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for where, offset in offsets.items():
        row = {
            "partition_index": where.partition,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        topics.setdefault(where.topic, []).append(row)
    body = {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "group_instance_id": None,
        "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
    }
    answer = await kafka.ask_coordinator(group, ApiKey.OFFSET_COMMIT, body, _first_error)
    for topic in answer.topics:
        for row in topic.partitions:
            check(row.error_code, f"{group}: {topic.name}-{row.partition_index}")


async def delete(kafka: Kafka, group: str) -> None:
    body = {"groups_names": [group]}
    answer = await kafka.ask_coordinator(
        group, ApiKey.DELETE_GROUPS, body, lambda answer: int(answer.results[0].error_code)
    )
    check(answer.results[0].error_code, group)


def _first_error(answer: Any) -> int:
    codes: Iterable[int] = (row.error_code for one in answer.topics for row in one.partitions)
    return next((code for code in codes if code), int(ErrorCode.NONE))
