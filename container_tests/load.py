"""A stock producer that notes what was acknowledged and when, and a stock consumer that judges."""

import threading
import time
from collections import Counter
from itertools import pairwise
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.chaos.timing import longest_gap

_GIVE_UP_S: Final = 120.0
_PAYLOAD: Final = "x" * 100


class Judgement(NamedTuple):
    acknowledged: int
    refused: int
    lost: int
    twice: int
    out_of_order: int

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.twice or self.out_of_order or self.refused)


class Load:
    """`per_second` records with acks=all and idempotence, to every partition in turn, until
    it is stopped. Each says its partition and its number there."""

    def __init__(self, servers: str, topic: str, partitions: int, per_second: int) -> None:
        self._servers = servers
        self._topic = topic
        self._partitions = partitions
        self._per_second = per_second
        self._acknowledged: list[list[int]] = [[] for _ in range(partitions)]
        self._refused = 0
        self._times: list[list[float]] = [[] for _ in range(partitions)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def longest_gap(self, since: float) -> float:
        """Seconds in which one partition got no acknowledgement, `since` that time.monotonic()."""
        until = time.monotonic()
        return max(longest_gap(list(times), since, until) for times in self._times)

    @property
    def count(self) -> int:
        return sum(map(len, self._acknowledged))

    def _run(self) -> None:
        settings = {
            "bootstrap.servers": self._servers,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "delivery.timeout.ms": 300_000,
            "log_level": 2,
            "reconnect.backoff.max.ms": 1000,
        }
        producer = Producer(settings)
        began, number = time.monotonic(), 0
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * self._per_second)
            while number < due:
                self._produce(producer, number)
                number += 1
            producer.poll(0.005)
        producer.flush(_GIVE_UP_S)

    def _produce(self, producer: Producer, number: int) -> None:
        partition, at = number % self._partitions, number // self._partitions

        def told(error: Any, _: Any) -> None:
            if error is not None:
                self._refused += 1
                return
            self._acknowledged[partition].append(at)
            self._times[partition].append(time.monotonic())

        while True:
            try:
                producer.produce(
                    self._topic, f"{at} {_PAYLOAD}", partition=partition, on_delivery=told
                )
            except BufferError:
                producer.poll(0.05)  # it waits for a cluster that does not answer
            else:
                return

    def judge(self) -> Judgement:
        """Read all of it back. Whatever was acknowledged must be there, once and in order."""
        lost = twice = out_of_order = 0
        for partition, acknowledged in enumerate(self._acknowledged):
            seen = self._read(partition)
            counts = Counter(seen)
            lost += sum(1 for one in acknowledged if one not in counts)
            twice += sum(count - 1 for count in counts.values())
            out_of_order += sum(1 for one, two in pairwise(seen) if two < one)
        return Judgement(self.count, self._refused, lost, twice, out_of_order)

    def _read(self, partition: int) -> list[int]:
        consumer = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "judge", "log_level": 2,
             "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )  # fmt: skip
        where = TopicPartition(self._topic, partition, 0)
        _, end = consumer.get_watermark_offsets(where, timeout=_GIVE_UP_S)
        consumer.assign([where])
        seen: list[int] = []
        give_up_at = time.monotonic() + _GIVE_UP_S
        while len(seen) < end and time.monotonic() < give_up_at:
            for message in consumer.consume(10_000, 1.0):
                value = message.value()
                if message.error() is None and isinstance(value, bytes):
                    seen.append(int(value.split()[0]))
        consumer.close()
        return seen


def leader_of(servers: str, topic: str, partition: int) -> int:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 2})
    found = admin.list_topics(topic, timeout=_GIVE_UP_S).topics[topic].partitions[partition]
    return int(found.leader)
