"""Bulk was there first, urgent goes first; all of them go."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import priorities
import pytest
import worker

from kafkapy.testing import Broker

# A member hears with its second heartbeat what it reads; the first is five seconds before.
QUICK = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.assignment.interval.ms": "0",
}


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(QUICK) as broker:
        priorities.set_up(broker.bootstrap)
        worker.set_up(broker.bootstrap, "workers")
        yield broker


def test_what_is_urgent_goes_first_and_what_is_not_goes_too(kafka: Broker) -> None:
    for level in ("bulk", "usual", "urgent"):
        priorities.send(kafka.bootstrap, level, [f"{level}{number}" for number in range(5)])
    with closing(priorities.work(kafka.bootstrap, "workers")) as jobs:
        came = list(islice(jobs, 15))
    assert len(set(came)) == 15
    levels = [level for level, _ in came]
    assert levels == ["urgent"] * 5 + ["usual"] * 5 + ["bulk"] * 5


def test_what_a_header_calls_urgent_goes_first(kafka: Broker) -> None:
    priorities.send(kafka.bootstrap, priorities.INBOX, [f"bulk{number}" for number in range(5)])
    urgent = [f"urgent{number}" for number in range(5)]
    priorities.send(kafka.bootstrap, priorities.INBOX, urgent, "urgent")
    kafka.wait_for("urgent", 5)
    kafka.wait_for("bulk", 5)
    with closing(priorities.work(kafka.bootstrap, "workers")) as jobs:
        came = [job for _, job in islice(jobs, 10)]
    assert came == [*urgent, *(f"bulk{number}" for number in range(5))]
