"""Two ways to get payments.py wrong."""

from confluent_kafka import Message, Producer
from payments import Payments


class PaysThenCommits(Payments):
    """A transaction without the offset: whoever crashes in between pays again."""

    def finish(self, invoice: Message) -> None:
        self.producer.commit_transaction(10)
        self.consumer.commit(invoice, asynchronous=False)


class WithoutTransactions(Payments):
    """What was written stays written, whatever comes of the offset."""

    def __init__(self, bootstrap: str, name: str) -> None:
        super().__init__(bootstrap, name)
        self.producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})

    def pay(self, invoice: Message) -> None:
        self.producer.produce("payments", invoice.value(), invoice.key())
        self.producer.flush(10)

    def finish(self, invoice: Message) -> None:
        self.consumer.commit(invoice, asynchronous=False)
