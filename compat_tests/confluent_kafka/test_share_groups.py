"""Share groups through librdkafka's share consumer, which calls itself a preview."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Message, ShareConsumer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import admin, create, delivered, producer
from compat_tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.slow


def begin_at_the_start(broker: str, group: str, **more: str) -> None:
    """The group's own settings: there is nothing a consumer could say."""
    values = {"share.auto.offset.reset": "earliest", **more}
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    for future in admin(broker).incremental_alter_configs([resource]).values():
        future.result(PATIENCE_S)


@contextmanager
def member(broker: str, group: str, topic: str, **more: Any) -> Iterator[ShareConsumer]:
    client = ShareConsumer(
        {
            "bootstrap.servers": broker,
            "group.id": group,
            "log_level": 2,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )
    try:
        client.subscribe([topic])
        yield client
    finally:
        client.close()


def read(client: ShareConsumer, count: int) -> list[Message]:
    """As many as that, or more: what one poll brings comes together."""
    found: list[Message] = []

    def enough() -> bool:
        found.extend(one for one in client.poll(0.5) or () if one.error() is None)
        return len(found) >= count

    wait_for(f"{count} records", enough)
    return found


def fill(broker: str, topic: str, count: int) -> None:
    delivered(
        producer(broker),
        [{"topic": topic, "value": b"%d" % number, "partition": 0} for number in range(count)],
    )


def values(messages: list[Message]) -> list[int]:
    return sorted(int(one.value() or b"") for one in messages)


@covers("share-groups")
def test_two_members_share_a_partition(broker: str, topic: str) -> None:
    """Each record to one of them; a partition has two readers."""
    create(broker, topic, partitions=1)
    begin_at_the_start(broker, topic)
    with member(broker, topic, topic) as one, member(broker, topic, topic) as other:
        fill(broker, topic, 50)
        found: list[Message] = []

        def all_came() -> bool:
            for client in (one, other):
                found.extend(each for each in client.poll(0.2) or () if each.error() is None)
            return len(found) >= 50

        wait_for("all records", all_came)
        for client in (one, other):
            client.commit_sync(PATIENCE_S)
        fill(broker, topic, 10)
        later: list[Message] = []

        def more_came() -> bool:
            for client in (one, other):
                later.extend(each for each in client.poll(0.2) or () if each.error() is None)
            return len(later) >= 10

        wait_for("more records", more_came)
    assert values(found) == list(range(50))
    assert values(later) == list(range(10))


@covers("share-groups")
def test_what_is_released_comes_again_and_what_is_rejected_does_not(
    broker: str, topic: str
) -> None:
    create(broker, topic, partitions=1)
    begin_at_the_start(broker, topic)
    fill(broker, topic, 6)
    explicit = {"share_acknowledgement_mode": "explicit"}
    with member(broker, topic, topic, **explicit) as client:
        for one in read(client, 6):
            number = int(one.value() or b"")
            kinds = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)
            client.acknowledge(one, kinds[number % 3])
        results = client.commit_sync(PATIENCE_S)
        assert [error for error in results.values() if error is not None] == []
        again = read(client, 2)
        assert values(again) == [1, 4]
        for one in again:
            client.acknowledge(one, AcknowledgeType.ACCEPT)
        client.commit_sync(PATIENCE_S)
        assert len(client.poll(1.0)) == 0


@covers("share-groups")
def test_what_a_member_that_left_had_comes_to_another(broker: str, topic: str) -> None:
    create(broker, topic, partitions=1)
    begin_at_the_start(broker, topic)
    fill(broker, topic, 5)
    explicit = {"share_acknowledgement_mode": "explicit"}
    with member(broker, topic, topic, **explicit) as leaver:
        assert values(read(leaver, 5)) == list(range(5))
    with member(broker, topic, topic) as other:
        assert values(read(other, 5)) == list(range(5))


@covers("share-groups")
def test_a_poison_message_is_given_up_after_so_many_deliveries(broker: str, topic: str) -> None:
    create(broker, topic, partitions=1)
    begin_at_the_start(broker, topic, **{"share.delivery.count.limit": "2"})
    fill(broker, topic, 1)
    explicit = {"share_acknowledgement_mode": "explicit"}
    with member(broker, topic, topic, **explicit) as client:
        for _ in range(2):
            (poison,) = read(client, 1)
            client.acknowledge(poison, AcknowledgeType.RELEASE)
            client.commit_sync(PATIENCE_S)
        delivered(producer(broker), [{"topic": topic, "value": b"9", "partition": 0}])
        (next_one,) = read(client, 1)
        assert next_one.value() == b"9"
        client.acknowledge(next_one, AcknowledgeType.ACCEPT)
