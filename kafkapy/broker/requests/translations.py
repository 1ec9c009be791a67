"""Small translations that several handlers share."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from kafkapy.core.ids import TopicPartition

_MILLISECOND: Final = timedelta(milliseconds=1)


def millis(duration: timedelta) -> int:
    """kio reads timeouts as timedelta; machines count milliseconds."""
    return duration // _MILLISECOND


def optional(body: Any, name: str, absent: Any) -> Any:
    """A field that only later versions of the request have."""
    return getattr(body, name, absent)


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Partitions as requests and responses carry them, in order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return list(topics.items())
