"""Produce so many records a second through librdkafka: {"p50", "p99", "p99.9"} of acknowledgements
in ms, from when each was due.
"""

import json
import sys
import time
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

_MS = 1000.0


def run(given: dict[str, Any]) -> dict[str, float]:
    settings: dict[str, Any] = {"bootstrap.servers": given["bootstrap"]}
    settings |= {"linger.ms": 0, "acks": given["acks"]}
    producer = Producer({**settings, **given.get("security", {})})
    value = bytes(given["record_bytes"])
    producer.produce(given["topic"], value)
    producer.flush(30)
    took: list[float] = []
    interval = 1 / given["rate"]
    begun = time.perf_counter()
    for number in range(int(given["rate"] * given["seconds"])):
        due = begun + number * interval
        while (left := due - time.perf_counter()) > 0:
            producer.poll(left)
        producer.produce(given["topic"], value, on_delivery=_heard(due, took))
        producer.poll(0)
    if producer.flush(30):
        raise SystemExit("some were not acknowledged")
    took.sort()
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    return {name: took[int(len(took) * share)] * _MS for name, share in shares.items()}


def _heard(due: float, took: list[float]) -> Any:
    def heard(failed: KafkaError | None, _: Message) -> None:
        if failed is not None:
            raise SystemExit(f"not acknowledged: {failed}")
        took.append(time.perf_counter() - due)

    return heard


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
