"""Each test is a function that asserts; the right application passes it, a wrong one fails."""

from collections.abc import Callable
from contextlib import closing, suppress

import careless_billing as careless
import pytest
from billing import GROUP, Billing
from confluent_kafka import KafkaException

from kafkapy.testing import Broker

Application = type[Billing]


def replicas_that_lag_are_waited_for(kafka: Broker, application: Application) -> None:
    """Retries."""
    kafka.produce("orders", '{"total": 10}')
    kafka.create_topic("invoices")
    kafka.faults.on("Produce", topic="invoices").error("NOT_ENOUGH_REPLICAS").times(3)
    with closing(application(kafka.bootstrap)) as billing:
        billing.bill(1)
    assert len(kafka.records("invoices")) == 1


def a_lost_answer_does_not_bill_twice(kafka: Broker, application: Application) -> None:
    """Idempotence."""
    kafka.produce("orders", '{"total": 10}')
    kafka.create_topic("invoices")
    kafka.faults.on("Produce", topic="invoices").lose_answer().once()
    with closing(application(kafka.bootstrap)) as billing:
        billing.bill(1)
    assert [one.value for one in kafka.records("invoices")] == [b'{"due": 10}']


def an_order_whose_invoice_is_refused_is_not_lost(kafka: Broker, application: Application) -> None:
    kafka.produce("orders", '{"total": 10}')
    kafka.create_topic("invoices")
    kafka.faults.on("Produce", topic="invoices").error("TOPIC_AUTHORIZATION_FAILED")
    with closing(application(kafka.bootstrap)) as billing, suppress(KafkaException):
        billing.bill(1)
    assert kafka.lag(GROUP, "orders") == 1


def an_order_that_cannot_be_read_does_not_stop_the_others(
    kafka: Broker, application: Application
) -> None:
    """Poison messages."""
    kafka.produce("orders", "not an order", key="poison")
    kafka.produce("orders", '{"total": 10}')
    with closing(application(kafka.bootstrap)) as billing:
        billing.bill(2)
    assert [one.key for one in kafka.records("orders.bad")] == [b"poison"]
    assert len(kafka.records("invoices")) == 1
    assert kafka.lag(GROUP) == 0


def a_second_member_repeats_nothing(kafka: Broker, application: Application) -> None:
    """Rebalances."""
    kafka.create_topic("orders", partitions=2)
    for number in range(6):
        kafka.produce("orders", '{"total": 10}', key=str(number), partition=number % 2)
    with closing(application(kafka.bootstrap, "first")) as first:
        first.bill(6)
        with closing(application(kafka.bootstrap, "second")) as second:
            while len(kafka.groups()[0].members) < 2 or kafka.groups()[0].state != "Stable":
                first.step(0.05)
                second.step(0.05)
            for _ in range(20):
                first.step(0.02)
                second.step(0.02)
    billed = [one.key for one in kafka.records("invoices")]
    assert sorted(billed) == [b"0", b"1", b"2", b"3", b"4", b"5"]


SCENARIOS = {
    replicas_that_lag_are_waited_for: careless.GivesUp,
    a_lost_answer_does_not_bill_twice: careless.WritesTwice,
    an_order_whose_invoice_is_refused_is_not_lost: careless.CommitsFirst,
    an_order_that_cannot_be_read_does_not_stop_the_others: careless.StopsAtPoison,
    a_second_member_repeats_nothing: careless.ForgetsToCommit,
}
Scenario = Callable[[Broker, Application], None]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(kafka: Broker, scenario: Scenario) -> None:
    scenario(kafka, Billing)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(kafka: Broker, scenario: Scenario) -> None:
    with pytest.raises((AssertionError, KafkaException, ValueError)):
        scenario(kafka, SCENARIOS[scenario])
