"""Topics that nodes keep something of HTTP's in, made when the first of it is written.

    CreateTopics --> made, or there already: another node was first --> this node knows it, too

Who was first is answered once its node knows the topic. Whoever was not hears at once that there is
one, perhaps before its own node does.
"""

from collections.abc import Mapping
from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.protocol.api_keys import ApiKey

_MOST_REPLICAS: Final = 3


def replicas(kafka: Kafka) -> int:
    """On three brokers, if there are as many."""
    return min(_MOST_REPLICAS, len(kafka.brokers()))


async def make(kafka: Kafka, name: str, partitions: int, configs: Mapping[str, str]) -> None:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas(kafka),
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }
    body = {"topics": [topic], "timeout": kafka.timeout_ms, "validate_only": False}
    row = (await kafka.ask(ApiKey.CREATE_TOPICS, body)).topics[0]
    if row.error_code and row.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        raise KafkaError(row.error_code, name, row.error_message)

    async def known() -> None:
        if name not in kafka.image.topics_by_name:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, name)

    await kafka.until_it_passes(known)
