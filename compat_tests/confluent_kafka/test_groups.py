"""Consumer groups through librdkafka: the classic protocol, and KIP-848's."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    admin,
    create,
    delivered,
    error_of,
    polled,
    producer,
    write,
)
from compat_tests.waiting import PATIENCE_S, wait_for

_ASK_S = 5.0

CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
CONSUMER = {"group.protocol": "consumer"}
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@contextmanager
def member(broker: str, group: str, protocol: str = "classic", **more: Any) -> Iterator[Consumer]:
    """A member of `group`: reads from the beginning, commits only when told."""
    client = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "log_level": 2,
            **(CLASSIC if protocol == "classic" else CONSUMER),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )
    try:
        yield client
    finally:
        client.close()


def numbers(client: Consumer) -> set[int]:
    """The partitions that a member has now."""
    client.poll(0.02)
    return {partition.partition for partition in client.assignment()}


def wait_for_split(members: list[Consumer], partitions: int) -> None:
    """Until the members share all partitions, each of them some, evenly."""
    wanted = set(range(partitions))

    def is_split() -> bool:
        shares = [numbers(client) for client in members]
        together = set().union(*shares)
        largest = max(len(share) for share in shares)
        smallest = min(len(share) for share in shares)
        return (
            together == wanted
            and sum(len(share) for share in shares) == partitions
            and largest - smallest <= 1
        )

    wait_for(f"{partitions} partitions shared by {len(members)} members", is_split)


def committed(broker: str, group: str, topic: str, partition: int = 0) -> TopicPartition:
    """The offset that `group` has for a partition, asked from outside."""
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])

    def answered() -> TopicPartition | None:
        """By a new client: librdkafka's may not find the way to a coordinator that moved."""
        client = AdminClient({"bootstrap.servers": broker, "log_level": 2})
        (answer,) = client.list_consumer_group_offsets([asked]).values()
        try:
            found: TopicPartition = answer.result(_ASK_S).topic_partitions[0]
        except TimeoutError:
            return None
        return found

    return wait_for(f"{group} tells what it committed", answered)


def described(broker: str, group: str) -> Any:
    (answer,) = admin(broker).describe_consumer_groups([group]).values()
    return answer.result(PATIENCE_S)


@covers("subscribe", "consumer-protocol")
@BOTH
def test_a_group_reads_a_topic_and_goes_on_from_its_commit(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=3)
    records = [{"topic": topic, "value": b"%d" % i, "partition": i % 3} for i in range(300)]
    delivered(producer(broker), records)
    with member(broker, group, protocol) as client:
        client.subscribe([topic])
        assert {int(m.value() or b"") for m in polled(client, 300)} == set(range(300))
        client.commit(asynchronous=False)
    write(broker, topic, [b"after"])
    with member(broker, group, protocol) as client:
        client.subscribe([topic])
        assert polled(client, 1)[0].value() == b"after"


@covers("commit", "commit-metadata", "simple-commits")
def test_a_commit_with_metadata_comes_back(broker: str, topic: str, group: str) -> None:
    create(broker, topic, partitions=2)
    with member(broker, group) as client:
        offsets = [TopicPartition(topic, 0, 7, "why it is 7"), TopicPartition(topic, 1, 3)]
        client.commit(offsets=offsets, asynchronous=False)
        found = client.committed([TopicPartition(topic, p) for p in (0, 1)], timeout=PATIENCE_S)
    assert [(each.offset, each.metadata or "") for each in found] == [(7, "why it is 7"), (3, "")]


@covers("commit-metadata")
def test_too_much_commit_metadata_is_refused(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    with member(broker, group) as client, pytest.raises(KafkaException) as failure:
        client.commit(offsets=[TopicPartition(topic, 0, 1, "x" * 5000)], asynchronous=False)
    assert error_of(failure.value).code() == KafkaError.OFFSET_METADATA_TOO_LARGE


@covers("offset-reset")
@BOTH
def test_without_a_commit_reset_decides(broker: str, topic: str, group: str, protocol: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"before"])
    with member(broker, f"{group}-latest", protocol, auto_offset_reset="latest") as client:
        client.subscribe([topic])
        partition = TopicPartition(topic, 0)
        wait_for("it is at the end", lambda: has_position(client, partition))
        write(broker, topic, [b"after"])
        assert polled(client, 1)[0].value() == b"after"
    with member(broker, f"{group}-error", protocol, auto_offset_reset="error") as client:
        client.subscribe([topic])
        message = client.poll(PATIENCE_S)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError._AUTO_OFFSET_RESET


def has_position(client: Consumer, partition: TopicPartition) -> bool:
    """librdkafka tells a watermark once it has fetched: then its reset is done. What poll tells
    before that is errors: of a broker that does not know the topic yet."""
    client.poll(0.05)
    try:
        _, high = client.get_watermark_offsets(partition, cached=True)
    except KafkaException:
        return False
    return bool(high > 0)


@covers("rebalance-join", "rebalance-leave", "consumer-rebalance")
@BOTH
def test_members_share_partitions_as_they_come_and_go(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=6)
    with member(broker, group, protocol) as first:
        first.subscribe([topic])
        wait_for_split([first], 6)
        with member(broker, group, protocol) as second:
            second.subscribe([topic])
            wait_for_split([first, second], 6)
        wait_for_split([first], 6)


@covers("assignors")
@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_classic_assignors_share_evenly(broker: str, topic: str, group: str, assignor: str) -> None:
    create(broker, topic, partitions=4)
    more = {"partition_assignment_strategy": assignor}
    with ExitStack() as stack:
        members = [stack.enter_context(member(broker, group, **more)) for _ in range(2)]
        for client in members:
            client.subscribe([topic])
        wait_for_split(members, 4)


@covers("consumer-assignors")
@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_brokers_assignors_share_evenly(
    broker: str, topic: str, group: str, assignor: str
) -> None:
    create(broker, topic, partitions=4)
    with ExitStack() as stack:
        members = [
            stack.enter_context(member(broker, group, "consumer", group_remote_assignor=assignor))
            for _ in range(3)
        ]
        for client in members:
            client.subscribe([topic])
        wait_for_split(members, 4)


@covers("group-errors", "consumer-assignors")
def test_an_unknown_remote_assignor_is_refused(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    with member(broker, group, "consumer", group_remote_assignor="by-luck") as client:
        client.subscribe([topic])

        def refusal() -> KafkaError | None:
            message = client.poll(0.1)
            return message.error() if message is not None else None

        error = wait_for("the refusal", refusal)
    assert error.code() == KafkaError._FATAL
    assert "assignor" in error.str()


@covers("static-members")
@BOTH
def test_a_static_member_that_restarts_gets_its_partitions_back_without_a_rebalance(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=4)
    with member(broker, group, protocol, group_instance_id="one") as first:
        first.subscribe([topic])
        with member(broker, group, protocol, group_instance_id="two") as second:
            second.subscribe([topic])
            wait_for_split([first, second], 4)
            its_share = numbers(second)
            stays = numbers(first)
        with member(broker, group, protocol, group_instance_id="two") as second:
            second.subscribe([topic])
            wait_for("the share is back", lambda: numbers(second) == its_share)
            assert numbers(first) == stays


@covers("static-members", "group-errors")
def test_a_second_member_with_the_same_instance_id_fences_the_first(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic)
    with member(broker, group, group_instance_id="same") as first:
        first.subscribe([topic])
        wait_for_split([first], 1)
        with member(broker, group, group_instance_id="same") as second:
            second.subscribe([topic])
            wait_for_split([second], 1)

            def fenced() -> bool:
                try:
                    message = first.poll(0.1)
                except KafkaException as failure:
                    return error_of(failure).code() == KafkaError._FATAL
                error = message.error() if message is not None else None
                return error is not None and error.code() in {
                    KafkaError._FATAL,
                    KafkaError.FENCED_INSTANCE_ID,
                }

            wait_for("the first is fenced", fenced)


@covers("pattern", "consumer-regex", "metadata-growth")
@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.slow)])
def test_a_pattern_takes_up_topics_that_appear(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, f"{topic}-1")
    with member(broker, group, protocol, topic_metadata_refresh_interval_ms=200) as client:
        client.subscribe([f"^{topic}-.*"])
        wait_for("the first topic", lambda: topics_of(client) == {f"{topic}-1"})
        create(broker, f"{topic}-2")
        both = {f"{topic}-1", f"{topic}-2"}
        wait_for("the second topic", lambda: topics_of(client) == both)


def topics_of(client: Consumer) -> set[str]:
    client.poll(0.02)
    return {partition.topic for partition in client.assignment()}


@covers("commit-on-close")
@BOTH
def test_a_closing_member_may_commit_in_its_revoke_callback(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic)
    write(broker, topic, [b"1", b"2", b"3"])

    def commit(client: Consumer, partitions: list[TopicPartition]) -> None:
        client.commit(asynchronous=False)

    with member(broker, group, protocol) as client:
        client.subscribe([topic], on_revoke=commit)
        polled(client, 3)
    assert committed(broker, group, topic).offset == 3


@covers("member-lost")
@BOTH
def test_a_member_that_stops_polling_loses_its_partitions(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=2)
    more = {"max_poll_interval_ms": 1500}
    if protocol == "classic":
        more["session_timeout_ms"] = 1500
    with member(broker, group, protocol, **more) as stuck, member(broker, group, protocol) as alive:
        stuck.subscribe([topic])
        wait_for_split([stuck], 2)
        alive.subscribe([topic])
        wait_for("the other one has both", lambda: numbers(alive) == {0, 1})


@covers("list-groups", "describe-group")
@BOTH
def test_a_group_is_listed_and_described_while_used_and_after(
    broker: str, nodes: int, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic, partitions=2)
    kind = ConsumerGroupType.CLASSIC if protocol == "classic" else ConsumerGroupType.CONSUMER
    with member(broker, group, protocol, client_id="the-one") as client:
        client.subscribe([topic])
        wait_for_split([client], 2)
        client.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        found = wait_for_state(broker, group, ConsumerGroupState.STABLE)
        (only,) = found.members
        assert only.client_id == "the-one"
        assert only.host.lstrip("/") == "127.0.0.1"
        partitions = only.assignment.topic_partitions
        assert {(p.topic, p.partition) for p in partitions} == {(topic, 0), (topic, 1)}
        assert found.type == kind
        coordinator = f"{found.coordinator.host}:{found.coordinator.port}"
        assert coordinator == broker or nodes > 1
    found = wait_for_state(broker, group, ConsumerGroupState.EMPTY)
    assert found.members == []
    listing = admin(broker).list_consumer_groups(states={ConsumerGroupState.EMPTY}, types={kind})
    listed = {each.group_id: each for each in listing.result(PATIENCE_S).valid}
    assert listed[group].state == ConsumerGroupState.EMPTY
    assert listed[group].type == kind


def wait_for_state(broker: str, group: str, state: ConsumerGroupState) -> Any:
    def in_state() -> Any:
        found = described(broker, group)
        return found if found.state == state else None

    return wait_for(f"{group} is {state.name}", in_state)


@covers("delete-group")
@BOTH
def test_a_group_in_use_is_not_deleted_an_empty_one_is(
    broker: str, topic: str, group: str, protocol: str
) -> None:
    create(broker, topic)
    with member(broker, group, protocol) as client:
        client.subscribe([topic])
        wait_for_split([client], 1)
        client.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        assert deletion(broker, group) == KafkaError.NON_EMPTY_GROUP
    wait_for_state(broker, group, ConsumerGroupState.EMPTY)
    assert deletion(broker, group) is None
    assert deletion(broker, group) == KafkaError.GROUP_ID_NOT_FOUND


def deletion(broker: str, group: str) -> int | None:
    try:
        admin(broker).delete_consumer_groups([group])[group].result(PATIENCE_S)
    except KafkaException as failure:
        return error_of(failure).code()
    return None


@covers("alter-offsets")
def test_offsets_are_altered_while_the_group_is_empty_only(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic)
    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 2)])
    with member(broker, group) as client:
        client.subscribe([topic])
        wait_for_split([client], 1)
        (answer,) = admin(broker).alter_consumer_group_offsets([change]).values()
        error = answer.result(PATIENCE_S).topic_partitions[0].error
        assert error is not None
        assert error.code() == KafkaError.UNKNOWN_MEMBER_ID
    wait_for_state(broker, group, ConsumerGroupState.EMPTY)
    (answer,) = admin(broker).alter_consumer_group_offsets([change]).values()
    answer.result(PATIENCE_S)
    assert committed(broker, group, topic).offset == 2


@covers("list-group-offsets")
def test_an_unknown_group_has_no_offsets_and_no_error(broker: str, topic: str, group: str) -> None:
    create(broker, topic)
    found = committed(broker, group, topic)
    assert found.offset == -1001  # librdkafka's word for none
    assert found.error is None


@covers("group-errors", "describe-group")
def test_an_unknown_group_is_described_as_dead(broker: str, group: str) -> None:
    assert described(broker, group).state == ConsumerGroupState.DEAD


@covers("group-upgrade")
def test_a_group_moves_from_the_classic_to_the_consumer_protocol(
    broker: str, topic: str, group: str
) -> None:
    create(broker, topic)
    write(broker, topic, [b"1", b"2"])
    with member(broker, group) as client:
        client.subscribe([topic])
        polled(client, 2)
        client.commit(asynchronous=False)
    write(broker, topic, [b"3"])
    with member(broker, group, "consumer") as client:
        client.subscribe([topic])
        assert polled(client, 1)[0].value() == b"3"
        assert described(broker, group).type == ConsumerGroupType.CONSUMER


@covers("group-upgrade")
def test_members_of_both_protocols_share_a_group(broker: str, topic: str, group: str) -> None:
    create(broker, topic, partitions=4)
    with member(broker, group) as classic:
        classic.subscribe([topic])
        wait_for_split([classic], 4)
        with member(broker, group, "consumer") as modern:
            modern.subscribe([topic])
            wait_for_split([classic, modern], 4)
