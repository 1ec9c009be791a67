"""An idempotent producer on kafka-python."""

from functools import partial
from typing import Any

from kafka import KafkaProducer

from compat_tests.chaos.producers.telling import (
    acknowledged,
    closed,
    due,
    failed,
    order,
    pause,
    sent,
)


def main() -> None:
    asked = order()
    client = KafkaProducer(bootstrap_servers=asked.broker, acks="all", enable_idempotence=True)

    def told(number: int, metadata: Any) -> None:
        acknowledged(metadata.partition, number, metadata.offset)

    for one in due(asked):
        if one is None:
            pause()
            continue
        partition, number = one
        sent(partition, number)
        answer = client.send(asked.topic, str(number).encode(), partition=partition)
        answer.add_callback(partial(told, number))
        answer.add_errback(partial(failed, partition, number))
    client.flush()
    client.close()
    closed()


if __name__ == "__main__":
    main()
