"""Records in and out over HTTP, or through a client of Kafka's, for bench/rest.py: {"records",
"seconds", "p50", "p99"}; the times, in ms, are of requests (or of acknowledgements).

    write   batches of so many records, each connection one after the other
    read    a partition from its start, in pages of so many
    follow  the same as server-sent events
"""

import http.client
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

Given = dict[str, Any]
_MS = 1000.0
_PAGE = 1000


def _connection(given: Given) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", given["port"], timeout=60)


def write_http(given: Given) -> tuple[int, list[float]]:
    value = "x" * given["record_bytes"]
    body = json.dumps({"messages": [{"value": value}] * given["batch"]}).encode()
    path = f"/api/v1/topics/{given['topic']}/messages"
    end = time.perf_counter() + given["seconds"]

    def one() -> list[float]:
        connection, took = _connection(given), []
        while (began := time.perf_counter()) < end:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise SystemExit(f"HTTP {answer.status}")
            took.append(time.perf_counter() - began)
        return took

    with ThreadPoolExecutor(given["connections"]) as threads:
        each = [threads.submit(one) for _ in range(given["connections"])]
        found = [took for future in each for took in future.result()]
    return len(found) * given["batch"], found


def write_kafka(given: Given) -> tuple[int, list[float]]:
    """As many as one may have waiting; of one record, one after the other."""
    producer = Producer({"bootstrap.servers": given["bootstrap"], "acks": "all", "linger.ms": 0})
    value, took = b"x" * given["record_bytes"], list[float]()

    def heard(began: float) -> Callable[[KafkaError | None, Message], None]:
        def hear(failed: KafkaError | None, _: Message) -> None:
            if failed is not None:
                raise SystemExit(str(failed))
            took.append(time.perf_counter() - began)

        return hear

    end = time.perf_counter() + given["seconds"]
    most = given["batch"] * given["connections"]
    sent = 0
    while (now := time.perf_counter()) < end:
        producer.produce(given["topic"], value, on_delivery=heard(now))
        sent += 1
        while sent - len(took) >= most:
            producer.poll(1)
    producer.flush(60)
    return len(took), took


def read_http(given: Given) -> tuple[int, list[float]]:
    connection, took, offset = _connection(given), list[float](), 0
    while offset < given["records"]:
        began = time.perf_counter()
        path = f"/api/v1/topics/{given['topic']}/partitions/0/messages"
        connection.request("GET", f"{path}?offset={offset}&limit={_PAGE}&as=text")
        offset = json.loads(connection.getresponse().read())["nextOffset"]
        took.append(time.perf_counter() - began)
    return offset, took


def follow_http(given: Given) -> tuple[int, list[float]]:
    connection, count = _connection(given), 0
    path = f"/api/v1/topics/{given['topic']}/partitions/0/stream?offset=0&as=text"
    connection.request("GET", path)
    for line in connection.getresponse():
        if line.startswith(b"data:"):
            count += 1
            if count == given["records"]:
                break
    return count, []


def read_kafka(given: Given) -> tuple[int, list[float]]:
    consumer = Consumer({"bootstrap.servers": given["bootstrap"], "group.id": "bench"})
    consumer.assign([TopicPartition(given["topic"], 0, 0)])
    count = 0
    while count < given["records"]:
        count += len(consumer.consume(_PAGE, 1.0))
    consumer.close()
    return count, []


_KINDS = {
    "write-http": write_http,
    "write-kafka": write_kafka,
    "read-http": read_http,
    "follow-http": follow_http,
    "read-kafka": read_kafka,
}


def run(given: Given) -> dict[str, float]:
    began = time.perf_counter()
    records, took = _KINDS[given["kind"]](given)
    seconds = time.perf_counter() - began
    took.sort()
    times = {f"p{share}": took[len(took) * share // 100] * _MS for share in (50, 99) if took}
    return {"records": records, "seconds": seconds, **times}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
