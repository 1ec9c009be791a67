"""librdkafka uses the sequence numbers of what it gave up again: nothing may be lost by that.

Against kafkapy alone: Apache Kafka 4.3.1 takes the second record for the first one sent again, and
commits a transaction without it (docs/decisions/0010-a-commit-keeps-its-records.md).
"""

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.testing import Broker

_TOPIC = "orders"


def test_a_record_with_the_numbers_of_one_that_was_given_up_is_not_lost() -> None:
    """The answer for a record is lost, its transaction aborted before the client asks again; the
    next transaction is told so, instead of a commit without its record."""
    with Broker() as kafka:
        kafka.create_topic(_TOPIC)
        producer = _producer(kafka.bootstrap)
        producer.init_transactions(PATIENCE_S)
        _commit(producer, "before")
        _give_up(kafka, producer, "given up")
        try:
            _commit(producer, "next")
        except KafkaException as refused:
            error = refused.args[0]
            assert isinstance(error, KafkaError)
            assert error.txn_requires_abort()
            assert not error.fatal()
            producer.abort_transaction(PATIENCE_S)
            _commit(producer, "next")
        _commit(producer, "last")
        assert _committed(kafka.bootstrap) == ["before", "next", "last"]


def _producer(bootstrap: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": "one",
            "linger.ms": 0,
            # Longer than it takes to abort: until then the record waits in the queue.
            "retry.backoff.ms": 2_000,
            "retry.backoff.max.ms": 2_000,
            "log_level": 0,
        }
    )


def _give_up(kafka: Broker, producer: Producer, value: str) -> None:
    lost = kafka.faults.on("Produce", topic=_TOPIC).lose_answer().once()
    producer.begin_transaction()
    producer.produce(_TOPIC, value, partition=0)
    wait_for("the answer is lost", lambda: producer.poll(0.01) or lost.fired)
    wait_for("the transaction is aborted", lambda: _abort(producer), every_s=0)


def _abort(producer: Producer) -> bool:
    """Each call drops what has come back to the queue by then."""
    try:
        producer.abort_transaction(1.0)
    except KafkaException as late:
        error = late.args[0]
        assert isinstance(error, KafkaError)
        assert error.retriable(), error
        return False
    return True


def _commit(producer: Producer, value: str) -> None:
    producer.begin_transaction()
    producer.produce(_TOPIC, value, partition=0)
    producer.commit_transaction(PATIENCE_S)


def _committed(bootstrap: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(_TOPIC, 0, 0)])
    values: list[str] = []

    def at_end() -> bool:
        message = consumer.poll(0.1)
        if message is None:
            return False
        if message.error() is not None:
            return True
        values.append((message.value() or b"").decode())
        return False

    wait_for("all is read", at_end, every_s=0)
    consumer.close()
    return values
