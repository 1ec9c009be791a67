"""Several workers on one partition; jobs that fail now and then, and one that always does."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import AcknowledgeType, Message
from worker import Hopeless, Worker, set_up

from kafkapy.testing import Broker

DELIVERIES = 3
# A member hears with its second heartbeat what it reads; the first is five seconds before.
QUICK = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.assignment.interval.ms": "0",
}


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(QUICK) as broker:
        broker.create_topic("jobs")
        set_up(broker.bootstrap, "workers", DELIVERIES)
        yield broker


class Office:
    """What the workers do, and how often each job was tried."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def do(self, job: bytes) -> None:
        name = job.decode()
        self.tried[name] += 1
        if name == "hopeless":
            raise Hopeless
        if name == "poison" or (name.startswith("shaky") and self.tried[name] < 2):
            raise RuntimeError("not this time")
        self.done[name] += 1


def work_until(worker: Worker, is_done: Callable[[], bool]) -> None:
    for _ in range(200):
        if is_done():
            return
        worker.work(0.2)
    raise AssertionError("there was time enough")


class DiesAtWork(Worker):
    """Before it has done anything."""

    def judge(self, job: Message) -> AcknowledgeType:
        raise KeyboardInterrupt


def test_every_job_is_done_by_one_of_the_workers_and_poison_stops_nobody(kafka: Broker) -> None:
    office = Office()
    jobs = [*(f"job{number}" for number in range(30)), "shaky1", "poison", "shaky2", "hopeless"]
    for job in jobs:
        kafka.produce("jobs", job)
    workers = [Worker(kafka.bootstrap, "jobs", "workers", office.do) for _ in range(3)]
    wanted = dict.fromkeys((job for job in jobs if job not in ("poison", "hopeless")), 1)
    for _ in range(200):
        for worker in workers:
            worker.work(0.1)
        if office.done == wanted and office.tried["poison"] == DELIVERIES:
            break
    for worker in workers:
        worker.close()
    assert office.done == wanted, "each once"
    assert office.tried["poison"] == DELIVERIES, "and then it was given up"
    assert office.tried["hopeless"] == 1
    assert office.tried["shaky1"] == office.tried["shaky2"] == 2


def test_what_a_worker_left_behind_another_one_does(kafka: Broker) -> None:
    office = Office()
    for number in range(5):
        kafka.produce("jobs", f"job{number}")
    leaver = DiesAtWork(kafka.bootstrap, "jobs", "workers", office.do)
    with pytest.raises(KeyboardInterrupt):
        work_until(leaver, lambda: False)
    leaver.close()
    assert not office.done
    worker = Worker(kafka.bootstrap, "jobs", "workers", office.do)
    work_until(worker, lambda: len(office.done) == 5)
    worker.close()
    assert set(office.done.values()) == {1}
