"""Each test is a function that asserts; the right application passes it, a wrong one fails."""

from collections.abc import Callable
from contextlib import closing

import careless_statements as careless
import pytest
from confluent_kafka import KafkaError, KafkaException
from statements import TOPIC, Statements

from kafkapy.testing import SecuredBroker

Application = type[Statements]


def sent_and_refused(kafka: SecuredBroker, application: Application) -> KafkaError:
    """Why it was not written."""
    login = kafka.login("clerk")
    with closing(application(login)) as statements, pytest.raises(KafkaException) as refused:
        statements.send("4711", "all is well")
    found = refused.value.args[0]
    assert isinstance(found, KafkaError)
    return found


def somebody_who_may_not_write_is_told(kafka: SecuredBroker, application: Application) -> None:
    kafka.create_topic(TOPIC)
    kafka.users.add("clerk")
    refused = sent_and_refused(kafka, application)
    assert refused.name() == "TOPIC_AUTHORIZATION_FAILED"
    kafka.acls.allow("clerk", "write", topic=TOPIC)
    with closing(application(kafka.login("clerk"))) as statements:
        statements.send("4711", "all is well")
    assert len(kafka.records(TOPIC)) == 1


def a_password_that_was_changed_is_the_reason_given(
    kafka: SecuredBroker, application: Application
) -> None:
    kafka.users.add("clerk")
    kafka.acls.allow("clerk", "write", topic=TOPIC)
    login = kafka.login("clerk")
    kafka.users.add("clerk", "another")
    with closing(application(login)) as statements, pytest.raises(KafkaException) as refused:
        statements.send("4711", "all is well")
    assert refused.value.args[0].code() == KafkaError._AUTHENTICATION


def a_server_that_is_not_ours_gets_nothing(kafka: SecuredBroker, application: Application) -> None:
    kafka.create_topic(TOPIC)
    kafka.users.add("clerk")
    kafka.acls.allow("clerk", "write", topic=TOPIC)
    kafka.certificates.show_of_a_stranger()
    sent_and_refused(kafka, application)
    assert kafka.records(TOPIC) == []


def a_server_of_another_name_gets_nothing(kafka: SecuredBroker, application: Application) -> None:
    kafka.create_topic(TOPIC)
    kafka.users.add("clerk")
    kafka.acls.allow("clerk", "write", topic=TOPIC)
    kafka.certificates.show_of_another_host()
    sent_and_refused(kafka, application)
    assert kafka.records(TOPIC) == []


SCENARIOS = {
    somebody_who_may_not_write_is_told: careless.DoesNotAsk,
    a_password_that_was_changed_is_the_reason_given: careless.SaysNothingOfWhy,
    a_server_that_is_not_ours_gets_nothing: careless.BelievesAnybody,
    a_server_of_another_name_gets_nothing: careless.BelievesAnyHost,
}
Scenario = Callable[[SecuredBroker, Application], None]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(kafka_secured: SecuredBroker, scenario: Scenario) -> None:
    scenario(kafka_secured, Statements)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(
    kafka_secured: SecuredBroker, scenario: Scenario
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        scenario(kafka_secured, SCENARIOS[scenario])
