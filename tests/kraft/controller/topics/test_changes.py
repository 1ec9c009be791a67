"""Topics: created, deleted, extended; each name with its own verdict."""

from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics.changes import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
    TopicCreated,
)
from kafkapy.kraft.records.metadata import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.kraft.controller.fakes import Cluster, directory_of


def _code(verdict: TopicCreated | Refused | None) -> ErrorCode:
    assert isinstance(verdict, Refused), verdict
    return verdict.code


def test_a_topic_is_its_record_its_settings_then_its_partitions() -> None:
    cluster = Cluster(brokers=3)
    topic = NewTopic("t", 2, 3, configs=(("retention.ms", "5"),))
    records = cluster.records_of(CreateTopics((topic,)))
    assert [type(record) for record in records] == [
        TopicRecord,
        ConfigRecord,
        PartitionRecord,
        PartitionRecord,
    ]
    made = cluster.image.topics_by_name["t"]
    for state in made.partitions.values():
        assert sorted(state.replicas) == [1, 2, 3]
        assert state.isr == state.replicas
        assert state.leader == state.replicas[0]
        assert (state.leader_epoch, state.partition_epoch) == (0, 0)
        assert state.directories == tuple(directory_of(one) for one in state.replicas)
    assert cluster.image.configs(2, "t") == {"retention.ms": "5"}


def test_what_is_not_said_is_the_clusters_default() -> None:
    cluster = Cluster(brokers=1)
    reply = cluster.ask(CreateTopics((NewTopic("t"),)))
    assert (reply["t"].partitions, reply["t"].replication_factor) == (1, 1)


def test_fenced_replicas_are_not_in_the_isr_of_a_new_partition() -> None:
    cluster = Cluster(brokers=3)
    cluster.fence(2)
    cluster.create("t", (2, 1, 3))
    assert cluster.partition("t").isr == (1, 3)
    assert cluster.partition("t").leader == 1


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad name"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a.b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a_b"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("t", configs=(("bad", "1"),)), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", configs=(("retention.ms", None),)), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", 1, -1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, 1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", assignments=((0, (1,)), (0, (2,)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, (1,)), (2, (2,)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, ()),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, (9,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, (1, 1)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, (1,)), (1, (1, 2)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=((0, (3,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_what_cannot_be_created_says_why(topic: NewTopic, code: ErrorCode) -> None:
    cluster = Cluster(brokers=3)
    cluster.create("a_b", (1,))
    cluster.fence(3)
    before = list(cluster.log.records)
    assert _code(cluster.ask(CreateTopics((topic,)))[topic.name]) is code
    assert cluster.log.records == before


def test_with_no_broker_unfenced_nothing_can_be_placed() -> None:
    cluster = Cluster(brokers=1)
    cluster.fence(1)
    reply = cluster.ask(CreateTopics((NewTopic("t"),)))
    assert _code(reply["t"]) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_each_name_has_its_own_verdict() -> None:
    cluster = Cluster(brokers=1)
    reply = cluster.ask(
        CreateTopics((NewTopic("good"), NewTopic("b d"), NewTopic("twice"), NewTopic("twice")))
    )
    assert isinstance(reply["good"], TopicCreated)
    assert _code(reply["b d"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert _code(reply["twice"]) is ErrorCode.INVALID_REQUEST
    assert set(cluster.image.topics_by_name) == {"good"}


def test_validate_only_answers_the_same_and_writes_nothing() -> None:
    cluster = Cluster(brokers=1)
    event = CreateTopics((NewTopic("t", 3),), validate_only=True)
    before = list(cluster.log.records)
    assert cluster.ask(event)["t"].partitions == 3
    assert cluster.log.records == before


def test_ten_thousand_partitions_in_a_request_are_the_limit() -> None:
    cluster = Cluster(brokers=1)
    assert cluster.refusal(CreateTopics((NewTopic("t", 10_001),))) is ErrorCode.POLICY_VIOLATION
    names = tuple(NewTopic(f"t{number}", 5_001) for number in range(2))
    assert cluster.refusal(CreateTopics(names)) is ErrorCode.POLICY_VIOLATION


def test_settings_are_told_to_who_may_see_them() -> None:
    cluster = Cluster(brokers=1)
    topics = tuple(NewTopic(name, configs=(("flush.ms", "1"),)) for name in ("a", "b"))
    reply = cluster.ask(CreateTopics(topics, describable=frozenset({"a"})))
    assert [one.name for one in reply["a"].settings] == ["flush.ms"]
    assert reply["b"].settings is None


def test_a_topic_is_deleted_with_its_settings() -> None:
    cluster = Cluster(brokers=1)
    topic_id = cluster.create("t", (1,), retention_ms="5")
    unknown = UUID(int=99999)
    before = len(cluster.log.records)
    reply = cluster.ask(DeleteTopics((topic_id, unknown)))
    assert reply[topic_id] is None
    assert _code(reply[unknown]) is ErrorCode.UNKNOWN_TOPIC_ID
    assert cluster.log.records[before:] == [RemoveTopicRecord(topic_id=topic_id)]
    assert "t" not in cluster.image.topics_by_name
    assert not cluster.image.configs(2, "t")


def test_a_deleted_name_can_be_used_again() -> None:
    cluster = Cluster(brokers=1)
    first = cluster.create("t", (1,))
    cluster.ask(DeleteTopics((first,)))
    assert cluster.create("t", (1,)) != first


def test_partitions_are_added_behind_the_ones_there_are() -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2))
    assert cluster.ask(CreatePartitions((MorePartitions("t", 3),))) == {"t": None}
    assert sorted(cluster.image.topics_by_name["t"].partitions) == [0, 1, 2]
    assert all(len(cluster.partition("t", index).replicas) == 2 for index in (1, 2))


def test_added_partitions_can_be_assigned() -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2))
    cluster.ask(CreatePartitions((MorePartitions("t", 3, ((3, 1), (2, 3))),)))
    assert cluster.partition("t", 1).replicas == (3, 1)
    assert cluster.partition("t", 2).replicas == (2, 3)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (MorePartitions("nope", 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (MorePartitions("t", 1), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("t", 0), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("t", 3, ((1, 2),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 2, ((1,),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 2, ((1, 9),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_partitions_that_cannot_be_added_say_why(wanted: MorePartitions, code: ErrorCode) -> None:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2))
    assert _code(cluster.ask(CreatePartitions((wanted,)))[wanted.name]) is code


def test_validated_partitions_are_not_added() -> None:
    cluster = Cluster(brokers=1)
    cluster.create("t", (1,))
    assert cluster.ask(CreatePartitions((MorePartitions("t", 9),), True)) == {"t": None}
    assert len(cluster.image.topics_by_name["t"].partitions) == 1
