"""Clicks in a shop: what the examples produce, read and count.

A click is one JSON object, keyed by its user, and the record's timestamp is when it happened.
The same seed gives the same clicks, so an example can be checked to the last row.
"""

import json
import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PAGES = ("home", "search", "product", "cart", "checkout")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_BY_KEY = -1


@dataclass(frozen=True)
class Click:
    """One click; `cents` is what was paid, and 0 anywhere but at the checkout."""

    id: str
    user: str
    page: str
    cents: int
    at: datetime

    @property
    def value(self) -> bytes:
        fields = {"id": self.id, "user": self.user, "page": self.page, "cents": self.cents}
        return json.dumps({**fields, "at": self.at.isoformat(timespec="milliseconds")}).encode()


def random_clicks(
    count: int, *, seed: int = 1, start: datetime = NOON, every_ms: int = 250
) -> Iterator[Click]:
    """`count` clicks, one each `every_ms` from `start`; early pages are visited more often."""
    dice = random.Random(seed)
    for number in range(count):
        page = dice.choices(PAGES, weights=(8, 6, 5, 2, 1))[0]
        cents = dice.randrange(500, 20_000) if page == "checkout" else 0
        user = f"user-{dice.randrange(50):02}"
        at = start + timedelta(milliseconds=number * every_ms)
        yield Click(f"{seed}-{number:06}", user, page, cents, at)


def new_topic(bootstrap: str, name: str, *, partitions: int = 2) -> str:
    """A topic of one run: `name` and some letters that no earlier run had."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    create_topic(bootstrap, topic, partitions=partitions)
    return topic


def create_topic(bootstrap: str, topic: str, *, partitions: int = 2) -> None:
    """A topic that keeps everything: clicks of some day long ago are past any retention."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(topic, partitions, 1, config={"retention.ms": "-1"})]
    for made in admin.create_topics(topics).values():
        made.result(timeout=30)


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for gone in admin.delete_topics([topic]).values():
        gone.result(timeout=30)


class ClickProducer:
    """Sends clicks with acks=all, each once: what `flush` returned from is in the log."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        self._producer = Producer({**settings, "log_level": 0})

    def send(self, topic: str, clicks: Iterable[Click], *, partitions: int | None = None) -> None:
        for number, click in enumerate(clicks):
            partition = _BY_KEY if partitions is None else number % partitions
            self._producer.produce(
                topic,
                key=click.user,
                value=click.value,
                timestamp=round(click.at.timestamp() * 1000),
                partition=partition,
                on_delivery=_must_arrive,
            )
            self._producer.poll(0)

    def flush(self) -> None:
        left = self._producer.flush(60)
        assert left == 0, f"{left} clicks were not delivered"


def publish(
    bootstrap: str, topic: str, clicks: Iterable[Click], *, partitions: int | None = None
) -> None:
    """Produce and wait for the acknowledgements; in turn to `partitions`, or by the key."""
    producer = ClickProducer(bootstrap)
    producer.send(topic, clicks, partitions=partitions)
    producer.flush()


def _must_arrive(error: KafkaError | None, message: "Message[bytes, bytes]") -> None:
    assert error is None, error
