"""What each of three nodes tells of the cluster, its topics and its coordinators."""

from typing import Any

from compat_tests.differ.cluster.cases import case
from compat_tests.differ.cluster.nodes import METADATA_TOPIC, NODES, Nodes
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

METADATA, DESCRIBE_CLUSTER = ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER
FIND, QUORUM = ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_QUORUM
BROKER = 4


@case(METADATA, since=4)
def metadata_from_every_broker(nodes: Nodes) -> None:
    """Before v4 who asks about a topic that is not there makes it."""
    topic = nodes.topic({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    body = {"topics": [{"name": topic}, {"name": f"{nodes.name}-unknown"}]}
    nodes.ask_brokers(METADATA, {**body, "allow_auto_topic_creation": False})
    nodes.lead(topic, 0, [2, 3, 1])
    nodes.ask_brokers(METADATA, {**body, "allow_auto_topic_creation": False})


@case(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def partitions_from_every_broker(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    body = {"topics": [{"name": topic}], "response_partition_limit": 2}
    nodes.ask_brokers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, body)


@case(DESCRIBE_CLUSTER)
def the_cluster_from_every_broker_and_controller(nodes: Nodes) -> None:
    """Of brokers and of controllers, from the right ones and from the wrong ones. Brokers name
    any broker as the controller."""
    leader = nodes.leader_id
    for endpoint_type in (1, 2, 3):
        body = {"endpoint_type": endpoint_type, "include_cluster_authorized_operations": True}
        for side in (*map(nodes.broker, NODES), nodes.active, nodes.inactive):
            answer = side.call(DESCRIBE_CLUSTER, body, nodes.version)
            plain = side.plain(answer)
            if plain.get("endpoint_type") == 2 and plain["controller_id"] == leader:
                plain["controller_id"] = "<the active controller>"
            rows = sorted(plain["brokers"], key=lambda row: row["broker_id"])
            if plain["controller_id"] in NODES:
                plain["controller_id"] = "<some broker>"
            side.heard.append((f"DESCRIBE_CLUSTER v{nodes.version}", {**plain, "brokers": rows}))


@case(QUORUM)
def the_quorum_from_every_broker_and_controller(nodes: Nodes) -> None:
    """A controller that does not lead sends elsewhere; brokers hand on to who does."""
    rows = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]
    for side in (*map(nodes.broker, NODES), nodes.active, nodes.inactive):
        answer = side.plain(side.call(QUORUM, {"topics": rows}, nodes.version))
        for topic in answer["topics"]:
            for partition in topic["partitions"]:
                partition["high_watermark"] = partition["high_watermark"] > 0
                for kind in ("current_voters", "observers"):
                    replicas = [_without_progress(one) for one in partition[kind]]
                    partition[kind] = sorted(replicas, key=lambda one: str(one["replica_id"]))
        side.heard.append((f"DESCRIBE_QUORUM v{nodes.version}", answer))


def _without_progress(replica: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value > 0 if name in ("log_end_offset", "last_fetch_timestamp") else value
        for name, value in replica.items()
    }


@case(FIND, since=1)
def coordinators_from_every_broker(nodes: Nodes) -> None:
    """All name the same one."""
    for kind in (0, 1):
        body = {"key": nodes.name, "key_type": kind, "coordinator_keys": [nodes.name]}
        found = [_coordinator(nodes, one, body) for one in NODES]
        nodes.broker(1).heard.append(("FIND_COORDINATOR", len(set(found))))


def _coordinator(nodes: Nodes, asked: int, body: dict[str, Any]) -> tuple[int, str, int]:
    """Its topic may have to be made first."""

    def found() -> Any:
        answer = nodes.broker(asked).call(FIND, body, nodes.version)
        one = answer if nodes.version < 4 else answer.coordinators[0]
        return one if one.error_code.value == 0 else None

    one = wait_for("a coordinator is known", found)
    return one.node_id, one.host, one.port


@case(ApiKey.DESCRIBE_LOG_DIRS)
def log_dirs_of_every_broker(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2], 1: [2, 3]})
    body = {"topics": [{"topic": topic, "partitions": [0, 1]}]}
    nodes.ask_brokers(ApiKey.DESCRIBE_LOG_DIRS, body)


@case(ApiKey.DESCRIBE_CONFIGS)
def configs_of_a_broker_from_each(nodes: Nodes) -> None:
    """What a broker was started with it alone can tell."""
    row = {"resource_type": BROKER, "resource_name": "2", "configuration_keys": ["node.id"]}
    nodes.ask_brokers(ApiKey.DESCRIBE_CONFIGS, {"resources": [row]})
    nobody = {"resources": [{**row, "resource_name": "77"}]}
    nodes.ask_controllers(ApiKey.DESCRIBE_CONFIGS, nobody)


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def settings_of_another_broker_are_changed(nodes: Nodes) -> None:
    """A controller that is asked directly judges no setting of brokers in Apache Kafka; kafkapy's
    refuses what cannot be changed."""
    alter = ApiKey.INCREMENTAL_ALTER_CONFIGS
    for key, operation, value in (
        ("log.cleaner.threads", 0, "2"),
        ("log.cleaner.threads", 1, None),
        ("node.id", 0, "9"),
        ("no.such.key", 0, "9"),
        ("no.such.key", 1, None),
    ):
        config = {"name": key, "config_operation": operation, "value": value}
        row = {"resource_type": BROKER, "resource_name": "2", "configs": [config]}
        body = {"resources": [row], "validate_only": operation == 0}
        nodes.ask_brokers(alter, body)
        if key != "node.id":
            nodes.ask_controllers(alter, body)


@case(ApiKey.UPDATE_FEATURES, since=1)
def features_are_judged_by_whoever_is_asked(nodes: Nodes) -> None:
    for feature, level in (("no.such.feature", 1), ("metadata.version", 99), ("group.version", 1)):
        row = {"feature": feature, "max_version_level": level, "upgrade_type": 1}
        body = {"feature_updates": [row], "timeout": 5000, "validate_only": True}
        nodes.ask_brokers(ApiKey.UPDATE_FEATURES, body)
        nodes.ask_controllers(ApiKey.UPDATE_FEATURES, body)


@case(ApiKey.LIST_CONFIG_RESOURCES)
def config_resources_from_every_broker(nodes: Nodes) -> None:
    for kind in (BROKER, 8, 16):
        nodes.ask_brokers(ApiKey.LIST_CONFIG_RESOURCES, {"resource_types": [kind]})


@case(ApiKey.API_VERSIONS)
def versions_of_brokers_and_controllers(nodes: Nodes) -> None:
    body = {"client_software_name": "differ", "client_software_version": "1.0"}
    nodes.ask_brokers(ApiKey.API_VERSIONS, body)
    nodes.ask_controllers(ApiKey.API_VERSIONS, body)
