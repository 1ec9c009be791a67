"""Consume one partition from its start through librdkafka: {"seconds", "records"}."""

import json
import sys
import time
from typing import Any


def run(given: dict[str, Any]) -> dict[str, float]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": given["bootstrap"],
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 8 << 20,
            "fetch.max.bytes": 64 << 20,
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 1 << 20,
            "check.crcs": False,
        }
    )
    consumer.assign([TopicPartition(given["topic"], 0, 0)])
    first = consumer.consume(1, 30)
    if not first:
        raise SystemExit("nothing to consume")
    began, count = time.perf_counter(), 1
    while count < given["records"]:
        got = consumer.consume(10_000, 10)
        if not got:
            raise SystemExit(f"only {count} of {given['records']} records came")
        count += len(got)
    seconds = time.perf_counter() - began
    consumer.close()
    return {"seconds": seconds, "records": count}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
