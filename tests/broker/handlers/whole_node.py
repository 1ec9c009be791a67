"""Requests to a whole broker, past its socket: through the bytes of their version."""

from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker


def request(broker: Broker, api_key: ApiKey, version: int, **body: Any) -> Any:
    """What a client would decode."""
    return broker._ask(api_key, version, body)


def topic_id(broker: Broker, topic: str) -> Any:
    answer = request(broker, ApiKey.METADATA, 12, topics=[{"name": topic, "topic_id": None}])
    return answer.topics[0].topic_id
