"""Produce through librdkafka as fast as it goes: {"seconds"}.

From the first record handed over to the last one acknowledged. The connection is made and
the topic known before that.
"""

import ctypes
import json
import sys
import time
from typing import Any

from bench.clients import librdkafka

_CHUNK = 10_000
_PATIENCE_MS = 120_000


def run(given: dict[str, Any]) -> dict[str, float]:
    library = librdkafka.load()
    handle = librdkafka.client(
        library,
        librdkafka.PRODUCER,
        {
            "bootstrap.servers": given["bootstrap"],
            "acks": given["acks"],
            "batch.size": given["batch_bytes"],
            "batch.num.messages": 1_000_000,
            "linger.ms": given["linger_ms"],
            "message.max.bytes": 5_000_000,
            "queue.buffering.max.kbytes": 512 * 1024,
            "queue.buffering.max.messages": 2_000_000,
            "compression.type": given["compression"],
            "enable.idempotence": False,
            **given.get("security", {}),
        },
    )
    topic = librdkafka.topic(library, handle, given["topic"])
    value = _value(given["record_bytes"])
    one = librdkafka.Message(payload=value, size=len(value))
    messages = (librdkafka.Message * _CHUNK)(*[one] * _CHUNK)
    _send(library, topic, messages, 1)
    _flush(library, handle)
    began = time.perf_counter()
    left = int(given["records"])
    while left:
        accepted = _send(library, topic, messages, min(left, _CHUNK))
        left -= accepted
        if accepted == 0:
            time.sleep(0.002)  # librdkafka's queue is full
    _flush(library, handle)
    return {"seconds": time.perf_counter() - began}


def _send(library: ctypes.CDLL, topic: ctypes.c_void_p, messages: Any, count: int) -> int:
    accepted: int = library.rd_kafka_produce_batch(
        topic, librdkafka.PARTITION_ANY, 0, messages, count
    )
    return accepted


def _flush(library: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
    library.rd_kafka_flush(handle, _PATIENCE_MS)
    if (left := library.rd_kafka_outq_len(handle)) != 0:
        raise SystemExit(f"{left} records were not acknowledged")


def _value(size: int) -> bytes:
    """Bytes that a codec can halve or so, as it can with most records of the world."""
    words = b"".join(b"%06x:" % (number * 7_919_993 % 0xFFFFFF) for number in range(size // 7 + 1))
    return words[:size]


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
