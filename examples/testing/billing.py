"""Bills orders, with confluent-kafka: reads `orders`, writes `invoices`; what cannot be read
goes to `orders.bad`. Every order is billed, most of them once: a crash may repeat the last few.
"""

import json
from typing import Any, ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

GROUP = "billing"


class Billing:
    COMMIT_EVERY = 100
    PRODUCER: ClassVar[dict[str, Any]] = {"enable.idempotence": True}

    def __init__(self, bootstrap: str, name: str = "billing") -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
            }
        )
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "retry.backoff.ms": 10, **self.PRODUCER}
        )
        self.uncommitted = 0
        self.consumer.subscribe(["orders"], on_revoke=self.revoked)

    def bill(self, orders: int) -> None:
        """Handle this many orders."""
        while orders:
            if self.step(10):
                orders -= 1
            else:
                raise TimeoutError("no order came")

    def step(self, timeout: float) -> bool:
        """Handle one order, if one comes in time."""
        order = self.consumer.poll(timeout)
        if order is None or order.error():
            return False
        self.handle(order)
        # First what was made of it, then the commit: a crash between the two repeats the
        # order instead of losing it.
        self.uncommitted += 1
        if self.uncommitted >= self.COMMIT_EVERY:
            self.commit()
        return True

    def handle(self, order: Message) -> None:
        try:
            total = json.loads(order.value() or b"")["total"]
        except (ValueError, KeyError, TypeError):
            self.write("orders.bad", order.value(), order.key())
        else:
            self.write("invoices", json.dumps({"due": total}), order.key())

    def write(self, topic: str, value: str | bytes | None, key: str | bytes | None) -> None:
        """Returns when it is written, and raises if it cannot be."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        self.producer.produce(topic, value, key, on_delivery=delivered)
        self.producer.flush()
        if failed:
            raise KafkaException(failed[0])

    def revoked(self, consumer: Consumer, partitions: list[Any]) -> None:
        """Another member takes over: what is done must not be done again."""
        self.commit()

    def commit(self) -> None:
        if self.uncommitted:
            self.consumer.commit(asynchronous=False)
            self.uncommitted = 0

    def close(self) -> None:
        self.consumer.close()  # revokes, and so commits
