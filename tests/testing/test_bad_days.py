"""Bad days beyond single requests: torn answers, expired members, lost coordinators, full disks."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from kafkapy.core.errors import Refused
from kafkapy.testing import Broker
from kafkapy.testing.node.thread import BrokerDied


def reader(kafka: Broker, protocol: str, client_id: str = "biller") -> Consumer:
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "billing",
        "client.id": client_id,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if protocol == "classic":
        settings["heartbeat.interval.ms"] = 100
    consumer = Consumer(settings)
    consumer.subscribe(["orders"])
    return consumer


def read_one(consumer: Consumer) -> bytes:
    message = consumer.poll(20)
    assert message is not None
    assert message.error() is None, message.error()
    value = message.value()
    assert isinstance(value, bytes)
    return value


def test_a_torn_answer_is_noticed_and_asked_for_again(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    fault = kafka.faults.on("Fetch").tear().once()
    consumer = reader(kafka, "classic")
    try:
        assert read_one(consumer) == b"1"
        assert fault.fired == 1
        assert any("tear()" in str(facts) for _, _, facts in kafka.events())
    finally:
        consumer.close()


def test_a_torn_answer_to_a_produce_is_retried_without_a_second_copy(kafka: Broker) -> None:
    kafka.create_topic("orders")
    kafka.faults.on("Produce").tear().once()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    producer.produce("orders", b"1")
    assert producer.flush(10) == 0
    assert len(kafka.records("orders")) == 1
    assert len(kafka.requests("produce")) == 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_expired_member_loses_its_commit_and_joins_again(kafka: Broker, protocol: str) -> None:
    kafka.produce("orders", "1")
    consumer = reader(kafka, protocol)
    try:
        assert read_one(consumer) == b"1"
        (member,) = kafka.groups()[0].members
        assert kafka.expire_member("billing") == member
        with pytest.raises(KafkaException) as refused:
            consumer.commit(asynchronous=False)
        assert refused.value.args[0].code() in (
            KafkaError.UNKNOWN_MEMBER_ID,
            KafkaError.ILLEGAL_GENERATION,
            KafkaError._ASSIGNMENT_LOST,
        )
        assert read_one(consumer) == b"1"  # it was never committed
        assert kafka.groups()[0].members[0].member_id
    finally:
        consumer.close()


def test_who_is_to_expire_must_be_clear(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    with pytest.raises(LookupError, match=r"there is no group 'biling'"):
        kafka.expire_member("biling")
    consumer = reader(kafka, "classic")
    try:
        assert read_one(consumer) == b"1"
        with pytest.raises(LookupError, match=r"0 members .* of biller"):
            kafka.expire_member("billing", client_id="nobody")
    finally:
        consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_lost_coordinator_refuses_until_another_is_elected(kafka: Broker, protocol: str) -> None:
    kafka.produce("orders", "1")
    consumer = reader(kafka, protocol)
    try:
        assert read_one(consumer) == b"1"
        with kafka.lose_coordinator(group="billing"), pytest.raises(Refused, match="NOT_COORD"):
            kafka.committed("billing")
        consumer.commit(asynchronous=False)
        assert kafka.lag("billing") == 0
    finally:
        consumer.close()


def test_a_transaction_outlives_its_coordinator(kafka: Broker) -> None:
    kafka.create_topic("orders")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", b"1")
    producer.flush(10)
    kafka.lose_coordinator(transactional_id="shop").elect()
    producer.commit_transaction(10)
    assert [one.transaction for one in kafka.records("orders")] == ["committed"]


def test_only_what_is_coordinated_can_lose_its_coordinator(kafka: Broker) -> None:
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        kafka.lose_coordinator(group="billing")
    with pytest.raises(ValueError, match="either a group or a transactional_id"):
        kafka.lose_coordinator()


def test_a_full_disk_halts_the_broker_and_loses_nothing_it_acknowledged(kafka: Broker) -> None:
    kafka.produce("orders", "kept")
    kafka.disk.fill()
    reports: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "retry.backoff.ms": 10})
    producer.produce("orders", b"late", on_delivery=lambda error, _: reports.append(error))
    producer.poll(0)
    kafka.wait_until_halted()
    assert not kafka.is_running
    with pytest.raises(BrokerDied):
        kafka.records("orders")
    kafka.disk.free()
    kafka.start()
    assert producer.flush(20) == 0
    assert reports == [None]
    assert [one.value for one in kafka.records("orders")] == [b"kept", b"late"]


def test_a_broker_whose_disk_was_full_can_be_closed() -> None:
    with Broker() as kafka:
        kafka.disk.fill()
        with pytest.raises(BrokerDied):
            kafka.create_topic("orders")
        kafka.wait_until_halted()


@pytest.mark.kafka(on_disk=True)
def test_a_disk_of_the_machine_is_not_filled(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="only a broker in memory"):
        kafka.disk.fill()


def test_the_group_whose_lag_is_asked_for_must_exist(kafka: Broker) -> None:
    kafka.produce("orders", "1")
    with pytest.raises(LookupError, match=r"there is no group 'billing'"):
        kafka.lag("billing")
    assert kafka.lag("billing", "orders") == 1


def test_a_misspelled_api_is_said_by_requests_too(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="unknown API 'Prodcue'; did you mean Produce"):
        kafka.requests("Prodcue")


def test_a_setting_nobody_knows_is_said_at_the_start() -> None:
    with pytest.raises(ValueError, match=r"no broker setting called num\.partition$"):
        Broker({"num.partition": "3"}).start()
