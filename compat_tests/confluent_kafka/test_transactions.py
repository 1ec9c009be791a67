"""Transactions through librdkafka, which takes the explicit way (AddPartitionsToTxn)."""

import uuid
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    consumer,
    create,
    error_of,
    polled,
    producer,
    read,
    write,
)
from compat_tests.waiting import PATIENCE_S

COMMITTED = {"isolation.level": "read_committed"}
UNCOMMITTED = {"isolation.level": "read_uncommitted"}


@pytest.fixture
def transactional_id() -> str:
    return f"txn-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def started(broker: str, transactional_id: str) -> Producer:
    return transactional(broker, transactional_id)


def transactional(broker: str, transactional_id: str, **more: Any) -> Producer:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    client = producer(broker, {"transactional.id": transactional_id, **settings})
    client.init_transactions(PATIENCE_S)
    return client


def values(broker: str, topic: str, count: int, **more: Any) -> list[bytes | None]:
    return [message.value() for message in read(broker, topic, count, **more)]


def nothing_more(client: Consumer) -> bool:
    return client.poll(0.4) is None


@covers("txn-commit")
def test_committed_records_of_several_partitions_become_visible(
    broker: str, topic: str, started: Producer
) -> None:
    create(broker, topic, partitions=3)
    started.begin_transaction()
    for i in range(30):
        started.produce(topic, b"%d" % i, partition=i % 3)
    with consumer(broker, COMMITTED) as client:
        client.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(3)])
        started.flush(PATIENCE_S)
        assert nothing_more(client)
        started.commit_transaction(PATIENCE_S)
        got = polled(client, 30)
    assert {int(message.value() or b"") for message in got} == set(range(30))


@covers("txn-abort", "txn-isolation")
def test_aborted_records_stay_invisible_at_read_committed(
    broker: str, topic: str, started: Producer
) -> None:
    create(broker, topic)
    for value, commits in [(b"1", True), (b"2", False), (b"3", True), (b"4", False), (b"5", True)]:
        started.begin_transaction()
        started.produce(topic, value, partition=0)
        started.flush(PATIENCE_S)
        if commits:
            started.commit_transaction(PATIENCE_S)
        else:
            started.abort_transaction(PATIENCE_S)
    assert values(broker, topic, 3, settings=COMMITTED) == [b"1", b"3", b"5"]
    assert values(broker, topic, 5, settings=UNCOMMITTED) == [b"1", b"2", b"3", b"4", b"5"]


@covers("txn-isolation")
def test_an_open_transaction_holds_back_what_comes_after_it(
    broker: str, topic: str, started: Producer
) -> None:
    create(broker, topic)
    started.begin_transaction()
    started.produce(topic, b"open", partition=0)
    started.flush(PATIENCE_S)
    write(broker, topic, [b"plain"])
    assert values(broker, topic, 2, settings=UNCOMMITTED) == [b"open", b"plain"]
    with consumer(broker, COMMITTED) as client:
        client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert nothing_more(client)
        started.commit_transaction(PATIENCE_S)
        assert [m.value() for m in polled(client, 2)] == [b"open", b"plain"]


@covers("txn-codecs")
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_transactions_commit_and_abort(
    broker: str, topic: str, transactional_id: str, codec: str
) -> None:
    create(broker, topic)
    client = transactional(broker, transactional_id, compression_type=codec, linger_ms=20)
    for name, commits in [(b"keep", True), (b"drop", False), (b"keep", True)]:
        client.begin_transaction()
        for i in range(50):
            client.produce(topic, name + b" this please %d" % i, partition=0)
        client.flush(PATIENCE_S)
        if commits:
            client.commit_transaction(PATIENCE_S)
        else:
            client.abort_transaction(PATIENCE_S)
    got = values(broker, topic, 100, settings=COMMITTED)
    assert {(value or b"")[:4] for value in got} == {b"keep"}


@covers("txn-fencing")
def test_a_second_producer_fences_the_first_and_aborts_its_transaction(
    broker: str, topic: str, transactional_id: str, started: Producer
) -> None:
    create(broker, topic)
    started.begin_transaction()
    started.produce(topic, b"zombie", partition=0)
    started.flush(PATIENCE_S)
    second = transactional(broker, transactional_id)
    second.begin_transaction()
    second.produce(topic, b"living", partition=0)
    second.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException) as failure:
        started.commit_transaction(PATIENCE_S)
    error = error_of(failure.value)
    assert error.fatal()
    assert error.code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED}
    assert values(broker, topic, 1, settings=COMMITTED) == [b"living"]


@covers("txn-offsets", "txn-exactly-once")
@pytest.mark.parametrize("commits", [True, False])
def test_offsets_follow_the_fate_of_their_transaction(
    broker: str, topic: str, group: str, started: Producer, commits: bool
) -> None:
    create(broker, topic)
    create(broker, f"{topic}-out")
    write(broker, topic, [b"1", b"2", b"3"])
    settings = {"group.id": group, "auto.offset.reset": "earliest", **COMMITTED}
    with consumer(broker, settings) as client:
        client.subscribe([topic])
        got = polled(client, 3)
        started.begin_transaction()
        for message in got:
            started.produce(f"{topic}-out", message.value(), partition=0)
        positions = client.position(client.assignment())
        metadata = client.consumer_group_metadata()
        started.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
        if commits:
            started.commit_transaction(PATIENCE_S)
        else:
            started.abort_transaction(PATIENCE_S)
        partition = TopicPartition(topic, 0)
        (found,) = client.committed([partition], timeout=PATIENCE_S)
    if commits:
        assert found.offset == 3
        assert values(broker, f"{topic}-out", 3, settings=COMMITTED) == [b"1", b"2", b"3"]
    else:
        assert found.offset < 0


@covers("txn-exactly-once")
def test_a_copy_that_crashes_in_the_middle_copies_each_record_once(
    broker: str, topic: str, group: str, transactional_id: str
) -> None:
    """Copy in transactions of ten; leave one unfinished, start again, compare."""
    create(broker, topic)
    create(broker, f"{topic}-out")
    write(broker, topic, [b"%d" % i for i in range(50)])
    settings = {"group.id": group, "auto.offset.reset": "earliest", **COMMITTED}

    def copy(batches: int, *, crash_after: int | None = None) -> None:
        client = transactional(broker, transactional_id)
        with consumer(broker, settings) as source:
            source.subscribe([topic])
            for batch in range(batches):
                client.begin_transaction()
                for message in polled(source, 10):
                    client.produce(f"{topic}-out", message.value(), partition=0)
                positions = source.position(source.assignment())
                metadata = source.consumer_group_metadata()
                client.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
                if batch == crash_after:
                    client.flush(PATIENCE_S)
                    return
                client.commit_transaction(PATIENCE_S)

    copy(5, crash_after=2)
    copy(3)
    got = values(broker, f"{topic}-out", 50, settings=COMMITTED)
    assert got == [b"%d" % i for i in range(50)]


@covers("txn-timeout")
def test_a_transaction_that_outlives_its_timeout_is_aborted(
    broker: str, topic: str, transactional_id: str
) -> None:
    create(broker, topic)
    client = transactional(
        broker, transactional_id, transaction_timeout_ms=1000, delivery_timeout_ms=900
    )
    client.begin_transaction()
    client.produce(topic, b"too slow", partition=0)
    client.flush(PATIENCE_S)
    write(broker, topic, [b"plain"])
    assert values(broker, topic, 1, settings=COMMITTED) == [b"plain"]
    with pytest.raises(KafkaException) as failure:
        client.commit_transaction(PATIENCE_S)
    assert error_of(failure.value).fatal()


@covers("txn-bad-timeout")
def test_a_timeout_over_the_brokers_maximum_is_refused(broker: str, transactional_id: str) -> None:
    with pytest.raises(KafkaException) as failure:
        transactional(broker, transactional_id, transaction_timeout_ms=600_000)
    assert error_of(failure.value).code() == KafkaError.INVALID_TRANSACTION_TIMEOUT


@covers("txn-abort", "idempotence")
def test_an_empty_transaction_commits_and_aborts(started: Producer) -> None:
    started.begin_transaction()
    started.commit_transaction(PATIENCE_S)
    started.begin_transaction()
    started.abort_transaction(PATIENCE_S)


@covers("txn-commit")
def test_many_transactions_follow_each_other(broker: str, topic: str, started: Producer) -> None:
    create(broker, topic)
    for i in range(20):
        started.begin_transaction()
        started.produce(topic, b"%d" % i, partition=0)
        started.commit_transaction(PATIENCE_S)
    assert values(broker, topic, 20, settings=COMMITTED) == [b"%d" % i for i in range(20)]
    messages = read(broker, topic, 20, settings=COMMITTED)
    assert [m.offset() for m in messages] == [2 * i for i in range(20)], "a marker after each"


@covers("txn-commit", "txn-abort", "txn-isolation", "many-partitions")
def test_transactions_over_fifty_partitions_are_read_whole_and_in_order(
    broker: str, topic: str, started: Producer
) -> None:
    """Six transactions of two records a partition, every third of them aborted."""
    create(broker, topic, partitions=50)
    for turn in range(6):
        started.begin_transaction()
        for i in range(100):
            started.produce(topic, b"%d" % turn, partition=i % 50)
        if turn % 3 == 2:
            started.flush(PATIENCE_S)
            started.abort_transaction(PATIENCE_S)
        else:
            started.commit_transaction(PATIENCE_S)
    for settings, expected in [
        (COMMITTED, b"00113344"),
        (UNCOMMITTED, b"001122334455"),
    ]:
        found = [b""] * 50
        with consumer(broker, settings) as client:
            client.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(50)])
            for message in polled(client, 50 * len(expected)):
                found[message.partition() or 0] += message.value() or b""
        assert found == [expected] * 50
