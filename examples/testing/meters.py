"""Takes readings of meters into Kafka, with confluent-kafka. A meter keeps a reading until it is
told to forget it: so it must not be told before the reading is safe, whichever broker dies next.
"""

from typing import Any, ClassVar

from confluent_kafka import KafkaError, Message, Producer


class Meters:
    # All replicas in sync have it before it counts, and a retry does not write it again.
    PRODUCER: ClassVar[dict[str, Any]] = {"acks": "all", "enable.idempotence": True}

    def __init__(self, bootstrap: str) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "retry.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                **self.PRODUCER,
            }
        )
        self.forgotten: list[bytes] = []  # by the meters: nobody but Kafka has them

    def take(self, reading: str) -> None:
        """Returns at once; `forgotten` has it when it is safe."""
        self.producer.produce("readings", reading, on_delivery=self.delivered)

    def delivered(self, error: KafkaError | None, reading: Message) -> None:
        if error is None:
            self.forgotten.append(reading.value() or b"")
        else:
            self.take((reading.value() or b"").decode())

    def hear(self) -> int:
        """Let delivery reports come in; how many readings are forgotten."""
        self.producer.poll(0)
        return len(self.forgotten)

    def close(self) -> None:
        """Every reading is safe."""
        if self.producer.flush(60):
            raise TimeoutError("not every reading is safe")
