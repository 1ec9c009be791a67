"""Topics, configs and the cluster through Apache Kafka's tools."""

import json
import re
from pathlib import Path

import pytest

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.java_tools.tools import (
    command_config,
    describe,
    failing,
    read,
    tool,
    write,
)
from compat_tests.oracle import run_tool
from compat_tests.waiting import wait_for


@covers("create-topic", "list-topics", "topic-ids")
def test_a_created_topic_is_listed_and_described(
    broker: str, nodes: int, is_disturbed: bool, topic: str
) -> None:
    arguments = ["--topic", topic, "--partitions", "3", "--config", "retention.ms=5000"]
    said = tool("kafka-topics", broker, "--create", *arguments)
    assert f"Created topic {topic}." in said
    wait_for("it has leaders", lambda: "Leader: none" not in describe(broker, topic))
    assert topic in tool("kafka-topics", broker, "--list").split()
    said = describe(broker, topic)
    assert re.search(r"TopicId: [\w-]{22}\b", said)
    factor = f"ReplicationFactor: {nodes}"
    assert re.search(rf"PartitionCount: 3\t{factor}\tConfigs: .*retention.ms=5000", said)
    one = r"Partition: \d\tLeader: (\d+)\tReplicas: (\1[\d,]*)\tIsr: \2"
    if is_disturbed:
        one = r"Partition: \d\tLeader: (\d+)\tReplicas: ([\d,]+)\tIsr: [\d,]+"
    assert len(re.findall(one, said)) == 3


@covers("create-topic", "create-errors")
def test_creating_twice_is_refused_unless_it_is_asked_for(broker: str, topic: str) -> None:
    create(broker, topic)
    said = failing("kafka-topics", broker, "--create", "--topic", topic)
    assert f"Topic '{topic}' already exists." in said
    tool("kafka-topics", broker, "--create", "--topic", topic, "--if-not-exists")


@covers("topic-names", "create-errors", "bad-configs")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "bad/name"], "InvalidTopicException"),
        (["--topic", "t", "--replication-factor", "7"], "InvalidReplicationFactorException"),
        (["--topic", "t", "--config", "retention.ms=soon"], "Invalid value soon"),
        (["--topic", "t", "--replica-assignment", "99"], "InvalidReplicaAssignmentException"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(broker: str, arguments: list[str], message: str) -> None:
    assert message in failing("kafka-topics", broker, "--create", *arguments)


@covers("create-partitions")
def test_partitions_grow_and_never_shrink(broker: str, topic: str) -> None:
    create(broker, topic)
    grow = ["--alter", "--topic", topic, "--partitions"]
    tool("kafka-topics", broker, *grow, "3")
    wait_for("three", lambda: "PartitionCount: 3" in describe(broker, topic))
    said = failing("kafka-topics", broker, *grow, "2")
    assert f"The topic {topic} currently has 3 partition(s); 2 would not be an increase." in said


@covers("delete-topic", "recreate-topic")
def test_a_deleted_topic_is_gone_and_comes_back_empty(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "old\n")
    tool("kafka-topics", broker, "--delete", "--topic", topic)
    wait_for("it is gone", lambda: topic not in tool("kafka-topics", broker, "--list").split())
    create(broker, topic)
    write(broker, topic, "new\n")
    assert read(broker, topic, 1) == ["new"]


@covers("describe-configs", "alter-configs")
def test_configs_of_a_topic_are_altered_and_described(broker: str, topic: str) -> None:
    create(broker, topic)
    entity = ["--entity-type", "topics", "--entity-name", topic]
    add = "retention.ms=5000,cleanup.policy=[compact,delete]"
    said = tool("kafka-configs", broker, "--alter", *entity, "--add-config", add)
    assert f"Completed updating config for topic {topic}." in said

    def described() -> str:
        return tool("kafka-configs", broker, "--describe", *entity)

    wait_for("both show", lambda: "cleanup.policy=compact,delete" in described())
    assert (
        "retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000}"
        in (described())
    )
    tool("kafka-configs", broker, "--alter", *entity, "--delete-config", "retention.ms")
    wait_for("one is left", lambda: "retention.ms" not in described())


@covers("describe-configs")
def test_all_configs_are_described_with_their_synonyms(broker: str, topic: str) -> None:
    create(broker, topic)
    entity = ["--entity-type", "topics", "--entity-name", topic]
    said = tool("kafka-configs", broker, "--describe", "--all", *entity)
    assert "segment.bytes=1073741824 sensitive=false" in said
    assert "DEFAULT_CONFIG:log.segment.bytes=1073741824" in said
    assert len(said.splitlines()) >= 30


@covers("broker-configs")
@pytest.mark.parametrize("entity", [["--entity-name", "1"], ["--entity-default"]])
def test_configs_of_the_broker_and_its_defaults_are_dynamic(broker: str, entity: list[str]) -> None:
    where = ["--entity-type", "brokers", *entity]
    key = "log.message.timestamp.after.max.ms" if "1" in entity else "log.flush.interval.ms"
    tool("kafka-configs", broker, "--alter", *where, "--add-config", f"{key}=3600001")

    def described() -> str:
        return tool("kafka-configs", broker, "--describe", *where)

    wait_for("it shows", lambda: f"{key}=3600001" in described())
    tool("kafka-configs", broker, "--alter", *where, "--delete-config", key)
    wait_for("it is gone", lambda: f"{key}=3600001" not in described())


@covers("bad-configs")
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("no.such.key=1", "Unknown topic config name: no.such.key"),
        ("retention.ms=soon", "Invalid value soon for configuration retention.ms"),
        ("min.insync.replicas=0", "Value must be at least 1"),
    ],
)
def test_bad_configs_are_refused_with_a_reason(
    broker: str, topic: str, setting: str, message: str
) -> None:
    create(broker, topic)
    entity = ["--entity-type", "topics", "--entity-name", topic]
    assert message in failing("kafka-configs", broker, "--alter", *entity, "--add-config", setting)


@covers("bad-configs", "broker-configs")
def test_a_broker_config_that_cannot_change_is_refused(broker: str) -> None:
    entity = ["--entity-type", "brokers", "--entity-name", "1"]
    said = failing("kafka-configs", broker, "--alter", *entity, "--add-config", "node.id=5")
    assert "Cannot update these configs dynamically" in said


@covers("quotas")
def test_quotas_are_set_described_and_removed(broker: str, topic: str) -> None:
    entity = ["--entity-type", "clients", "--entity-name", topic]
    tool("kafka-configs", broker, "--alter", *entity, "--add-config", "producer_byte_rate=9999999")

    def described() -> str:
        return tool("kafka-configs", broker, "--describe", *entity)

    wait_for("it shows", lambda: "producer_byte_rate=9999999" in described())
    tool("kafka-configs", broker, "--alter", *entity, "--delete-config", "producer_byte_rate")
    wait_for("it is gone", lambda: "producer_byte_rate" not in described())


@covers("api-versions")
def test_the_versions_tool_knows_every_api(broker: str) -> None:
    said = tool("kafka-broker-api-versions", broker)
    assert "UNKNOWN" not in said
    for row in ("Produce(0): 0 to 13 [usable: 13]", "Fetch(1): 4 to 18 [usable: 18]"):
        assert row in said


@covers("describe-cluster")
def test_the_cluster_tool_tells_the_cluster_id(broker: str) -> None:
    done = run_tool("kafka-cluster", "cluster-id", "--bootstrap-server", broker)
    assert re.search(r"Cluster ID: [\w-]{22}\b", done.stdout), done.stdout + done.stderr
    done = run_tool("kafka-cluster", "list-endpoints", "--bootstrap-server", broker)
    assert re.search(r"\n1\s+127\.0\.0\.1\s+\d+", done.stdout), done.stdout + done.stderr


@covers("describe-log-dirs")
def test_the_log_dirs_tool_tells_sizes(broker: str, nodes: int, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "x" * 500)
    said = tool("kafka-log-dirs", broker, "--describe", "--topic-list", topic)
    found = json.loads(said.strip().splitlines()[-1])
    assert len(found["brokers"]) >= nodes
    directories = [one for each in found["brokers"] for one in each["logDirs"]]
    assert all(one["error"] is None for one in directories)
    partitions = [each for one in directories for each in one["partitions"]]
    assert partitions
    for partition in partitions:
        assert partition["partition"] == f"{topic}-0"
        assert 500 < partition["size"] < 700


@covers("describe-producers")
def test_the_transactions_tool_describes_producers(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "1\n2\n")
    arguments = ["describe-producers", "--topic", topic, "--partition", "0"]
    header, row = tool("kafka-transactions", broker, *arguments).strip().splitlines()
    assert header.split()[:3] == ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch"]
    assert row.split()[1:3] == ["0", "-1"]


@covers("describe-quorum")
def test_the_quorum_tool_tells_leader_and_voters(broker: str) -> None:
    said = tool("kafka-metadata-quorum", broker, "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", said)
    assert re.search(r"CurrentVoters:\s+\[\{\"id\": 1", said)
    said = tool("kafka-metadata-quorum", broker, "describe", "--replication")
    assert re.search(r"\n1\s+\S+\s+\d+\s+0\s+\d+\s+\d+\s+Leader", said)


@covers("features")
def test_the_features_tool_tells_levels(broker: str) -> None:
    said = tool("kafka-features", broker, "describe")
    assert re.search(
        r"metadata.version\s+SupportedMinVersion: 3.3-IV3\s+SupportedMaxVersion: 4.3-IV0\s+"
        r"FinalizedVersionLevel: 4.3-IV0",
        said,
    )
    assert re.search(r"transaction.version\s.*FinalizedVersionLevel: 2", said)
    assert re.search(r"group.version\s.*FinalizedVersionLevel: 1", said)


@covers("elect-leaders")
def test_the_election_tool_finds_nothing_to_do(broker: str, topic: str) -> None:
    create(broker, topic)
    arguments = ["--election-type", "preferred", "--topic", topic, "--partition", "0"]
    elected = f"Valid replica already elected for partitions {topic}-0"

    def is_told() -> bool:
        done = run_tool("kafka-leader-election", "--bootstrap-server", broker, *arguments)
        said = done.stdout + done.stderr
        others = ("PreferredLeaderNotAvailableException", "Successfully completed leader election")
        assert any(one in said for one in (elected, *others)), said
        return elected in said

    wait_for("its preferred leader leads", is_told)


@covers("reassignments")
def test_a_reassignment_to_where_it_is_completes(broker: str, topic: str, tmp_path: Path) -> None:
    create(broker, topic)
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    arguments = ["--reassignment-json-file", str(file)]
    said = tool("kafka-reassign-partitions", broker, *arguments, "--execute")
    assert f"Successfully started partition reassignment for {topic}-0" in said
    wait_for(
        "it is complete",
        lambda: (
            f"Reassignment of partition {topic}-0 is completed."
            in tool("kafka-reassign-partitions", broker, *arguments, "--verify")
        ),
    )
    assert "No partition reassignments found." in tool(
        "kafka-reassign-partitions", broker, "--list"
    )


@covers("acls-disabled")
def test_the_acl_tool_hears_that_there_is_no_authorizer(broker: str) -> None:
    assert "No Authorizer is configured" in failing("kafka-acls", broker, "--list")


@covers("telemetry-off")
def test_the_client_metrics_tool_has_nothing_to_list(broker: str) -> None:
    assert tool("kafka-client-metrics", broker, "--list").strip() == ""


@covers("auto-create")
def test_producing_to_an_unknown_topic_creates_it(broker: str, topic: str) -> None:
    write(broker, topic, "first\n")
    assert read(broker, topic, 1) == ["first"]


@covers("list-topics", "internal-topics")
def test_internal_topics_can_be_left_out_of_the_list(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "v\n")
    assert read(broker, topic, 1) == ["v"]  # commits, so __consumer_offsets is there
    assert "__consumer_offsets" in tool("kafka-topics", broker, "--list").split()
    listed = tool("kafka-topics", broker, "--list", "--exclude-internal").split()
    assert topic in listed
    assert not [name for name in listed if name.startswith("__")]


@covers("create-validate", "list-offsets")
def test_a_tool_with_settings_of_its_own_works(broker: str, topic: str, tmp_path: Path) -> None:
    create(broker, topic)
    settings = command_config(tmp_path, client_id="the-tool", request_timeout_ms="20000")
    said = tool("kafka-get-offsets", broker, "--topic", topic, "--command-config", settings)
    assert said.strip() == f"{topic}:0:0"
