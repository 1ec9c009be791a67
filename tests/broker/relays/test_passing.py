"""A pass over a log that does not show, or does not have, what was scanned of it."""

from itertools import islice
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.relays import relay as relays
from kafkapy.broker.relays.reading import Stretch
from kafkapy.broker.relays.relay import Relay
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.batches.batch import Codec
from kafkapy.relays.progress import start_at
from kafkapy.relays.rule import Rule
from kafkapy.relays.schedule import Schedule
from tests.relays.records import due_at


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of ten records, as far as they are committed; all wait."""
    log = SimpleNamespace(log_start_offset=0, last_stable_offset=10, log_end_offset=10)

    def read(_: object, offset: int, *__: object) -> Stretch:
        end = log.last_stable_offset
        found = [due_at(at, 1_000_000 + at) for at in range(offset, min(offset + 4, end))]
        return Stretch(iter(found), min(offset + 4, end), Codec.NONE)

    monkeypatch.setattr(relays, "read_committed", read)
    return log


@pytest.fixture
def relay(log: Any) -> Relay:
    """It has scanned eight."""
    node: Any = SimpleNamespace(calls=None, clock=None, create_topic=None, most_waiting=lambda: 100)
    place = TopicPartition("source", 0)
    partition: Any = SimpleNamespace(topic_partition=place, topic_id=UUID(int=1), log=log)
    made = Relay(node, partition, Rule("target"))
    made._schedule = Schedule(Rule("target"), start_at(0).scan_to(8), 100)
    return made


def passed(relay: Relay) -> bool:
    steps = list(islice(relay._pass_over(), 100))
    assert len(steps) < 100, "it never ends"
    return relay._schedule.next_due() is not None and not relay._schedule.is_passing


def test_who_has_just_begun_to_lead_waits_until_it_knows_what_is_committed(
    relay: Relay, log: Any
) -> None:
    """Its high watermark comes with its followers' next fetches; nothing is missed till then."""
    log.last_stable_offset = 3
    assert not passed(relay)
    log.last_stable_offset = 9
    assert passed(relay)
    assert len(relay._schedule) == 8


def test_a_log_that_ends_before_what_was_scanned_has_no_more_that_waits(
    relay: Relay, log: Any
) -> None:
    """After an unclean election."""
    log.last_stable_offset = log.log_end_offset = 5
    assert passed(relay)
    assert len(relay._schedule) == 5
