"""What of the cluster the principal sees: names it may describe, offsets of what is led, sizes."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.http.console.asked import told
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

# A leader that has not yet heard of a topic that this node knows hears of it in a moment.
_NEWS_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.05


async def until_seen(there: Callable[[], Awaitable[bool]]) -> None:
    """What the controller has decided this node hears of in a moment: the page that comes next
    shall show it. Not waited for for ever, as it may have been changed again."""
    with trio.move_on_after(_NEWS_SECONDS):
        while not await there():
            await trio.sleep(_PAUSE_SECONDS)


async def visible_topics(kafka: Kafka, text: str = "") -> list[str]:
    """Those with `text` in their names, whatever its case."""
    wanted = text.lower()
    names = sorted(one for one in list(kafka.image.topics_by_name) if wanted in one.lower())
    seen = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    return [one for one in names if one in seen]


def led(kafka: Kafka, topic: str, partitions: Iterable[int] | None = None) -> list[int]:
    """The partitions that somebody could be asked about now."""
    states = kafka.topic(topic).partitions
    there = set(kafka.brokers())
    chosen = sorted(states if partitions is None else partitions)
    return [one for one in chosen if one in states and states[one].leader in there]


async def offsets(
    kafka: Kafka, topic: str, partitions: Iterable[int], when: int, *, committed: bool = False
) -> dict[int, int]:
    """Of those that are led: what is not is left out, and not waited for."""
    asked = dict.fromkeys(led(kafka, topic, partitions), when)
    deadline = trio.current_time() + _NEWS_SECONDS
    while asked:
        try:
            return await records.list_offsets(kafka, topic, asked, committed=committed)
        except KafkaError as failed:
            is_news = failed.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if not (is_news and topic in kafka.image.topics_by_name):
                raise
            if trio.current_time() > deadline:
                break
        await trio.sleep(_PAUSE_SECONDS)
    return {}


async def sizes(kafka: Kafka, topics: Iterable[str]) -> dict[str, dict[int, int]] | None:
    """Topic -> partition -> the bytes of its largest replica; None for who may not know."""
    wanted = [
        {"topic": name, "partitions": sorted(kafka.topic(name).partitions)} for name in topics
    ]
    found: dict[str, dict[int, int]] = {}
    if not wanted:
        return found
    answers, failed = told(await kafka.ask_all(ApiKey.DESCRIBE_LOG_DIRS, {"topics": wanted}))
    if any(one.status == 403 for one in failed.values()):
        return None
    for answer in answers.values():
        if answer.error_code:
            return None
        for directory in answer.results:
            for topic in directory.topics:
                of_topic = found.setdefault(topic.name, {})
                for one in topic.partitions:
                    if not one.is_future_key:
                        known = of_topic.get(one.partition_index, 0)
                        of_topic[one.partition_index] = max(known, one.partition_size)
    return found
