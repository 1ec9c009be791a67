"""Records that wait for each its time, and when they came: a producer, then a consumer.

Each of `records` is due at a moment of its own in the `span_s` seconds that begin `lead_s` after
the first was sent, in an order that has nothing to do with that of sending. Each has to come once.
Prints how late they came, by this machine's one clock ({"p50", "p99", "most"} in ms), and
`samples` for a plot: [seconds since the first was due, ms late] of some of them.
"""

import json
import random
import sys
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

_SILENCE_S = 120.0
_SAMPLES = 4_000
_AT_ONCE = 2_000
_QUEUE = 1_000_000


def run(given: dict[str, Any]) -> dict[str, Any]:
    count, span_s = given["records"], given["span_s"]
    began = time.time()
    first_ms = int((began + given["lead_s"]) * 1000)
    _send(given, first_ms)
    sent_s = time.time() - began
    if given["lead_s"] < sent_s:
        raise SystemExit(f"sending took {sent_s:.0f} s: records were due before all were there")
    late, samples, last = _receive(given, first_ms)
    late.sort()
    return {
        "p50": late[count // 2],
        "p99": late[count * 99 // 100],
        "most": late[-1],
        "sent_s": sent_s,
        # From when the first was due until the last came; those that were due first wait for none.
        "seconds": last - first_ms / 1000,
        "span_s": span_s,
        "samples": samples,
    }


def _send(given: dict[str, Any], first_ms: int) -> None:
    producer = Producer(
        {
            "bootstrap.servers": given["bootstrap"],
            "acks": "all",
            "linger.ms": 50,
            "queue.buffering.max.messages": _QUEUE,
        }
    )
    chance = random.Random(given.get("seed", 1))
    padding = bytes(given["record_bytes"])
    for number in range(given["records"]):
        due = first_ms + int(chance.random() * given["span_s"] * 1000)
        value = (b"%d " % number + padding)[: given["record_bytes"]]
        headers: dict[str, str | bytes | None] = {"kafkapy.deliver.at": b"%d" % due}
        while True:
            try:
                producer.produce(
                    given["topic"], value, b"%d" % number, partition=0, headers=headers
                )
                break
            except BufferError:
                producer.poll(0.1)
        if not number % 1000:
            producer.poll(0)
    if producer.flush(120):
        raise SystemExit("some were not acknowledged")


def _receive(
    given: dict[str, Any], first_ms: int
) -> tuple[list[float], list[tuple[float, float]], float]:
    count = given["records"]
    consumer = Consumer(
        {
            "bootstrap.servers": given["bootstrap"],
            "group.id": given["target"],
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.assign([TopicPartition(given["target"], 0, 0)])
    came = bytearray(count)
    late: list[float] = []
    samples: list[tuple[float, float]] = []
    every = max(1, count // _SAMPLES)
    heard = now = time.time()
    while len(late) < count:
        found = consumer.consume(_AT_ONCE, 0.01)
        now = time.time()
        if found:
            heard = now
        elif now > max(heard, first_ms / 1000) + _SILENCE_S:
            raise SystemExit(f"only {len(late)} of {count} records came")
        for one in found:
            if one.error() is not None:
                raise SystemExit(f"consuming: {one.error()}")
            number = int((one.value() or b"").split(b" ", 1)[0])
            if came[number]:
                raise SystemExit(f"record {number} came twice")
            came[number] = 1
            due = one.timestamp()[1]
            if now * 1000 < due:
                raise SystemExit(f"record {number} came before it was due")
            if not len(late) % every:
                samples.append(((due - first_ms) / 1000, now * 1000 - due))
            late.append(now * 1000 - due)
    consumer.close()
    return late, samples, now


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
