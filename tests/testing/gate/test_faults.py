"""Faults, as confluent-kafka meets them; and what is said when they are asked for wrongly."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import (
    Consumer,
    ElectionType,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource

from kafkapy.testing import Broker, Fault, FaultNeverFired, Request
from kafkapy.testing.errors import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    NOT_LEADER_OR_FOLLOWER,
    TOPIC_AUTHORIZATION_FAILED,
)
from kafkapy.testing.gate.faults import Faults


def produce(kafka: Broker, topic: str, value: bytes, **settings: object) -> list[KafkaError | None]:
    """One record; returns what its delivery report said."""
    reports: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "retry.backoff.ms": 1, **settings})
    producer.produce(topic, value, on_delivery=lambda error, _: reports.append(error))
    producer.flush(10)
    return reports


def test_a_refused_produce_is_retried_and_written_once(kafka: Broker) -> None:
    kafka.create_topic("orders")
    fault = kafka.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).times(2)
    assert produce(kafka, "orders", b"1") == [None]
    assert len(kafka.records("orders")) == 1
    assert fault.fired == 2
    assert [one.fault is not None for one in kafka.requests("Produce")] == [True, True, False]


def test_an_error_that_cannot_be_retried_reaches_the_application(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").error(TOPIC_AUTHORIZATION_FAILED)
    (report,) = produce(kafka, "orders", b"1")
    assert report is not None
    assert report.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert kafka.records("orders") == []


@pytest.mark.parametrize(("idempotent", "written"), [(False, 2), (True, 1)])
def test_a_lost_answer_makes_a_plain_producer_write_twice(
    kafka: Broker, idempotent: bool, written: int
) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").lose_answer().once()
    assert produce(kafka, "orders", b"1", **{"enable.idempotence": idempotent}) == [None]
    assert len(kafka.records("orders")) == written


def test_a_disconnect_does_nothing_and_the_client_comes_back(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").disconnect().on_call(1)
    assert produce(kafka, "orders", b"1") == [None]
    assert len(kafka.records("orders")) == 1


def test_a_dropped_request_times_out(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").drop()
    (report,) = produce(kafka, "orders", b"1", **{"message.timeout.ms": 200})
    assert report is not None
    assert report.code() == KafkaError._MSG_TIMED_OUT
    assert kafka.records("orders") == []


def test_a_delay_holds_the_answer_back(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").delay(60).once()
    began = time.monotonic()
    assert produce(kafka, "orders", b"1") == [None]
    assert time.monotonic() - began >= 0.06


def test_a_held_request_waits_for_its_release(kafka: Broker) -> None:
    kafka.create_topic("orders")
    fault = kafka.faults.on("Produce").hold()
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("orders", b"1")
    producer.poll(0)
    fault.wait_until_fired()
    assert kafka.records("orders") == []
    fault.release()
    assert producer.flush(10) == 0
    assert len(kafka.records("orders")) == 1


def test_a_fetch_is_refused_for_its_topic_and_then_goes_on(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    kafka.faults.on("Fetch", topic="orders").error(NOT_LEADER_OR_FOLLOWER).times(2)
    consumer = reader(kafka, "billing")
    try:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        assert message.value() == b"1"
    finally:
        consumer.close()


def test_a_group_that_may_not_be_joined_says_so(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    kafka.faults.on("JoinGroup", group="billing").error(GROUP_AUTHORIZATION_FAILED)
    consumer = reader(kafka, "billing")
    try:
        message = consumer.poll(10)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    finally:
        consumer.close()


def test_metadata_may_deny_one_topic(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.create_topic("other")
    kafka.faults.on("Metadata", topic="orders").error(TOPIC_AUTHORIZATION_FAILED)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    error = producer.list_topics("orders", timeout=10).topics["orders"].error
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert producer.list_topics("other", timeout=10).topics["other"].error is None


def test_a_commit_is_refused(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    kafka.faults.on("OffsetCommit", group="billing").error("GROUP_AUTHORIZATION_FAILED").once()
    consumer = reader(kafka, "billing")
    try:
        message = consumer.poll(10)
        assert message is not None
        with pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"):
            consumer.commit(message=message, asynchronous=False)
        assert kafka.lag("billing", "orders") == 1
        consumer.commit(message=message, asynchronous=False)
        assert kafka.lag("billing") == 0
    finally:
        consumer.close()


def test_a_fault_that_never_happened_is_an_error_at_the_end() -> None:
    with (
        pytest.raises(FaultNeverFired, match=r"faults.on\('Produce', topic='x'\).drop\(\): no req"),
        Broker() as kafka,
    ):
        kafka.faults.on("Produce", topic="x").drop()


def test_the_tests_own_failure_is_not_hidden_by_an_unused_fault() -> None:
    kafka = Broker()

    def fail() -> None:
        with kafka:
            kafka.faults.on("Produce").drop()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_what_is_misspelled_is_said_at_once() -> None:
    faults = Faults()
    with pytest.raises(ValueError, match="unknown API 'Prodcue'; did you mean Produce"):
        faults.on("Prodcue")
    with pytest.raises(ValueError, match="unknown error 'NOT_LEADER'; did you mean NOT_LEADER_OR"):
        faults.on("Produce").error("NOT_LEADER")
    with pytest.raises(ValueError, match="already says what to do"):
        faults.on("Produce").drop().disconnect()
    faults.clear()
    faults.on("Produce").once()
    with pytest.raises(FaultNeverFired, match="says nothing to do"):
        faults.check()


def reader(kafka: Broker, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    return consumer


def asked(topic: str) -> Request:
    return Request("Produce", 12, "shop", "test", (topic,), (), None, 0, 0, None)


def hits(fault_of: Callable[[Faults], Fault], requests: int) -> list[bool]:
    faults = Faults()
    fault_of(faults)
    return [faults.find(asked("orders")) is not None for _ in range(requests)]


def test_when_a_fault_happens_is_counted_in_requests_that_match() -> None:
    assert hits(lambda on: on.on("Produce").drop().on_call(2), 3) == [False, True, False]
    assert hits(lambda on: on.on("Produce").drop().times(2), 3) == [True, True, False]
    assert hits(lambda on: on.on("Produce", topic="other").drop(), 2) == [False, False]
    assert hits(lambda on: on.on("Fetch").drop(), 2) == [False, False]


def test_chance_is_the_same_for_the_same_seed() -> None:
    def chance(seed: int) -> list[bool]:
        return hits(lambda on: on.on("Produce").drop().with_probability(0.5, seed=seed), 64)

    assert chance(1) == chance(1) != chance(2)
    assert 16 < sum(chance(1)) < 48
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="expected more than 0, at most 1"):
            Faults().on("Produce").with_probability(wrong, seed=1)


def test_of_two_faults_the_first_that_is_due_happens() -> None:
    faults = Faults()
    first = faults.on("Produce").drop().once()
    second = faults.on("Produce").disconnect()
    assert faults.find(asked("orders")) is first
    assert faults.find(asked("orders")) is second


def test_who_asks_for_a_coordinator_says_whose(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    kafka.faults.on("FindCoordinator", group="shop").error(COORDINATOR_NOT_AVAILABLE).once()
    consumer = reader(kafka, "shop")
    assert consumer.poll(10) is not None
    consumer.close()
    Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "till"}).init_transactions(
        10
    )
    asked = [(one.groups, one.transactional_id) for one in kafka.requests("FindCoordinator")]
    assert set(asked) == {(("shop",), None), ((), "till")}


def test_what_is_asked_of_a_topics_settings_and_leaders_names_it(kafka: Broker) -> None:
    """Where a request has its topics is its own affair."""
    kafka.create_topic("orders")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topic = ConfigResource("TOPIC", "orders")
    admin.describe_configs([topic])[topic].result(10)
    admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("orders", 0)]).result(10)
    for api in ("DescribeConfigs", "ElectLeaders"):
        assert [one.topics for one in kafka.requests(api)] == [("orders",)]
