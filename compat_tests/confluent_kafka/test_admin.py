"""Topics, configs and the cluster through librdkafka's admin client."""

from typing import Any

import pytest
from confluent_kafka import (
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import (
    admin,
    attempted,
    consumer,
    create,
    delivered,
    error_of,
    polled,
    producer,
    read,
    wait_until_ready,
    watermarks,
    write,
)
from compat_tests.targets import Server
from compat_tests.waiting import PATIENCE_S, wait_for


def result(future: Any) -> Any:
    return future.result(PATIENCE_S)


def refused(future: Any) -> KafkaError:
    """The error that a request was refused with."""
    with pytest.raises(KafkaException) as failure:
        future.result(PATIENCE_S)
    return error_of(failure.value)


def describe(broker: str, topic: str) -> Any:
    futures = admin(broker).describe_topics(TopicCollection([topic]))
    return result(futures[topic])


def listed(broker: str) -> dict[str, Any]:
    topics: dict[str, Any] = admin(broker).list_topics(timeout=PATIENCE_S).topics
    return topics


def configs_of(broker: str, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, name)
    found: dict[str, ConfigEntry] = result(admin(broker).describe_configs([resource])[resource])
    return found


def source_of(entry: ConfigEntry) -> ConfigSource:
    return ConfigSource(int(str(entry.source)))  # annotated as the enum, but it is a number


def alter(broker: str, kind: ResourceType, name: str, *changes: ConfigEntry) -> Any:
    resource = ConfigResource(kind, name, incremental_configs=list(changes))
    return admin(broker).incremental_alter_configs([resource])[resource]


def change(name: str, value: str | None, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=operation)


@covers("create-topic", "list-topics")
def test_a_created_topic_is_described_with_partitions_and_replicas(broker: str, topic: str) -> None:
    create(broker, topic, partitions=3)
    found = describe(broker, topic)
    assert [partition.id for partition in found.partitions] == [0, 1, 2]
    for partition in found.partitions:
        assert partition.leader.id == partition.replicas[0].id == partition.isr[0].id
    assert sorted(listed(broker)[topic].partitions) == [0, 1, 2]


@covers("create-topic")
def test_partitions_and_replication_default_to_the_brokers(broker: str, topic: str) -> None:
    create(broker, topic, partitions=-1)
    assert len(describe(broker, topic).partitions) == 1


@covers("create-validate")
def test_validate_only_creates_nothing(broker: str, topic: str) -> None:
    new = NewTopic(topic, num_partitions=2)
    result(admin(broker).create_topics([new], validate_only=True)[topic])
    futures = admin(broker).describe_topics(TopicCollection([topic]))
    assert refused(futures[topic]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@covers("create-assignment")
def test_a_topic_is_created_with_the_assignment_that_was_asked_for(broker: str, topic: str) -> None:
    node = next(iter(admin(broker).list_topics(timeout=PATIENCE_S).brokers))
    new = NewTopic(topic, num_partitions=2, replica_assignment=[[node], [node]])
    result(admin(broker).create_topics([new])[topic])
    wait_until_ready(broker, topic)
    assert [p.leader.id for p in describe(broker, topic).partitions] == [node, node]


@covers("create-errors")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"replication_factor": 5}, KafkaError.INVALID_REPLICATION_FACTOR),
        ({"replica_assignment": [[4711]]}, KafkaError.INVALID_REPLICA_ASSIGNMENT),
        ({"config": {"no.such.key": "1"}}, KafkaError.INVALID_CONFIG),
        ({"config": {"retention.ms": "soon"}}, KafkaError.INVALID_CONFIG),
        ({"config": {"cleanup.policy": "shred"}}, KafkaError.INVALID_CONFIG),
        ({"config": {"segment.bytes": "13"}}, KafkaError.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    broker: str, topic: str, wrong: dict[str, Any], code: int
) -> None:
    new = NewTopic(topic, num_partitions=1, **wrong)
    assert refused(admin(broker).create_topics([new])[topic]).code() == code


@covers("create-errors")
def test_a_topic_that_exists_is_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    error = refused(admin(broker).create_topics([NewTopic(topic, 1)])[topic])
    assert error.code() == KafkaError.TOPIC_ALREADY_EXISTS
    assert error.str() == f"Topic '{topic}' already exists."


@covers("topic-names")
@pytest.mark.parametrize("name", ["", ".", "..", "with space", "a/b", "x" * 250, "\u00fcml"])
def test_an_invalid_topic_name_is_refused(broker: str, name: str) -> None:
    error = refused(admin(broker).create_topics([NewTopic(name, 1)])[name])
    assert error.code() == KafkaError.TOPIC_EXCEPTION


@covers("topic-names")
def test_names_that_differ_only_in_dot_and_underscore_collide(broker: str, topic: str) -> None:
    create(broker, f"{topic}.a")
    error = refused(admin(broker).create_topics([NewTopic(f"{topic}_a", 1)])[f"{topic}_a"])
    assert error.code() == KafkaError.TOPIC_EXCEPTION


@covers("topic-names")
def test_the_longest_name_and_every_allowed_character_work(broker: str, topic: str) -> None:
    name = (topic + "-._09AZaz" + "x" * 249)[:249]
    create(broker, name)
    write(broker, name, [b"v"])
    assert read(broker, name, 1)[0].value() == b"v"


@covers("delete-topic")
def test_a_deleted_topic_is_gone_at_once(broker: str, topic: str) -> None:
    create(broker, topic, partitions=2)
    result(admin(broker).delete_topics([topic])[topic])
    wait_for("clients see that it is gone", lambda: topic not in listed(broker))
    futures = admin(broker).describe_topics(TopicCollection([topic]))
    assert refused(futures[topic]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    again = refused(admin(broker).delete_topics([topic])[topic])
    assert again.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@covers("recreate-topic", "topic-ids")
def test_a_recreated_topic_is_another_and_empty(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"old"] * 5)
    first: Uuid = describe(broker, topic).topic_id
    result(admin(broker).delete_topics([topic])[topic])
    wait_for("it can be created again", lambda: created(broker, topic))
    # Apache Kafka's broker may show the old topic until it has heard from its controller.
    wait_for("another topic", lambda: str(describe(broker, topic).topic_id) != str(first))
    wait_for("it is empty", lambda: watermarks(broker, topic) == (0, 0))
    write(broker, topic, [b"new"])
    assert [m.value() for m in read(broker, topic, 1)] == [b"new"]


def created(broker: str, topic: str) -> bool:
    """Create the topic unless the old one still stands in its way."""
    try:
        create(broker, topic)
    except KafkaException as failure:
        if error_of(failure).code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


@covers("create-partitions", "metadata-growth")
def test_added_partitions_take_records(broker: str, topic: str) -> None:
    create(broker, topic)
    result(admin(broker).create_partitions([NewPartitions(topic, 3)])[topic])
    wait_for("three partitions", lambda: len(describe(broker, topic).partitions) == 3)
    delivered(producer(broker), [{"topic": topic, "value": b"v", "partition": 2}])
    assert read(broker, topic, 1, partition=2)[0].value() == b"v"


@covers("create-partitions")
@pytest.mark.parametrize("count", [1, 2, 0, -1])
def test_a_count_of_partitions_that_does_not_grow_is_refused(
    broker: str, topic: str, count: int
) -> None:
    create(broker, topic, partitions=2)
    try:
        new = NewPartitions(topic, count)
        error = refused(admin(broker).create_partitions([new])[topic])
    except ValueError:
        pytest.skip("this client does not send such a count")
    assert error.code() == KafkaError.INVALID_PARTITIONS


@covers("describe-configs")
def test_configs_of_a_topic_tell_values_and_sources(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "12345"})
    configs = configs_of(broker, ResourceType.TOPIC, topic)
    assert configs["retention.ms"].value == "12345"
    assert source_of(configs["retention.ms"]) == ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert not configs["retention.ms"].is_default
    assert configs["max.message.bytes"].value == "1048588"
    assert configs["max.message.bytes"].is_default
    assert len(configs) >= 30
    assert {entry.is_read_only for entry in configs.values()} == {False}


@covers("describe-configs")
def test_configs_of_a_broker_tell_what_cannot_change(broker: str) -> None:
    node = str(next(iter(admin(broker).list_topics(timeout=PATIENCE_S).brokers)))
    configs = configs_of(broker, ResourceType.BROKER, node)
    assert configs["node.id"].value == node
    assert configs["node.id"].is_read_only
    assert source_of(configs["node.id"]) == ConfigSource.STATIC_BROKER_CONFIG
    assert not configs["log.retention.bytes"].is_read_only
    assert source_of(configs["log.retention.bytes"]) == ConfigSource.DEFAULT_CONFIG
    assert configs["ssl.keystore.password"].is_sensitive
    assert configs["ssl.keystore.password"].value is None
    assert len(configs) > 200


@covers("describe-configs")
def test_configs_of_an_unknown_topic_are_refused(broker: str, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    error = refused(admin(broker).describe_configs([resource])[resource])
    assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@covers("alter-configs")
def test_configs_are_set_deleted_appended_to_and_subtracted_from(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.bytes": "1000"})
    topic_kind = ResourceType.TOPIC
    result(
        alter(
            broker,
            topic_kind,
            topic,
            change("retention.ms", "5000", AlterConfigOpType.SET),
            change("retention.bytes", None, AlterConfigOpType.DELETE),
            change("cleanup.policy", "compact", AlterConfigOpType.APPEND),
        )
    )
    wait_for(
        "all three changes",
        lambda: (
            [
                configs_of(broker, topic_kind, topic)[key].value
                for key in ("retention.ms", "retention.bytes", "cleanup.policy")
            ]
            == ["5000", "-1", "delete,compact"]
        ),
    )
    subtract = change("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    result(alter(broker, topic_kind, topic, subtract))
    wait_for(
        "only compact is left",
        lambda: configs_of(broker, topic_kind, topic)["cleanup.policy"].value == "compact",
    )


@covers("alter-configs")
def test_a_changed_limit_acts_at_once(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"x" * 5000])
    limit = change("max.message.bytes", "1000", AlterConfigOpType.SET)
    result(alter(broker, ResourceType.TOPIC, topic, limit))

    def is_refused() -> bool:
        ((error, _),) = attempted(producer(broker), [{"topic": topic, "value": b"x" * 5000}])
        return error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE

    wait_for("records over the new limit are refused", is_refused)


@covers("bad-configs")
@pytest.mark.parametrize(
    ("name", "value", "operation"),
    [
        ("no.such.key", "1", AlterConfigOpType.SET),
        ("retention.ms", "soon", AlterConfigOpType.SET),
        ("retention.ms", "-2", AlterConfigOpType.SET),
        ("compression.type", "zip", AlterConfigOpType.SET),
        ("retention.ms", "5", AlterConfigOpType.APPEND),
        ("min.cleanable.dirty.ratio", "1.5", AlterConfigOpType.SET),
    ],
)
def test_a_bad_change_of_a_config_is_refused(
    broker: str, topic: str, name: str, value: str, operation: AlterConfigOpType
) -> None:
    create(broker, topic)
    error = refused(alter(broker, ResourceType.TOPIC, topic, change(name, value, operation)))
    assert error.code() in {KafkaError.INVALID_CONFIG, KafkaError.INVALID_REQUEST}
    assert name in error.str()


@covers("alter-configs-legacy")
def test_altering_all_configs_resets_those_that_are_not_named(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "5000"})
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.bytes": "2000000"})
    with pytest.warns(DeprecationWarning, match="incremental"):
        result(admin(broker).alter_configs([resource])[resource])

    def is_replaced() -> bool:
        configs = configs_of(broker, ResourceType.TOPIC, topic)
        return configs["segment.bytes"].value == "2000000" and configs["retention.ms"].is_default

    wait_for("the configs are replaced", is_replaced)


@covers("broker-configs")
def test_a_dynamic_broker_config_shows_at_once(broker: str) -> None:
    node = str(next(iter(admin(broker).list_topics(timeout=PATIENCE_S).brokers)))
    name = "log.message.timestamp.before.max.ms"
    setting = change(name, "9000000000000", AlterConfigOpType.SET)
    result(alter(broker, ResourceType.BROKER, node, setting))
    wait_for(
        "the value is dynamic",
        lambda: (
            source_of(configs_of(broker, ResourceType.BROKER, node)[name])
            == ConfigSource.DYNAMIC_BROKER_CONFIG
        ),
    )
    removal = change(name, None, AlterConfigOpType.DELETE)
    result(alter(broker, ResourceType.BROKER, node, removal))
    wait_for(
        "the default is back",
        lambda: configs_of(broker, ResourceType.BROKER, node)[name].is_default,
    )


@covers("list-offsets", "special-timestamps")
def test_offsets_are_listed_by_every_specification(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "-1"})  # they are old
    stamps = [1_700_000_000_000, 1_700_000_005_000, 1_700_000_001_000]
    for stamp in stamps:
        delivered(producer(broker), [{"topic": topic, "value": b"v", "timestamp": stamp}])
    partition = TopicPartition(topic, 0)
    expected = [
        (OffsetSpec.earliest(), 0, -1),
        (OffsetSpec.latest(), 3, -1),
        (OffsetSpec.max_timestamp(), 1, stamps[1]),
        (OffsetSpec.for_timestamp(stamps[2]), 1, stamps[1]),
        (OffsetSpec.for_timestamp(stamps[1] + 1), -1, -1),
    ]
    for level in IsolationLevel:
        for specification, offset, timestamp in expected:
            futures = admin(broker).list_offsets({partition: specification}, isolation_level=level)
            found = result(futures[partition])
            assert (found.offset, found.timestamp) == (offset, timestamp)


@covers("list-offsets")
def test_offsets_of_an_unknown_partition_are_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    partition = TopicPartition(topic, 9)
    future = admin(broker).list_offsets({partition: OffsetSpec.latest()}, request_timeout=5)
    error = refused(future[partition])
    unknown = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION}
    assert error.code() in unknown | {KafkaError._NOENT}


@covers("delete-records")
def test_deleting_records_beyond_the_end_is_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"v"])
    partition = TopicPartition(topic, 0, 5)
    error = refused(admin(broker).delete_records([partition])[partition])
    assert error.code() == KafkaError.OFFSET_OUT_OF_RANGE


@covers("describe-cluster")
def test_the_cluster_is_described(broker: str, nodes: int) -> None:
    found = result(admin(broker).describe_cluster(include_authorized_operations=True))
    assert len(found.cluster_id) == 22
    assert len(found.nodes) >= nodes
    assert broker in {f"{node.host}:{node.port}" for node in found.nodes}
    assert found.controller.id in {node.id for node in found.nodes}
    operations = {operation.name for operation in found.authorized_operations}
    assert {"CREATE", "ALTER", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE"} <= operations


@covers("elect-leaders")
def test_an_election_that_is_not_needed_says_so(broker: str, topic: str) -> None:
    create(broker, topic)
    partition = TopicPartition(topic, 0)
    found = result(admin(broker).elect_leaders(ElectionType.PREFERRED, [partition]))
    assert found[partition].code() == KafkaError.ELECTION_NOT_NEEDED


@covers("auto-create", "metadata-growth")
def test_producing_to_an_unknown_topic_creates_it(broker: str, topic: str) -> None:
    (message,) = delivered(producer(broker), [{"topic": topic, "value": b"first"}])
    assert (message.partition(), message.offset()) == (0, 0)
    assert read(broker, topic, 1)[0].value() == b"first"


@covers("auto-create")
def test_a_consumer_that_may_not_creates_no_topic(broker: str, topic: str) -> None:
    with consumer(broker, {"allow.auto.create.topics": False}) as client:
        client.subscribe([topic])
        message = client.poll(PATIENCE_S)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in admin(broker).list_topics(timeout=PATIENCE_S).topics


@covers("auto-create-off")
def test_an_unknown_topic_stays_unknown_where_auto_creation_is_off(
    own_server: Any, topic: str
) -> None:
    server: Server = own_server({"auto.create.topics.enable": "false"})
    client = producer(
        server.bootstrap, {"message.timeout.ms": 3000, "topic.metadata.propagation.max.ms": 500}
    )
    ((error, _),) = attempted(client, [{"topic": topic, "value": b"v"}])
    assert error is not None
    unknown = {KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART}
    assert error.code() in unknown | {KafkaError._MSG_TIMED_OUT}
    assert topic not in admin(server.bootstrap).list_topics(timeout=PATIENCE_S).topics


@covers("acls-disabled")
def test_acl_requests_say_that_there_is_no_authorizer(broker: str, topic: str) -> None:
    binding = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:someone",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    error = refused(admin(broker).create_acls([binding])[binding])
    assert error.code() == KafkaError.SECURITY_DISABLED


@covers("metadata-growth")
def test_a_consumer_reads_a_topic_created_while_it_runs(broker: str, topic: str) -> None:
    create(broker, topic)
    with consumer(broker, {"auto.offset.reset": "earliest"}) as client:
        client.assign([TopicPartition(topic, 0)])
        assert client.poll(0.2) is None
        other = f"{topic}-later"
        create(broker, other)
        write(broker, other, [b"v"])
        client.assign([TopicPartition(topic, 0), TopicPartition(other, 0)])
        assert polled(client, 1)[0].topic() == other


@covers("telemetry-off")
def test_a_client_that_pushes_metrics_is_turned_down_without_harm(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"v"], enable_metrics_push="true")
    assert read(broker, topic, 1, settings={"enable.metrics.push": True})[0].value() == b"v"
