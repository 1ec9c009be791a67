"""Each scenario is a function that asserts; the right application passes, the wrong one fails."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from billing import GROUP, Billing
from careless_billing import CarelessBilling
from confluent_kafka import KafkaException

from kafkapy.testing import Broker

Application = type[Billing] | type[CarelessBilling]


def bill(kafka: Broker, application: Application, orders: int) -> None:
    running = application(kafka.bootstrap)
    try:
        running.bill(orders)
    finally:
        running.close()


def a_lost_answer_does_not_bill_twice(kafka: Broker, application: Application) -> None:
    kafka.produce("orders", '{"total": 10}')
    kafka.create_topic("invoices")
    kafka.faults.on("Produce", topic="invoices").lose_answer().once()
    bill(kafka, application, 1)
    assert [one.value for one in kafka.records("invoices")] == [b'{"due": 10}']


def an_order_that_cannot_be_read_does_not_stop_the_others(
    kafka: Broker, application: Application
) -> None:
    kafka.produce("orders", "not an order", key="poison")
    kafka.produce("orders", '{"total": 10}')
    bill(kafka, application, 2)
    assert [one.key for one in kafka.records("orders.bad")] == [b"poison"]
    assert len(kafka.records("invoices")) == 1
    assert kafka.lag(GROUP) == 0


def an_order_whose_invoice_is_refused_is_not_lost(kafka: Broker, application: Application) -> None:
    kafka.produce("orders", '{"total": 10}')
    kafka.create_topic("invoices")
    kafka.faults.on("Produce", topic="invoices").error("TOPIC_AUTHORIZATION_FAILED")
    with suppress(KafkaException):
        bill(kafka, application, 1)
    assert kafka.lag(GROUP, "orders") == 1


SCENARIOS = [
    a_lost_answer_does_not_bill_twice,
    an_order_that_cannot_be_read_does_not_stop_the_others,
    an_order_whose_invoice_is_refused_is_not_lost,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(
    kafka: Broker, scenario: Callable[[Broker, Application], None]
) -> None:
    scenario(kafka, Billing)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(
    kafka: Broker, scenario: Callable[[Broker, Application], None]
) -> None:
    with pytest.raises((AssertionError, ValueError)):
        scenario(kafka, CarelessBilling)
