"""A consumer as any other: it takes each order, works for a moment, and goes in good order.

    python consumer.py HOST:PORT orders billing 0.01

At SIGTERM it ends what it has in hand, commits it, and leaves the group at once, so that the others
have its partitions without waiting for a timeout.
"""

import signal
import sys
import time

from confluent_kafka import Consumer


def consume(bootstrap: str, topic: str, group: str, seconds: float) -> None:
    is_over = False

    def end(*_: object) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGTERM, end)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            # Others keep what they have while one comes or goes.
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
        }
    )
    consumer.subscribe([topic])
    while not is_over:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            time.sleep(seconds)  # here is the work
    consumer.close()


if __name__ == "__main__":
    consume(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
