"""Produce at a rate while a process is killed: {"seconds", "before", "acknowledged"}.

`seconds` is the longest time between two acknowledgements from the kill on, as an application
with librdkafka's defaults and an idempotent producer sees it; `before` the longest before it.
"""

import json
import os
import signal
import sys
import time
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

_BEFORE_S, _AFTER_S = 5.0, 20.0
_STEP_S = 0.01


class Gaps:
    def __init__(self) -> None:
        self.last = time.perf_counter()
        self.longest = 0.0
        self.acknowledged = 0
        self.failures: list[str] = []

    def acknowledge(self, failed: KafkaError | None, _: Message) -> None:
        now = time.perf_counter()
        if failed is not None:
            self.failures.append(str(failed))
            return
        self.longest = max(self.longest, now - self.last)
        self.last = now
        self.acknowledged += 1


def run(given: dict[str, Any]) -> dict[str, float]:
    producer = Producer(
        {
            "bootstrap.servers": ",".join(given["addresses"]),
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    gaps = Gaps()
    topic, value = given["topic"], bytes(1024)
    where = {"partition": given["partition"], "on_delivery": gaps.acknowledge}
    began = time.perf_counter()
    sent, before = 0, None
    while (now := time.perf_counter()) < began + _BEFORE_S + _AFTER_S:
        if before is None and now > began + _BEFORE_S:
            before, gaps.longest = gaps.longest, 0.0
            os.kill(given["kills"], signal.SIGKILL)
        while sent < (now - began) * given["rate"]:
            try:
                producer.produce(topic, value, **where)
            except BufferError:
                break  # what waits for the next leader fills the queue
            sent += 1
        producer.poll(_STEP_S)
    left = producer.flush(30)
    if left or gaps.failures:
        raise SystemExit(f"{left} records were not acknowledged; {gaps.failures[:3]}")
    assert before is not None
    return {"seconds": gaps.longest, "before": before, "acknowledged": gaps.acknowledged}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
