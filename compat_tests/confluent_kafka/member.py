"""A member of a group on librdkafka (members/README.md)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from compat_tests.members.telling import Asked, order, tell, tell_committed, tell_partitions


def settings(asked: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = {
        "bootstrap.servers": asked["broker"],
        "group.id": asked["group"],
        "group.protocol": asked["protocol"],
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 50,
        "topic.metadata.refresh.interval.ms": 500,
        "reconnect.backoff.max.ms": 500,
        # Into the member's log file: what the library did when a test says that it did nothing.
        "debug": "cgrp,broker,metadata,protocol",
        "log_level": 7,
    }
    if asked["protocol"] == "classic":
        cooperative = asked["assignor"] == "cooperative"
        found |= {
            "session.timeout.ms": asked["session_ms"],
            "heartbeat.interval.ms": 300,
            "partition.assignment.strategy": "cooperative-sticky" if cooperative else "range",
        }
    if asked.get("instance"):
        found["group.instance.id"] = asked["instance"]
    return found


def named(partitions: list[TopicPartition]) -> list[tuple[str, int]]:
    return [(each.topic, each.partition) for each in partitions]


def commit(client: Consumer, messages: list[Message]) -> None:
    offsets = {
        (str(m.topic()), int(m.partition() or 0)): int(m.offset() or 0) + 1 for m in messages
    }
    listed = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    try:
        client.commit(offsets=listed, asynchronous=False)
    except KafkaException as failure:
        tell("failed", why=str(failure))
    else:
        tell_committed(offsets)


def main() -> None:
    asked = order()
    is_asked_to_end = Asked()
    client = Consumer(settings(asked))
    client.subscribe(
        asked["topics"] or [asked["pattern"]],
        on_assign=lambda _, new: tell_partitions("assigned", named(new)),
        on_revoke=lambda _, old: tell_partitions("revoked", named(old)),
        on_lost=lambda _, old: tell_partitions("revoked", named(old)),
    )
    while not is_asked_to_end:
        messages = client.consume(500, timeout=0.1)
        good = [message for message in messages if message.error() is None]
        for message in messages:
            error = message.error()
            if error is None:
                value = (message.value() or b"").decode()
                tell(
                    "record", t=message.topic(), p=message.partition(), o=message.offset(), v=value
                )
            elif error.code() != KafkaError._PARTITION_EOF:
                tell("failed", why=str(error))
        if good:
            commit(client, good)
    client.close()
    tell("closed")


if __name__ == "__main__":
    main()
