"""Pays invoices exactly once, with confluent-kafka: reads `invoices`, writes `payments`.

The payment and the offset are one transaction, and the consumer's place in its group goes with
it: whoever was put out of the group cannot commit any more (KIP-447).
"""

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

GROUP = "payments"


class Payments:
    def __init__(self, bootstrap: str, name: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "heartbeat.interval.ms": 100,
            }
        )
        self.producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        self.producer.init_transactions(10)
        self.consumer.subscribe(["invoices"])

    def next_invoice(self) -> Message:
        invoice = self.consumer.poll(20)
        if invoice is None:
            raise TimeoutError("no invoice came")
        if invoice.error():
            raise KafkaException(invoice.error())
        return invoice

    def pay(self, invoice: Message) -> None:
        self.producer.begin_transaction()
        self.producer.produce("payments", invoice.value(), invoice.key())
        self.producer.flush(10)

    def finish(self, invoice: Message) -> None:
        """The payment counts, with the offset, or neither does."""
        topic, partition, offset = invoice.topic(), invoice.partition(), invoice.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        try:
            self.producer.send_offsets_to_transaction(
                [TopicPartition(topic, partition, offset + 1)],
                self.consumer.consumer_group_metadata(),
                10,
            )
            self.producer.commit_transaction(10)
        except KafkaException:
            self.producer.abort_transaction(10)
            raise

    def close(self) -> None:
        self.consumer.close()
