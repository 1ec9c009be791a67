"""Whether a topic is there, when this node has not heard of it.

A topic that another node has just made is in the metadata log before who made it is answered; this
node may still be behind. So what is not known here is not said to be missing before the log has
been applied here as far as its leader had committed it when this was asked.
"""

from __future__ import annotations

from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.protocol.api_keys import ApiKey

_LOG: Final = "__cluster_metadata"
_ASKED: Final = {"topics": [{"topic_name": _LOG, "partitions": [{"partition_index": 0}]}]}


async def has_topic(kafka: Kafka, name: str) -> bool:
    """KafkaError if that could not be found out in time."""
    if name not in kafka.image.topics_by_name:
        await _heard_everything(kafka)
    return name in kafka.image.topics_by_name


async def _heard_everything(kafka: Kafka) -> None:
    async def committed() -> int:
        answer = await kafka.ask(ApiKey.DESCRIBE_QUORUM, _ASKED)
        check(answer.error_code, _LOG, answer.error_message)
        row = answer.topics[0].partitions[0]
        check(row.error_code, _LOG)
        if row.high_watermark < 0:
            # Elected, and nothing of its epoch is committed yet.
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, _LOG)
        return int(row.high_watermark)

    end = await kafka.until_it_passes(committed)

    async def applied() -> None:
        if kafka.image.offset < end - 1:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, _LOG)

    await kafka.until_it_passes(applied)
