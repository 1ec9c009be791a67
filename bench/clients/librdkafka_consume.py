"""Consume all partitions of a topic from their start through librdkafka: {"seconds"}.

From the first record that came to the last; `whole_seconds`: from when they were asked for. With
`counts_bytes` also `received_bytes`, over the wire.
"""

import ctypes
import json
import sys
import time
from collections import deque
from typing import Any

from bench.clients import librdkafka

_WAIT_MS = 100
_SILENCE_S = 20.0


def run(given: dict[str, Any]) -> dict[str, float]:
    library = librdkafka.load()
    counts_bytes = given.get("counts_bytes", False)
    received: deque[bytes] = deque(maxlen=1)
    handle = librdkafka.client(
        library,
        librdkafka.CONSUMER,
        {
            "bootstrap.servers": given["bootstrap"],
            "fetch.message.max.bytes": 8 << 20,
            "fetch.max.bytes": 64 << 20,
            "queued.min.messages": 2_000_000,
            "queued.max.messages.kbytes": 256 << 10,
            "check.crcs": False,
            **({"statistics.interval.ms": 20} if counts_bytes else {}),
            **given.get("security", {}),
        },
        received.append if counts_bytes else None,
    )
    topic = librdkafka.topic(library, handle, given["topic"])
    queue = ctypes.c_void_p(library.rd_kafka_queue_new(handle))
    # Called by librdkafka for each record: something that does nothing and costs nothing.
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p)
    asked = time.perf_counter()
    for partition in range(given["partitions"]):
        offset = ctypes.c_int64(librdkafka.OFFSET_BEGINNING)
        if library.rd_kafka_consume_start_queue(topic, partition, offset, queue) != 0:
            raise SystemExit(f"partition {partition} cannot be consumed")
    count, began, heard = 0, 0.0, time.perf_counter()
    while count < given["records"]:
        got = library.rd_kafka_consume_callback_queue(queue, _WAIT_MS, nothing, None)
        now = time.perf_counter()
        if got > 0:
            began, heard = began or now, now
            count += got
        elif now - heard > _SILENCE_S:
            raise SystemExit(f"only {count} of {given['records']} records came")
    ended = time.perf_counter()
    answer = {"seconds": ended - began, "whole_seconds": ended - asked}
    if counts_bytes:
        received.clear()
        while not received:
            library.rd_kafka_poll(handle, _WAIT_MS)
        brokers = json.loads(received[0])["brokers"].values()
        answer["received_bytes"] = sum(broker["rxbytes"] for broker in brokers)
    return answer


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
