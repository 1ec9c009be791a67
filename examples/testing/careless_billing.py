"""The same as billing.py, with three mistakes; the tests find each."""

import json

from confluent_kafka import Consumer, Producer

GROUP = "billing"


class CarelessBilling:
    def __init__(self, bootstrap: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        # Mistake 1: without idempotence a retry writes what is written already.
        self.producer = Producer({"bootstrap.servers": bootstrap, "retry.backoff.ms": 10})
        self.consumer.subscribe(["orders"])

    def bill(self, orders: int) -> None:
        while orders:
            message = self.consumer.poll(10)
            if message is None:
                raise TimeoutError("no order came")
            if message.error():
                continue
            orders -= 1
            # Mistake 2: committed before anything came of it, an order can be lost.
            self.consumer.commit(message=message, asynchronous=False)
            # Mistake 3: one order that cannot be read stops all that come after it.
            total = json.loads(message.value() or b"")["total"]
            self.producer.produce("invoices", json.dumps({"due": total}), message.key())
            self.producer.flush(10)

    def close(self) -> None:
        self.consumer.close()
