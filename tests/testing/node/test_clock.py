"""Time that the test moves."""

import time

import pytest
from confluent_kafka import Consumer

from kafkapy.testing import Broker


def test_records_past_their_retention_are_removed(kafka: Broker) -> None:
    """The broker looks every five minutes, and deletes only what is on the disk by then."""
    kafka.create_topic("orders", config={"retention.ms": "60000"})
    kafka.produce("orders", "1")
    deadline = time.monotonic() + 10
    while kafka.records("orders"):
        assert time.monotonic() < deadline, "the records are still there"
        kafka.clock.advance(minutes=6)
    kafka.restart()
    now_ms = time.time_ns() // 1_000_000 + kafka.clock.ahead_ms
    kafka.produce("orders", "2", timestamp=now_ms)
    assert [one.offset for one in kafka.records("orders")] == [1]


def test_a_member_that_is_silent_too_long_is_expired(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            # A heartbeat must not come before the test has looked.
            "session.timeout.ms": 60000,
            "heartbeat.interval.ms": 50000,
        }
    )
    consumer.subscribe(["orders"])
    try:
        assert consumer.poll(10) is not None
        assert len(kafka.groups()[0].members) == 1
        kafka.clock.advance(minutes=2)
        assert kafka.groups()[0].members == ()
    finally:
        consumer.close()


def test_time_goes_forward_only(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="forward only"):
        kafka.clock.advance(seconds=-1)
