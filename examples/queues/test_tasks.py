"""Tasks are done by whoever is free; one that raises is done again, one that is none is let go."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from tasks import Tasks
from worker import set_up

from kafkapy.testing import Broker

# A member hears with its second heartbeat what it reads; the first is five seconds before.
QUICK = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.assignment.interval.ms": "0",
}
DELIVERIES = 3


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(QUICK) as broker:
        broker.create_topic("tasks")
        set_up(broker.bootstrap, "tasks.workers", DELIVERIES)
        yield broker


def test_tasks_are_done_by_several_workers_and_again_if_they_fail(kafka: Broker) -> None:
    tasks = Tasks(kafka.bootstrap, "tasks")
    tried: Counter[str] = Counter()
    done: Counter[str] = Counter()

    @tasks.task
    def mail(to: str, *, subject: str) -> None:
        tried[to] += 1
        if to == "nobody" or (to == "shaky" and tried[to] < 2):
            raise ConnectionError(f"no mail to {to}")
        done[f"{to}: {subject}"] += 1

    kafka.produce("tasks", "no call")
    people = [f"person{number}" for number in range(20)]
    for to in ("nobody", "shaky", *people):
        mail.delay(to, subject="hello")  # type: ignore[attr-defined]
    wanted = {f"{to}: hello": 1 for to in ("shaky", *people)}
    stop = threading.Event()

    def is_over() -> bool:
        if done == wanted and tried["nobody"] == DELIVERIES:
            stop.set()
        return stop.is_set()

    workers = [threading.Thread(target=tasks.work, args=(is_over,)) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
    stop.set()
    assert done == wanted, "each once"
    assert tried["nobody"] == DELIVERIES, "and then it was given up"
    assert tried["shaky"] == 2
