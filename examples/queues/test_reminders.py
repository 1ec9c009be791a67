"""Whoever asks first is not reminded first, and what was cancelled never comes."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

import pytest
from reminders import Reminders, due, set_up

from kafkapy.testing import Broker


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        set_up(broker.bootstrap)
        yield broker


def test_reminders_come_when_they_are_due_and_cancelled_ones_never(kafka: Broker) -> None:
    reminders = Reminders(kafka.bootstrap)
    begin = datetime.now()
    wanted = {"third": 900, "first": 100, "second": 500}
    for what, wait in wanted.items():
        reminders.remind("ann", what, begin + timedelta(milliseconds=wait))
    reminders.remind("bob", "never", begin + timedelta(milliseconds=700))
    reminders.forget("bob")
    reminders.remind("bob", "after all", begin + timedelta(milliseconds=1000))
    reminders.close()
    found = []
    for who, what, when in islice(due(kafka.bootstrap), 4):
        assert time.time() * 1000 >= when, "not before it is due"
        found.append((who, what, when))
    assert [(who, what) for who, what, _ in found] == [
        ("ann", "first"),
        ("ann", "second"),
        ("ann", "third"),
        ("bob", "after all"),
    ]
    begin_ms = int(begin.timestamp() * 1000)
    assert [when - begin_ms for _, _, when in found] == [100, 500, 900, 1000]
