"""Sends statements to accounts over TLS, as somebody who has logged in, with confluent-kafka.
What is not written is told to whoever asked; nothing is sent to a server that is not ours.
"""

from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

TOPIC = "statements"


class Statements:
    SETTINGS: ClassVar[dict[str, Any]] = {"delivery.timeout.ms": 3000}

    def __init__(self, login: dict[str, Any]) -> None:
        """`login`: bootstrap.servers, security.protocol, sasl.*, ssl.*"""
        self.refusal: KafkaError | None = None
        self.producer = Producer({**login, "log_level": 0, "error_cb": self.heard, **self.SETTINGS})

    def heard(self, error: KafkaError) -> None:
        """Why there is no connection, long before a record times out."""
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self.refusal = error

    def send(self, account: str, statement: str) -> None:
        """Returns when it is written, and raises why it is not."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        self.producer.produce(TOPIC, statement, account, on_delivery=delivered)
        self.flush()
        if failed:
            raise KafkaException(self.refusal or failed[0])

    def flush(self) -> None:
        self.producer.flush()

    def close(self) -> None:
        self.producer.flush(5)
