"""Classic consumer groups and transactions through kafka-python."""

import uuid
from contextlib import ExitStack
from typing import Any

from kafka import OffsetAndMetadata, TopicPartition

from compat_tests.behaviours import covers
from compat_tests.kafka_python.clients import (
    admin,
    consumer,
    create,
    polled,
    producer,
    read,
    write,
)
from compat_tests.waiting import PATIENCE_S, wait_for

GROUP_SETTINGS = {
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 200,
    "enable_auto_commit": False,
}


def share(client: Any) -> set[int]:
    # A join that a short poll leaves unfinished starts over in the next one.
    client.poll(timeout_ms=1000)
    return {partition.partition for partition in client.assignment()}


def wait_for_split(members: list[Any], partitions: int) -> None:
    def is_split() -> bool:
        shares = [share(client) for client in members]
        return (
            set().union(*shares) == set(range(partitions))
            and sum(len(each) for each in shares) == partitions
            and all(shares)
        )

    wait_for("the partitions are shared", is_split)


@covers("subscribe", "commit", "commit-metadata")
def test_a_group_goes_on_from_its_commit(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"1", b"2", b"3"])
    partition = TopicPartition(topic, 0)
    with consumer(broker, group_id=group, **GROUP_SETTINGS) as client:
        client.subscribe([topic])
        assert [record.value for record in polled(client, 3)] == [b"1", b"2", b"3"]
        client.commit({partition: OffsetAndMetadata(2, "two are done", -1)})
        assert client.committed(partition, metadata=True).metadata == "two are done"
    with consumer(broker, group_id=group, **GROUP_SETTINGS) as client:
        client.subscribe([topic])
        assert [record.value for record in polled(client, 1)] == [b"3"]


@covers("rebalance-join", "rebalance-leave", "assignors")
def test_members_share_partitions_as_they_come_and_go(broker: str, topic: str, group: str) -> None:
    create(broker, topic, partitions=4)
    with consumer(broker, group_id=group, **GROUP_SETTINGS) as first:
        first.subscribe([topic])
        wait_for_split([first], 4)
        with consumer(broker, group_id=group, **GROUP_SETTINGS) as second:
            second.subscribe([topic])
            wait_for_split([first, second], 4)
        wait_for_split([first], 4)


@covers("pattern")
def test_a_pattern_takes_up_topics_that_appear(broker: str, topic: str, group: str) -> None:
    create(broker, f"{topic}-1")
    # A pattern asks for all topics of a server that has those of all tests: not so often that
    # reading the answers leaves no time to join.
    settings = {**GROUP_SETTINGS, "metadata_max_age_ms": 1000}
    with consumer(broker, group_id=group, **settings) as client:
        client.subscribe(pattern=f"^{topic}-.*")
        wait_for("the first", lambda: share(client) and len(client.assignment()) == 1)
        create(broker, f"{topic}-2")
        wait_for("the second", lambda: share(client) and len(client.assignment()) == 2)


@covers("list-groups", "describe-group", "delete-group", "list-group-offsets", "delete-offsets")
def test_the_life_of_a_group_as_the_admin_client_sees_it(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic, partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with admin(broker) as client:
        with ExitStack() as stack:
            only = stack.enter_context(consumer(broker, group_id=group, **GROUP_SETTINGS))
            only.subscribe([topic])
            wait_for_split([only], 2)
            only.commit({p: OffsetAndMetadata(1, "", -1) for p in (first, second)})
            found = client.describe_groups([group])[group]
            assert found["group_state"] == "Stable"
            assert len(found["members"]) == 1
            assert client.delete_groups([group]) == {group: "NonEmptyGroupError"}
        wait_for(
            "the group is empty",
            lambda: client.describe_groups([group])[group]["group_state"] == "Empty",
        )
        assert group in str(client.list_groups())
        offsets = client.list_group_offsets({group: None})[group]
        assert {p: each.offset for p, each in offsets.items()} == {first: 1, second: 1}
        client.delete_group_offsets(group, [first])
        left = client.list_group_offsets({group: None})[group]
        assert {p: each.offset for p, each in left.items() if each.offset >= 0} == {second: 1}
        assert client.delete_groups([group]) == {group: "OK"}
        assert client.delete_groups([group]) == {group: "GroupIdNotFoundError"}


@covers("txn-commit", "txn-abort", "txn-isolation")
def test_committed_transactions_show_and_aborted_ones_do_not(broker: str, topic: str) -> None:
    create(broker, topic)
    with producer(broker, transactional_id=f"txn-{uuid.uuid4().hex[:8]}") as client:
        client.init_transactions()
        for value, commits in [(b"1", True), (b"2", False), (b"3", True)]:
            client.begin_transaction()
            client.send(topic, value, partition=0).get(PATIENCE_S)
            if commits:
                client.commit_transaction()
            else:
                client.abort_transaction()
    got = read(broker, topic, 2, isolation_level="read_committed")
    assert [record.value for record in got] == [b"1", b"3"]
    assert [record.value for record in read(broker, topic, 3)] == [b"1", b"2", b"3"]


@covers("txn-offsets", "txn-exactly-once")
def test_offsets_are_committed_with_the_transaction(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"1", b"2"])
    with (
        consumer(broker, group_id=group, **GROUP_SETTINGS) as source,
        producer(broker, transactional_id=f"txn-{uuid.uuid4().hex[:8]}") as client,
    ):
        source.subscribe([topic])
        polled(source, 2)
        client.init_transactions()
        client.begin_transaction()
        client.send(f"{topic}-out", b"both").get(PATIENCE_S)
        partition = TopicPartition(topic, 0)
        offsets = {partition: OffsetAndMetadata(2, "", -1)}
        client.send_offsets_to_transaction(offsets, source.group_metadata())
        client.commit_transaction()
        wait_for("the marker is written", lambda: source.committed(partition) == 2)


@covers("txn-describe")
def test_transactions_are_listed_and_described(broker: str, topic: str) -> None:
    create(broker, topic)
    transactional_id = f"txn-{uuid.uuid4().hex[:8]}"
    with (
        producer(broker, transactional_id=transactional_id) as client,
        admin(broker) as manager,
    ):
        client.init_transactions()
        client.begin_transaction()
        client.send(topic, b"v", partition=0).get(PATIENCE_S)
        found = manager.describe_transactions([transactional_id])[transactional_id]
        assert found.state.name.upper() == "ONGOING"
        assert {(p.topic, p.partition) for p in found.topic_partitions} == {(topic, 0)}
        assert transactional_id in str(manager.list_transactions())
        client.commit_transaction()
