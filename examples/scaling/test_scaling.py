"""Consumers that are processes come and go with their group's lag: 1, then 4, then 1."""

import sys
import threading
import time
from pathlib import Path

from autoscaler import Autoscaler
from confluent_kafka import Producer

from kafkapy.testing import Broker

CONSUMER = Path(__file__).parent / "consumer.py"
SETTINGS = {
    "http.listeners": "http://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
}
_SECONDS = 120.0


def test_consumers_come_with_the_lag_and_go_with_it() -> None:
    with Broker(SETTINGS) as kafka:
        kafka.create_topic("orders", partitions=4)
        work = [sys.executable, str(CONSUMER), kafka.bootstrap, "orders", "billing", "0.005"]
        scaler = Autoscaler(kafka.http, "billing", work, target=50, most=8, cooldown=1.0)
        counts: list[int] = []
        deadline, pause = time.monotonic() + _SECONDS, threading.Event()

        def until(count: int) -> None:
            """Looks until so many run, and notes whenever there are more or fewer."""
            while not counts or counts[-1] != count:
                assert time.monotonic() < deadline, counts
                now = scaler.step()
                if not counts or counts[-1] != now:
                    counts.append(now)
                pause.wait(0.1)

        try:
            until(1)
            producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5})
            for number in range(4000):
                producer.produce("orders", b"%d" % number, partition=number % 4)
            assert producer.flush(30) == 0
            until(4)  # 80 times fifty are not read, but there are four partitions
            until(1)
            while kafka.lag("billing"):
                until(1)
                assert time.monotonic() < deadline, kafka.lag("billing")
                pause.wait(0.1)
        finally:
            scaler.close()
    assert (counts[0], max(counts), counts[-1]) == (1, 4, 1)
