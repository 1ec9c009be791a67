"""Bills orders: reads `orders`, writes `invoices`. What cannot be read goes to `orders.bad`."""

import json

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

GROUP = "billing"


class Billing:
    def __init__(self, bootstrap: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "retry.backoff.ms": 10}
        )
        self.consumer.subscribe(["orders"])

    def bill(self, orders: int) -> None:
        """Handle this many orders."""
        while orders:
            message = self.consumer.poll(10)
            if message is None:
                raise TimeoutError("no order came")
            if message.error():
                continue
            orders -= 1
            try:
                total = json.loads(message.value() or b"")["total"]
            except (ValueError, KeyError, TypeError):
                self.write("orders.bad", message.value(), message.key())
            else:
                self.write("invoices", json.dumps({"due": total}), message.key())
            # First what was made of it, then the commit: a crash between the two repeats the
            # order instead of losing it.
            self.consumer.commit(message=message, asynchronous=False)

    def write(self, topic: str, value: str | bytes | None, key: str | bytes | None) -> None:
        """Returns when it is written, and raises if it cannot be."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failed.append(error)

        self.producer.produce(topic, value, key, on_delivery=delivered)
        self.producer.flush()
        if failed:
            raise KafkaException(failed[0])

    def close(self) -> None:
        self.consumer.close()
