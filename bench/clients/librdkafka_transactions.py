"""Transactions through librdkafka: {"records", "commits", "seconds"}.

Each of `producers` threads begins, produces and commits for `seconds`: `records` a
transaction, or as many as go in `commit_ms`. With neither it is the same idempotent producer
without transactions, for comparison. Calls into the library let go of Python's lock.
"""

import ctypes
import json
import sys
import threading
import time
from typing import Any

from bench.clients import librdkafka

_CHUNK = 100
_PATIENCE_MS = 30_000
# So little that a commit finds next to nothing left to send.
_QUEUE_KIB = 8 * 1024
_FULL_PAUSE_S = 0.001


class _Producer:
    def __init__(self, library: ctypes.CDLL, given: dict[str, Any], number: int) -> None:
        self._library = library
        self._handle = librdkafka.client(library, librdkafka.PRODUCER, _settings(given, number))
        self._topic = librdkafka.topic(library, self._handle, given["topic"])
        value = b"x" * given["record_bytes"]
        one = librdkafka.Message(payload=value, size=len(value))
        self._messages = (librdkafka.Message * _CHUNK)(*[one] * _CHUNK)
        self._is_transactional = _is_transactional(given)
        self._records = given.get("records")
        self._commit_s = given.get("commit_ms", 0) / 1000
        self.sent = self.commits = 0
        if self._is_transactional:
            self._checked("rd_kafka_init_transactions", _PATIENCE_MS)
        self._work(1)  # the connection is made, the topic known
        self.sent = self.commits = 0

    def run(self, ends: float) -> None:
        if not self._is_transactional:
            self._send_until(ends)
            self._flush()
            return
        while (now := time.perf_counter()) < ends:
            if self._records:
                self._work(self._records)
            else:
                self._checked("rd_kafka_begin_transaction")
                self._send_until(min(ends, now + self._commit_s))
                self._commit()

    def _work(self, records: int) -> None:
        if self._is_transactional:
            self._checked("rd_kafka_begin_transaction")
        while records:
            records -= self._send(records)
        if self._is_transactional:
            self._commit()
        else:
            self._flush()

    def _send_until(self, ends: float) -> None:
        while time.perf_counter() < ends:
            if self._send(_CHUNK) < _CHUNK:
                time.sleep(_FULL_PAUSE_S)

    def _send(self, count: int) -> int:
        accepted: int = self._library.rd_kafka_produce_batch(
            self._topic, librdkafka.PARTITION_ANY, 0, self._messages, min(count, _CHUNK)
        )
        self.sent += accepted
        return accepted

    def _commit(self) -> None:
        self._checked("rd_kafka_commit_transaction", _PATIENCE_MS)
        self.commits += 1

    def _flush(self) -> None:
        self._library.rd_kafka_flush(self._handle, _PATIENCE_MS)
        if (left := self._library.rd_kafka_outq_len(self._handle)) != 0:
            raise SystemExit(f"{left} records were not acknowledged")

    def _checked(self, name: str, *arguments: int) -> None:
        call = getattr(self._library, name)
        call.restype = ctypes.c_void_p
        error = call(self._handle, *arguments)
        if error:
            told = self._library.rd_kafka_error_string
            told.restype = ctypes.c_char_p
            raise SystemExit(f"{name}: {told(ctypes.c_void_p(error)).decode()}")


def _is_transactional(given: dict[str, Any]) -> bool:
    return bool(given.get("records") or given.get("commit_ms"))


def _settings(given: dict[str, Any], number: int) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": given["bootstrap"],
        "enable.idempotence": True,
        "batch.size": given.get("batch_bytes", 16_384),
        "batch.num.messages": 1_000_000,
        "linger.ms": given.get("linger_ms", 5),
        "queue.buffering.max.kbytes": _QUEUE_KIB,
        "queue.buffering.max.messages": 2_000_000,
    }
    if _is_transactional(given):
        settings["transactional.id"] = f"{given['topic']}-{number}"
    return settings


def run(given: dict[str, Any]) -> dict[str, float]:
    library = librdkafka.load()
    producers = [_Producer(library, given, number) for number in range(given.get("producers", 1))]
    began = time.perf_counter()
    ends = began + given["seconds"]
    threads = [threading.Thread(target=one.run, args=(ends,)) for one in producers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "seconds": time.perf_counter() - began,
        "records": sum(one.sent for one in producers),
        "commits": sum(one.commits for one in producers),
    }


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
