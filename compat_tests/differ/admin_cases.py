"""ApiVersions, Metadata, topics, configs, and what tells about the cluster."""

from typing import Any
from uuid import UUID

from compat_tests.differ.cases import case
from compat_tests.differ.side import NODE, Side
from kafkapy.protocol.api_keys import ApiKey

METADATA, CREATE, DELETE = ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS
DESCRIBE_CONFIGS, GROW = ApiKey.DESCRIBE_CONFIGS, ApiKey.CREATE_PARTITIONS
TOPIC, BROKER = 2, 4


@case("admin", ApiKey.API_VERSIONS)
def api_versions(side: Side) -> None:
    for name, version in (("differ", "1.0"), ("bad name!", "1.0"), ("differ", ""), ("", "1")):
        side.ask(
            ApiKey.API_VERSIONS,
            {"client_software_name": name, "client_software_version": version},
        )


@case("admin", METADATA, since=1)
def metadata_of_topics_that_are_and_are_not(side: Side) -> None:
    topic = side.topic(partitions=2)
    for names in ([topic], [f"{side.name}-unknown"], ["bad/name"], [topic, topic], []):
        body = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
        side.ask(METADATA, {**body, "include_topic_authorized_operations": True})


@case("admin", METADATA, since=10)
def metadata_by_topic_id(side: Side) -> None:
    topic = side.topic()
    known, unknown = side.topic_id(topic), UUID(int=4711)
    for rows in (
        [{"name": None, "topic_id": known}],
        [{"name": None, "topic_id": unknown}],
        [{"name": topic, "topic_id": known}],
        [{"name": topic, "topic_id": unknown}],
        [{"name": topic}, {"name": None, "topic_id": unknown}],
        [{"name": None, "topic_id": known}] * 2,
    ):
        body = {"topics": rows, "include_topic_authorized_operations": True}
        side.ask(METADATA, {**body, "allow_auto_topic_creation": False})


@case("admin", CREATE)
def create_topics(side: Side) -> None:
    name = f"{side.name}-new"
    side.ask(CREATE, create(name, num_partitions=2, configs={"retention.ms": "5000"}))
    side.ask(CREATE, create(name))
    for wrong in (
        create("bad/name"),
        create(""),
        create(".."),
        create("x" * 250),
        create(f"{name}-a", num_partitions=0),
        create(f"{name}-a", num_partitions=-2),
        create(f"{name}-a", replication_factor=5),
        create(f"{name}-a", replication_factor=0),
        create(f"{name}-a", configs={"no.such.key": "1"}),
        create(f"{name}-a", configs={"retention.ms": "soon"}),
        create(f"{name}-a", configs={"retention.ms": "-5"}),
        create(f"{name}-a", configs={"cleanup.policy": "shred"}),
        create(f"{name}-a", configs={"segment.bytes": "5"}),
        create(f"{name}-a", configs={"min.cleanable.dirty.ratio": "2"}),
        create(f"{name}-a", configs={"compression.type": "zip"}),
        create(f"{name}-a", configs={"retention.ms": None}),
        assigned(f"{name}-a", {0: [99]}),
        assigned(f"{name}-a", {1: [NODE]}),
        assigned(f"{name}-a", {0: [NODE, NODE]}),
        assigned(f"{name}-a", {0: []}),
        assigned(f"{name}-a", {0: [NODE]}, num_partitions=1),
    ):
        side.ask(CREATE, wrong)


@case("admin", CREATE)
def create_topics_validate_only_and_twice_in_a_request(side: Side) -> None:
    name = f"{side.name}-new"
    side.ask(CREATE, {**create(name, num_partitions=3), "validate_only": True})
    twice = create(name)["topics"] * 2
    side.ask(CREATE, {"topics": twice, "timeout": 5000})
    side.ask(CREATE, {"topics": [], "timeout": 5000})
    side.ask(CREATE, assigned(name, {0: [NODE], 1: [NODE]}))


@case("admin", DELETE)
def delete_topics(side: Side) -> None:
    topic = side.topic()
    unknown = f"{side.name}-unknown"
    for names in ([topic], [topic], [unknown], [unknown, unknown], []):
        rows = [{"name": name} for name in names]
        side.ask(DELETE, {"topics": rows, "topic_names": names, "timeout": 5000})


@case("admin", DELETE, since=6)
def delete_topics_by_id(side: Side) -> None:
    topic, other = side.topic(), side.topic()
    for row in (
        {"name": None, "topic_id": side.topic_id(topic)},
        {"name": None, "topic_id": UUID(int=4711)},
        {"name": other, "topic_id": side.topic_id(other)},
        {"name": None},
    ):
        side.ask(DELETE, {"topics": [row], "timeout": 5000})


@case("admin", GROW)
def create_partitions(side: Side) -> None:
    topic = side.topic(partitions=2)

    def grow(name: str, count: int, assignments: Any = None, **more: Any) -> None:
        rows = None if assignments is None else [{"broker_ids": each} for each in assignments]
        row = {"name": name, "count": count, "assignments": rows}
        side.ask(GROW, {"topics": [row], "timeout": 5000, "validate_only": False, **more})

    grow(topic, 3, validate_only=True)
    for count in (3, 3, 2, 0, -1):
        grow(topic, count)
    grow(topic, 4, [[NODE]])
    grow(topic, 6, [[NODE]])
    grow(topic, 5, [[99]])
    grow(f"{side.name}-unknown", 3)


@case("admin", DESCRIBE_CONFIGS)
def configs_of_a_topic(side: Side) -> None:
    topic = side.topic(configs={"retention.ms": "5000", "cleanup.policy": "compact"})
    row = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}
    for synonyms in (False, True):
        body = {"include_synonyms": synonyms, "include_documentation": True}
        side.ask(DESCRIBE_CONFIGS, {"resources": [row], **body})
    for keys in (["retention.ms", "no.such.key"], []):
        side.ask(DESCRIBE_CONFIGS, {"resources": [{**row, "configuration_keys": keys}]})


@case("admin", DESCRIBE_CONFIGS)
def configs_of_what_is_not_there(side: Side) -> None:
    for kind, name in ((TOPIC, f"{side.name}-x"), (TOPIC, "bad/name"), (BROKER, "77"), (99, "x")):
        row = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        side.ask(DESCRIBE_CONFIGS, {"resources": [row]})


@case("admin", DESCRIBE_CONFIGS)
def configs_of_the_broker_by_key(side: Side) -> None:
    keys = ["node.id", "num.partitions", "log.retention.ms", "log.segment.bytes", "not.a.key"]
    keys += ["log.retention.hours", "message.max.bytes", "auto.create.topics.enable"]
    keys += ["ssl.keystore.password", "advertised.listeners", "process.roles"]
    for name in (str(NODE), ""):
        row = {"resource_type": BROKER, "resource_name": name, "configuration_keys": keys}
        body = {"include_synonyms": True, "include_documentation": True}
        side.ask(DESCRIBE_CONFIGS, {"resources": [row], **body})


@case("admin", ApiKey.INCREMENTAL_ALTER_CONFIGS)
def alter_configs_incrementally(side: Side) -> None:
    topic = side.topic()
    for kind, name, key, operation, value in (
        (TOPIC, topic, "retention.ms", 0, "5000"),
        (TOPIC, topic, "retention.ms", 1, None),
        (TOPIC, topic, "retention.ms", 1, None),
        (TOPIC, topic, "cleanup.policy", 2, "compact"),
        (TOPIC, topic, "cleanup.policy", 3, "delete"),
        (TOPIC, topic, "retention.ms", 2, "5"),
        (TOPIC, topic, "retention.ms", 0, "soon"),
        (TOPIC, topic, "retention.ms", 0, None),
        (TOPIC, topic, "no.such.key", 0, "1"),
        (TOPIC, topic, "retention.ms", 9, "1"),
        (TOPIC, f"{side.name}-unknown", "retention.ms", 0, "1"),
        (TOPIC, "", "retention.ms", 0, "1"),
        (BROKER, "77", "log.retention.ms", 0, "1"),
        (BROKER, str(NODE), "node.id", 0, "5"),
        (BROKER, str(NODE), "no.such.key", 0, "5"),
        (99, "x", "retention.ms", 0, "1"),
    ):
        config = {"name": key, "config_operation": operation, "value": value}
        row = {"resource_type": kind, "resource_name": name, "configs": [config]}
        body = {"resources": [row], "validate_only": False}
        side.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)


@case("admin", ApiKey.ALTER_CONFIGS)
def alter_all_configs(side: Side) -> None:
    topic = side.topic()
    for configs in ({"retention.ms": "5000"}, {}, {"no.such.key": "1"}, {"retention.ms": "soon"}):
        rows = [{"name": name, "value": value} for name, value in configs.items()]
        row = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
        side.ask(ApiKey.ALTER_CONFIGS, {"resources": [row], "validate_only": False})


@case("admin", ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions_by_pages(side: Side) -> None:
    topic, other = side.topic(partitions=5), side.topic(partitions=2)
    names = [{"name": name} for name in sorted((topic, other, f"{side.name}-unknown"))]
    for limit in (2000, 3, 1, 0, -1):
        body = {"topics": names, "response_partition_limit": limit}
        side.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, body)
    cursor = {"topic_name": topic, "partition_index": 3}
    page = {"topics": names, "response_partition_limit": 3, "cursor": cursor}
    side.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, page)


@case("admin", ApiKey.DESCRIBE_CLUSTER)
def describe_the_cluster(side: Side) -> None:
    for endpoint_type in (1, 2, 3):
        body = {"include_cluster_authorized_operations": True, "endpoint_type": endpoint_type}
        side.ask(ApiKey.DESCRIBE_CLUSTER, body)


@case("admin", ApiKey.DESCRIBE_LOG_DIRS)
def describe_log_dirs_of_a_topic(side: Side) -> None:
    topic = side.topic(partitions=2)
    side.write(topic, b"x" * 100)
    for name in (topic, f"{side.name}-unknown"):
        row = {"topic": name, "partitions": [0, 1]}
        side.ask(ApiKey.DESCRIBE_LOG_DIRS, {"topics": [row]})


@case("admin", ApiKey.DESCRIBE_PRODUCERS)
def describe_producers(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1", producer_id=12345, producer_epoch=3, base_sequence=0)
    for name, partition in ((topic, 0), (topic, 7), (f"{side.name}-unknown", 0)):
        row = {"name": name, "partition_indexes": [partition]}
        side.ask(ApiKey.DESCRIBE_PRODUCERS, {"topics": [row]})


@case("admin", ApiKey.ELECT_LEADERS)
def elect_leaders(side: Side) -> None:
    topic = side.topic()
    for kind in (0, 1):
        for name, partition in ((topic, 0), (topic, 7), (f"{side.name}-unknown", 0)):
            row = {"topic": name, "partitions": [partition]}
            body = {"election_type": kind, "topic_partitions": [row], "timeout": 5000}
            side.ask(ApiKey.ELECT_LEADERS, body)


@case("admin", ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def reassign_partitions(side: Side) -> None:
    topic = side.topic()
    for name, partition, replicas in (
        (topic, 0, [NODE]),
        (topic, 0, [99]),
        (topic, 0, []),
        (topic, 0, [NODE, NODE]),
        (topic, 0, None),
        (topic, 7, [NODE]),
        (f"{side.name}-unknown", 0, [NODE]),
    ):
        row = {"name": name, "partitions": [{"partition_index": partition, "replicas": replicas}]}
        side.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, {"topics": [row], "timeout": 5000})
        listing = {"topics": [{"name": name, "partition_indexes": [partition]}], "timeout": 5000}
        side.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, listing)


@case("admin", ApiKey.UPDATE_FEATURES)
def update_features(side: Side) -> None:
    for feature, level, kind in (
        ("no.such.feature", 1, 1),
        ("metadata.version", 99, 1),
        ("metadata.version", 20, 1),
        ("metadata.version", 30, 1),
        ("group.version", 7, 1),
        ("transaction.version", -1, 1),
    ):
        row = {
            "feature": feature,
            "max_version_level": level,
            "upgrade_type": kind,
            "allow_downgrade": False,
        }
        body = {"feature_updates": [row], "timeout": 5000, "validate_only": True}
        side.ask(ApiKey.UPDATE_FEATURES, body)


@case("admin", ApiKey.ALTER_REPLICA_LOG_DIRS)
def move_to_a_directory_that_is_not_there(side: Side) -> None:
    topic = side.topic()
    row = {"path": "/no/such/dir", "topics": [{"name": topic, "partitions": [0]}]}
    side.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": [row]})


@case("admin", ApiKey.DESCRIBE_QUORUM)
def describe_a_quorum_that_is_not_there(side: Side) -> None:
    other = {"topic_name": "not-the-metadata", "partitions": [{"partition_index": 0}]}
    metadata = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    for rows in ([other], [metadata, other], [metadata, metadata], []):
        side.ask(ApiKey.DESCRIBE_QUORUM, {"topics": rows})


@case("admin", ApiKey.LIST_CONFIG_RESOURCES)
def list_config_resources_of_kinds(side: Side) -> None:
    for kinds in ([4], [8], [16], [99]):
        side.ask(ApiKey.LIST_CONFIG_RESOURCES, {"resource_types": kinds})


def create(name: str, *, configs: dict[str, str | None] | None = None, **more: Any) -> Any:
    row = {
        "name": name,
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [{"name": k, "value": v} for k, v in (configs or {}).items()],
        **more,
    }
    return {"topics": [row], "timeout": 5000, "validate_only": False}


def assigned(name: str, assignment: dict[int, list[int]], **more: Any) -> Any:
    rows = [{"partition_index": p, "broker_ids": nodes} for p, nodes in assignment.items()]
    default = {"num_partitions": -1, "replication_factor": -1}
    return create(name, assignments=rows, **{**default, **more})
