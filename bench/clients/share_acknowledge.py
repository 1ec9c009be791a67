"""Take records of a share group one by one and acknowledge each: {"p50", "p99", "seconds"}.

The time in ms from when a record is acknowledged until the broker has answered that it holds, of
librdkafka's share consumer; the topic's records are there before.
"""

import json
import sys
import time
from typing import Any

from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer

_SILENCE_S = 60.0


def run(given: dict[str, Any]) -> dict[str, float]:
    _fill(given)
    consumer = ShareConsumer(
        {
            "bootstrap.servers": given["bootstrap"],
            "group.id": given["group"],
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe([given["topic"]])
    took: list[float] = []
    began, heard = 0.0, time.perf_counter()
    while len(took) < given["records"]:
        for one in consumer.poll(1.0) or ():
            heard = time.perf_counter()
            began = began or heard
            took.append(_acknowledged(consumer, one))
        if time.perf_counter() - heard > _SILENCE_S:
            raise SystemExit(f"only {len(took)} of {given['records']} records came")
    seconds = time.perf_counter() - began
    consumer.close()
    took.sort()
    count = len(took)
    return {"p50": took[count // 2], "p99": took[count * 99 // 100], "seconds": seconds}


def _fill(given: dict[str, Any]) -> None:
    producer = Producer({"bootstrap.servers": given["bootstrap"], "acks": "all"})
    value = bytes(given["record_bytes"])
    for _ in range(given["records"]):
        producer.produce(given["topic"], value)
    if producer.flush(60):
        raise SystemExit("some were not acknowledged")


def _acknowledged(consumer: ShareConsumer, one: Message) -> float:
    failed = one.error()
    if failed is not None:
        raise SystemExit(f"consuming: {failed}")
    began = time.perf_counter()
    consumer.acknowledge(one, AcknowledgeType.ACCEPT)
    for refused in consumer.commit_sync(30.0).values():
        if refused is not None:
            raise SystemExit(f"not acknowledged: {refused}")
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
