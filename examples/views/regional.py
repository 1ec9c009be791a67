"""A region's office reads its own orders, from a topic that has everybody's.

The office knows nothing of regions: it subscribes to a topic, `orders.eu`, which is a view. What it
does not need never leaves the broker.
"""

from collections.abc import Iterator

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic


def make_view(bootstrap: str, source: str, region: str) -> str:
    """Once, by whoever owns the topic. Its name."""
    name = f"{source}.{region}"
    # A region's name comes from us; a quote in a text would be written twice.
    where = f"value.region is '{region}' and value.status in ('new', 'changed')"
    config = {"kafkapy.view.of": source, "kafkapy.view.where": where}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, config=config)]).values():
        made.result(30)
    return name


class Office:
    """A consumer as any other."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"office of {topic}",
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe([topic])

    def orders(self, count: int) -> Iterator[bytes]:
        """The next so many."""
        while count:
            message = self._consumer.poll(1.0)
            if message is None or message.error() is not None:
                continue
            yield message.value() or b""
            count -= 1

    def close(self) -> None:
        self._consumer.close()
