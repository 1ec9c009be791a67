"""Five ways to get billing.py wrong, one a class. Each passes every test but its own."""

import json
from typing import Any, ClassVar

from billing import Billing
from confluent_kafka import Consumer, Message


class GivesUp(Billing):
    """A broker that is not ready yet is taken for one that never will be."""

    PRODUCER: ClassVar[dict[str, Any]] = {"retries": 0}


class WritesTwice(Billing):
    """Without idempotence a retry writes what is written already."""

    PRODUCER: ClassVar[dict[str, Any]] = {"enable.idempotence": False}


class CommitsFirst(Billing):
    """An order that is committed before anything came of it can be lost."""

    COMMIT_EVERY = 1

    def handle(self, order: Message) -> None:
        self.consumer.commit(order, asynchronous=False)
        super().handle(order)


class StopsAtPoison(Billing):
    """One order that cannot be read stops all that come after it."""

    def handle(self, order: Message) -> None:
        total = json.loads(order.value() or b"")["total"]
        self.write("invoices", json.dumps({"due": total}), order.key())


class ForgetsToCommit(Billing):
    """Whoever takes the partitions over does again what was done."""

    def revoked(self, consumer: Consumer, partitions: list[Any]) -> None:
        self.uncommitted = 0
