"""Load for the soak: everything a broker does in a day, over and over, until SIGTERM.

Records at a steady rate to four partitions; a consumer in a group that commits, and that
leaves and comes back every minute; a transaction every second, every fifth one aborted; a
topic made, written to and deleted every ten seconds; a new connection every second. What was
done is printed at the end.
"""

import json
import signal
import sys
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

_TOPIC = "soak"
_PARTITIONS = 4
_TICK_S = 0.05


class Soak:
    def __init__(self, bootstrap: str, rate: int) -> None:
        self.done: Counter[str] = Counter()
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._make(_TOPIC, _PARTITIONS)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._transactions = Producer({"bootstrap.servers": bootstrap, "transactional.id": "soak"})
        self._transactions.init_transactions(60)
        self._consumer = self._join()
        self._batch = [{"value": b"x" * 1024}] * int(rate * _TICK_S)

    def run(self, ends: list[int]) -> None:
        every = {1.0: self._second, 10.0: self._ten_seconds, 60.0: self._minute}
        due = {period: time.monotonic() + period for period in every}
        tick = time.monotonic()
        while not ends:
            tick = max(tick + _TICK_S, time.monotonic() - 1)
            self._records()
            for period, work in every.items():
                if time.monotonic() >= due[period]:
                    due[period] = time.monotonic() + period
                    work()
            time.sleep(max(0.0, tick - time.monotonic()))

    def close(self) -> None:
        self._producer.flush(60)
        self._consumer.close()

    def _records(self) -> None:
        self.done["records produced"] += self._producer.produce_batch(_TOPIC, self._batch)
        self._producer.poll(0)
        for record in self._consumer.consume(10_000, 0):
            if record.error() is None:
                self.done["records consumed"] += 1

    def _second(self) -> None:
        self._consumer.commit(asynchronous=True)
        self._transactions.begin_transaction()
        self._transactions.produce(_TOPIC, b"in a transaction")
        self.done["transactions"] += 1
        if self.done["transactions"] % 5 == 0:
            self._transactions.abort_transaction(60)
        else:
            self._transactions.commit_transaction(60)
        AdminClient({"bootstrap.servers": self._bootstrap}).list_topics(timeout=60)
        self.done["connections"] += 1

    def _ten_seconds(self) -> None:
        name = f"soak-{self.done['topics']}"
        self._make(name, 3)
        self._producer.produce(name, b"soon gone")
        self._producer.flush(60)
        for future in self._admin.delete_topics([name]).values():
            future.result(60)
        self.done["topics"] += 1

    def _minute(self) -> None:
        self._consumer.close()
        self._consumer = self._join()
        self.done["rejoins"] += 1

    def _join(self) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "soak",
                "auto.offset.reset": "latest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe([_TOPIC])
        return consumer

    def _make(self, name: str, partitions: int) -> None:
        for future in self._admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(60)


def main(given: dict[str, Any]) -> None:
    ends: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ends.append(number))
    soak = Soak(given["bootstrap"], given["rate"])
    try:
        soak.run(ends)
    except KafkaException as failed:
        raise SystemExit(f"the soak failed after {dict(soak.done)}: {failed}") from failed
    soak.close()
    print(", ".join(f"{count:,} {what}" for what, count in soak.done.items()))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
