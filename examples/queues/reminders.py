"""Reminders: a record says when it is wanted, and arrives in another topic then.

The node keeps what waits in the topic it was sent to; nobody polls, nothing is lost when anybody
stops, and consumers are plain consumers. docs/RELAYS.md has the settings and the headers.
"""

from collections.abc import Iterator
from datetime import datetime

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

ASKED, DUE = "reminders", "reminders.due"


def set_up(bootstrap: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    relay = {"kafkapy.relay.to": DUE, "retention.ms": "-1"}
    for topic in (
        NewTopic(DUE, num_partitions=partitions),
        NewTopic(ASKED, num_partitions=partitions, config=relay),
    ):
        admin.create_topics([topic])[topic.topic].result(30)


class Reminders:
    """`who` is the key: of one person they arrive in the order in which they are due."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})

    def remind(self, who: str, what: str, at: datetime) -> None:
        when = str(int(at.timestamp() * 1000))
        self._producer.produce(ASKED, what, who, headers={"kafkapy.deliver.at": when})

    def forget(self, who: str) -> None:
        """All that this person still waits for."""
        self._producer.produce(ASKED, None, who, headers={"kafkapy.cancel": "1"})

    def close(self) -> None:
        self._producer.flush(30)


def due(bootstrap: str, group: str = "bells") -> Iterator[tuple[str, str, int]]:
    """(who, what, when it was due) of each as it comes, for ever."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([DUE])
    try:
        while True:
            found = consumer.poll(1.0)
            if found is not None and found.error() is None:
                yield found.key().decode(), found.value().decode(), found.timestamp()[1]
    finally:
        consumer.close()
