"""Produce through librdkafka as fast as it goes: {"seconds", "records"}.

`produce_batch` hands librdkafka a thousand records a call, so that Python is not what is
measured.
"""

import json
import sys
import time
from typing import Any


def run(given: dict[str, Any]) -> dict[str, float]:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": given["bootstrap"],
            "acks": given["acks"],
            "batch.size": given["batch_bytes"],
            "batch.num.messages": 1_000_000,
            "linger.ms": given.get("linger_ms", 50),
            "message.max.bytes": 5_000_000,
            "queue.buffering.max.kbytes": 512 * 1024,
            "queue.buffering.max.messages": 2_000_000,
            "compression.type": given.get("compression", "none"),
            "enable.idempotence": False,
        }
    )
    value = bytes(range(256)) * (given["record_bytes"] // 256 + 1)
    chunk = 1000
    count = given["records"] // chunk
    producer.produce(given["topic"], b"warm")
    producer.flush(30)
    began = time.perf_counter()
    for _ in range(count):
        messages = [{"value": value[: given["record_bytes"]]} for _ in range(chunk)]
        while messages:
            accepted = producer.produce_batch(given["topic"], messages)
            if accepted == len(messages):
                break
            messages = [{"value": one["value"]} for one in messages if "_error" in one]
            producer.poll(0.01)
        producer.poll(0)
    left = producer.flush(120)
    seconds = time.perf_counter() - began
    if left:
        raise SystemExit(f"{left} records were not acknowledged")
    return {"seconds": seconds, "records": count * chunk}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
