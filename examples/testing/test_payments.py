"""Exactly once: whatever happens to whom, an invoice is paid, and paid once."""

from collections.abc import Callable
from contextlib import closing, suppress

import pytest
from careless_payments import PaysThenCommits, WithoutTransactions
from confluent_kafka import KafkaException
from payments import GROUP, Payments

from kafkapy.testing import Broker

Application = type[Payments]


def paid(kafka: Broker) -> list[bytes | None]:
    """What a reader with isolation.level=read_committed sees."""
    return [one.value for one in kafka.records("payments") if one.is_visible]


def a_member_that_slept_too_long_pays_nothing(kafka: Broker, application: Application) -> None:
    kafka.produce("invoices", "10")
    kafka.create_topic("payments")
    with closing(application(kafka.bootstrap, "sleepy")) as sleepy:
        invoice = sleepy.next_invoice()
        sleepy.pay(invoice)
        kafka.expire_member(GROUP, client_id="sleepy")
        with closing(application(kafka.bootstrap, "awake")) as awake:
            taken_over = awake.next_invoice()
            awake.pay(taken_over)
            awake.finish(taken_over)
            with suppress(KafkaException):
                sleepy.finish(invoice)
    assert paid(kafka) == [b"10"]


def a_crash_before_the_offset_is_written_pays_once(kafka: Broker, application: Application) -> None:
    kafka.produce("invoices", "10")
    kafka.create_topic("payments")
    for api in ("OffsetCommit", "TxnOffsetCommit"):
        kafka.faults.on(api).error("GROUP_AUTHORIZATION_FAILED").once()
    with closing(application(kafka.bootstrap, "first")) as first, suppress(KafkaException):
        invoice = first.next_invoice()
        first.pay(invoice)
        first.finish(invoice)
    kafka.faults.clear()
    with closing(application(kafka.bootstrap, "second")) as second:
        invoice = second.next_invoice()
        second.pay(invoice)
        second.finish(invoice)
    assert paid(kafka) == [b"10"]
    assert kafka.lag(GROUP) == 0


SCENARIOS = [
    a_member_that_slept_too_long_pays_nothing,
    a_crash_before_the_offset_is_written_pays_once,
]
Scenario = Callable[[Broker, Application], None]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(kafka: Broker, scenario: Scenario) -> None:
    scenario(kafka, Payments)


@pytest.mark.parametrize("application", [PaysThenCommits, WithoutTransactions])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_applications_are_found_out(
    kafka: Broker, scenario: Scenario, application: Application
) -> None:
    with pytest.raises(AssertionError):
        scenario(kafka, application)
