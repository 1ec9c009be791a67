"""Topics, configs and the cluster through kafka-python's admin client."""

import time
import uuid

import pytest
from kafka import TopicPartition
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    KafkaError,
    OffsetOutOfRangeError,
    SecurityDisabledError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from compat_tests.advertised import BROKER_VERSIONS, FEATURES
from compat_tests.behaviours import covers
from compat_tests.kafka_python.clients import admin, create, producer, read, write
from compat_tests.waiting import PATIENCE_S, wait_for


def topic_resource(topic: str, configs: object = None) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, topic, configs)


@covers("api-versions", "telemetry-off")
def test_the_versions_that_apache_kafka_advertises(broker: str) -> None:
    with admin(broker) as client:
        told = {int(key): tuple(versions) for key, versions in client.api_versions().items()}
    # Nothing is told that Apache Kafka does not tell; what is missing, docs/COMPAT.md lists.
    assert {key: BROKER_VERSIONS.get(key) for key in told} == told
    assert {0, 1, 2, 3, 8, 9, 10, 11, 18, 19, 22, 68} <= set(told)


@covers("features")
def test_the_features_that_apache_kafka_advertises(broker: str) -> None:
    with admin(broker) as client:
        told = client.describe_features()
    supported = {name: feature["supported"] for name, feature in told.items()}
    # Dead letters are of 4.4: kafkapy has them, 4.3.1 has not.
    assert supported.pop("share.version") in {(0, 1), (0, 2)}
    assert supported == FEATURES
    assert told["metadata.version"]["finalized"] == (30, 30)
    assert told["transaction.version"]["finalized"] == (2, 2)
    assert told["metadata.version"]["finalized_epoch"] > 0


@covers("create-topic", "topic-ids", "list-topics")
def test_a_created_topic_has_one_id_wherever_it_is_told(broker: str, topic: str) -> None:
    with admin(broker) as client:
        (answer,) = client.create_topics([NewTopic(topic, 2, 1)])["topics"]
        assert (answer["num_partitions"], answer["replication_factor"]) == (2, 1)
        assert answer["configs"]["cleanup.policy"]["value"] == "delete"
        described = wait_for("it is described", lambda: _led(client, topic))
        assert uuid.UUID(str(described["topic_id"])) == uuid.UUID(str(answer["topic_id"]))
        (found,) = client.describe_topic_partitions([topic])["topics"]
        assert uuid.UUID(str(found["topic_id"])) == uuid.UUID(str(answer["topic_id"]))
        assert [p["partition_index"] for p in found["partitions"]] == [0, 1]
        assert topic in {str(each) for each in client.list_topics()}


def _led(client: object, topic: str) -> dict[str, object] | None:
    (found,) = client.describe_topics([topic])  # type: ignore[attr-defined]  # untyped library
    return None if found["error_code"] else found


@covers("create-errors", "topic-names", "bad-configs")
@pytest.mark.parametrize(
    ("new", "error"),
    [
        (NewTopic("bad/name", 1, 1), InvalidTopicError),
        (NewTopic("fine", 0, 1), InvalidPartitionsError),
        (NewTopic("fine", 1, 9), InvalidReplicationFactorError),
        (NewTopic("fine", 1, 0), InvalidReplicationFactorError),
        (NewTopic("fine", 1, 1, topic_configs={"no.key": "1"}), InvalidConfigurationError),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    broker: str, new: NewTopic, error: type[Exception]
) -> None:
    with admin(broker) as client, pytest.raises(error):
        client.create_topics([new])


@covers("create-validate", "create-errors")
def test_validate_only_creates_nothing_but_says_what_it_would(broker: str, topic: str) -> None:
    with admin(broker) as client:
        (answer,) = client.create_topics([NewTopic(topic, 3, 1)], validate_only=True)["topics"]
        assert (answer["error_code"], answer["num_partitions"]) == (0, 3)
        (found,) = client.describe_topics([topic])
        assert found["error_code"] == UnknownTopicOrPartitionError.errno
        create(broker, topic)
        with pytest.raises(TopicAlreadyExistsError):
            client.create_topics([NewTopic(topic, 3, 1)], validate_only=True)


@covers("delete-topic")
def test_topics_are_deleted_and_unknown_ones_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    with admin(broker) as client:
        client.delete_topics([topic])
        wait_for("it is gone", lambda: client.describe_topics([topic])[0]["error_code"] == 3)
        with pytest.raises(UnknownTopicOrPartitionError):
            client.delete_topics([topic])


@covers("create-partitions")
def test_partitions_grow_and_never_shrink(broker: str, topic: str) -> None:
    create(broker, topic)
    with admin(broker) as client:
        client.create_partitions({topic: NewPartitions(3)})
        wait_for("three", lambda: len(client.describe_topics([topic])[0]["partitions"]) == 3)
        for count in (3, 2, 0):
            with pytest.raises(InvalidPartitionsError):
                client.create_partitions({topic: NewPartitions(count)})
        with pytest.raises(UnknownTopicOrPartitionError):
            client.create_partitions({f"{topic}-not": NewPartitions(3)})


@covers("describe-configs")
def test_configs_come_with_synonyms_types_and_sources(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "5000"})
    with admin(broker) as client:
        found = client.describe_configs(
            [topic_resource(topic)], include_synonyms=True, config_filter="all"
        )["topic"][topic]
    changed = found["retention.ms"]
    assert (changed["value"], changed["config_source"]) == ("5000", "DYNAMIC_TOPIC_CONFIG")
    assert changed["config_type"] == "LONG"
    assert [(each["name"], each["source"]) for each in changed["synonyms"]] == [
        ("retention.ms", "DYNAMIC_TOPIC_CONFIG"),
    ]
    assert found["cleanup.policy"]["config_type"] == "LIST"
    assert [(each["name"], each["source"]) for each in found["segment.bytes"]["synonyms"]] == [
        ("log.segment.bytes", "DEFAULT_CONFIG"),
    ]


@covers("alter-configs", "bad-configs")
def test_configs_are_altered_and_bad_ones_refused(broker: str, topic: str) -> None:
    create(broker, topic)
    with admin(broker) as client:
        changes = {"retention.ms": "6000", "cleanup.policy": (AlterConfigOp.APPEND, "compact")}
        client.alter_configs([topic_resource(topic, changes)])

        def values() -> dict[str, str]:
            found = client.describe_configs([topic_resource(topic)])["topic"][topic]
            return {name: config["value"] for name, config in found.items()}

        wanted = {"retention.ms": "6000", "cleanup.policy": "delete,compact"}
        wait_for("both changes", lambda: values() == wanted)
        with pytest.raises((KafkaError, ValueError)):
            client.alter_configs([topic_resource(topic, {"no.such.key": "1"})])
        client.reset_configs([topic_resource(topic, list(wanted))])
        wait_for("all are reset", lambda: values() == {})


@covers("list-offsets", "special-timestamps")
def test_offsets_by_every_specification(broker: str, topic: str) -> None:
    create(broker, topic, configs={"retention.ms": "-1"})  # they are old
    stamps = [1_700_000_000_000, 1_700_000_005_000, 1_700_000_001_000]
    with producer(broker) as client:
        for stamp in stamps:
            client.send(topic, b"v", timestamp_ms=stamp).get(PATIENCE_S)
    partition = TopicPartition(topic, 0)
    with admin(broker) as client:
        found = {
            spec: client.list_partition_offsets({partition: spec})[partition]
            for spec in (
                OffsetSpec.EARLIEST,
                OffsetSpec.LATEST,
                OffsetSpec.MAX_TIMESTAMP,
                OffsetSpec.EARLIEST_LOCAL,
            )
        }
    assert {spec.name: (each.offset, each.timestamp) for spec, each in found.items()} == {
        "EARLIEST": (0, -1),
        "LATEST": (3, -1),
        "MAX_TIMESTAMP": (1, stamps[1]),
        "EARLIEST_LOCAL": (0, -1),
    }


@covers("delete-records")
def test_deleted_records_are_gone(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"%d" % i for i in range(5)])
    partition = TopicPartition(topic, 0)
    with admin(broker) as client:
        answer = client.delete_records({partition: 2})[partition]
        assert answer["low_watermark"] == 2
        with pytest.raises(OffsetOutOfRangeError):
            client.delete_records({partition: 99})
    assert read(broker, topic, 3, offset=2)[0].value == b"2"


@covers("describe-cluster")
def test_the_cluster_is_described(broker: str, nodes: int, is_disturbed: bool) -> None:
    with admin(broker) as client:
        found = client.describe_cluster()
    assert len(found["brokers"]) >= nodes
    assert broker in {f"{node['host']}:{node['port']}" for node in found["brokers"]}
    assert is_disturbed or not any(node["is_fenced"] for node in found["brokers"])
    assert found["controller_id"] in {node["broker_id"] for node in found["brokers"]}
    assert "CREATE" in found["authorized_operations"]


@covers("describe-log-dirs")
def test_log_directories_tell_the_size_of_partitions(broker: str, nodes: int, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, [b"x" * 1000])
    with admin(broker) as client:
        found = [each["log_dirs"] for each in client.describe_log_dirs()]
    assert len(found) >= nodes
    directories = [one for (one,) in found]
    for one in directories:
        assert one["error_code"] == 0
        assert one["total_bytes"] > one["usable_bytes"] > 0
    sizes = [
        p["partition_size"]
        for one in directories
        for each in one["topics"]
        for p in each["partitions"]
        if (each["name"], p["partition_index"]) == (topic, 0)
    ]
    assert sizes
    assert all(1000 < size < 1200 for size in sizes)


@covers("describe-producers", "idempotence")
def test_active_producers_are_described(broker: str, topic: str) -> None:
    create(broker, topic)
    before = int(time.time() * 1000)
    write(broker, topic, [b"1", b"2"], linger_ms=200)
    partition = TopicPartition(topic, 0)
    with admin(broker) as client:
        (active,) = client.describe_producers([partition])[partition].active_producers
    assert active.producer_id >= 0
    assert (active.producer_epoch, active.last_sequence) == (0, 1)
    assert active.last_timestamp >= before - 1000


@covers("describe-quorum")
def test_the_metadata_quorum_is_described(broker: str, nodes: int) -> None:
    with admin(broker) as client:
        found = client.describe_metadata_quorum()
    ((partition,),) = [each["partitions"] for each in found["topics"]]
    assert found["topics"][0]["topic_name"] == "__cluster_metadata"
    voters = {voter["replica_id"]: voter for voter in partition["current_voters"]}
    assert len(voters) == nodes
    assert partition["high_watermark"] > 0
    assert voters[partition["leader_id"]]["log_end_offset"] >= partition["high_watermark"]


@covers("reassignments")
def test_no_reassignment_is_going_on(broker: str, topic: str) -> None:
    create(broker, topic)
    with admin(broker) as client:
        assert client.list_partition_reassignments() == {}


@covers("acls-disabled")
def test_acl_requests_say_that_there_is_no_authorizer(broker: str) -> None:
    anything = ACLFilter(
        None,
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
    )
    with admin(broker) as client, pytest.raises(SecurityDisabledError):
        client.describe_acls(anything)


@covers("list-topics")
def test_config_resources_are_listed(broker: str, topic: str) -> None:
    create(broker, topic)
    with admin(broker) as client:
        found = client.list_config_resources()
    assert topic in found["topic"]
    assert found["broker"] == found["broker_logger"]


@covers("auto-create")
def test_producing_to_an_unknown_topic_creates_it(broker: str, topic: str) -> None:
    (metadata,) = write(broker, topic, [b"v"])
    assert metadata.offset == 0
    assert read(broker, topic, 1)[0].value == b"v"
