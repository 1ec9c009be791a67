"""`kafkapy topics`: list, describe, create, alter, delete topics, their configs and leaders."""

import argparse
from typing import Any, Final

from kafkapy.cli.arguments import INT16, INT32, asking
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.cli.topics import elect, shrink
from kafkapy.protocol.api_keys import ApiKey

TOPIC_RESOURCE: Final = 2
_SET, _DELETE = 0, 1
_SOURCES: Final = {
    1: "topic",
    2: "broker, dynamic",
    3: "cluster, dynamic",
    4: "server.properties",
    5: "default",
}
_TIMEOUT_MS: Final = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser(
        "list", help="names, partitions and replicas", parents=[common]
    ).set_defaults(run=_list)
    describe = actions.add_parser(
        "describe", help="partitions, leaders, replicas, offsets", parents=[common]
    )
    describe.add_argument("topic")
    describe.set_defaults(run=_describe)
    create = actions.add_parser("create", help="create a topic", parents=[common])
    create.add_argument("topic")
    create.add_argument("--partitions", type=INT32, default=-1, help="default: num.partitions")
    create.add_argument("--replication-factor", type=INT16, default=-1)
    create.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    create.set_defaults(run=_create)
    alter = actions.add_parser("alter", help="add partitions, change settings", parents=[common])
    alter.add_argument("topic")
    alter.add_argument("--partitions", type=INT32, help="how many there will be")
    alter.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    alter.add_argument("--delete-config", action="append", default=[], metavar="KEY")
    alter.set_defaults(run=_alter)
    shrink.add_arguments(
        actions.add_parser(
            "shrink",
            help="move a topic into one with fewer partitions, in order, with all records",
            parents=[common],
        )
    )
    elect.add_arguments(
        actions.add_parser(
            "elect",
            help="elect preferred leaders, or unclean ones where there is no leader",
            parents=[common],
        )
    )
    delete = actions.add_parser(
        "delete", help="delete topics and all their records", parents=[common]
    )
    delete.add_argument("topic", nargs="+")
    delete.set_defaults(run=_delete)
    configs = actions.add_parser(
        "configs", help="settings in force, and where each was set", parents=[common]
    )
    configs.add_argument("topic")
    configs.add_argument("--all", action="store_true", help="also settings at their defaults")
    configs.set_defaults(run=_configs)


def _list(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        rows = [
            {
                "topic": topic.name,
                "partitions": len(topic.partitions),
                "replicas": max((len(one.replica_nodes) for one in topic.partitions), default=0),
                "id": topic.topic_id,
            }
            for topic in sorted(client.metadata(None).topics, key=lambda one: one.name)
        ]
    show(rows, as_json=options.json, empty="no topics")
    return 0


def _describe(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        topic = client.metadata([options.topic]).topics[0]
        check(topic.error_code, f"topic {options.topic}")
        indexes = [one.partition_index for one in topic.partitions if one.leader_id >= 0]
        starts, _ = client.known_offsets(options.topic, dict.fromkeys(indexes, -2))
        ends, _ = client.known_offsets(options.topic, dict.fromkeys(indexes, -1))
    rows = [
        {
            "partition": one.partition_index,
            "leader": one.leader_id,
            "epoch": one.leader_epoch,
            "replicas": list(one.replica_nodes),
            "isr": list(one.isr_nodes),
            "offline": list(one.offline_replicas),
            "start": starts.get(one.partition_index),
            "end": ends.get(one.partition_index),
        }
        for one in sorted(topic.partitions, key=lambda one: one.partition_index)
    ]
    show(rows, as_json=options.json)
    return 0


def _create(options: argparse.Namespace) -> int:
    asked = {
        "name": options.topic,
        "num_partitions": options.partitions,
        "replication_factor": options.replication_factor,
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in _pairs(options.config)],
    }
    with Client(options.server) as client:
        answer = client.ask(
            ApiKey.CREATE_TOPICS,
            {"topics": [asked], "timeout": _TIMEOUT_MS, "validate_only": False},
        )
    made = answer.topics[0]
    check(made.error_code, f"topic {options.topic}", made.error_message)
    row = {"topic": made.name, "partitions": made.num_partitions, "id": made.topic_id}
    show([row], as_json=options.json)
    return 0


def _alter(options: argparse.Namespace) -> int:
    changes = [
        {"name": key, "config_operation": _SET, "value": value}
        for key, value in _pairs(options.config)
    ] + [{"name": key, "config_operation": _DELETE, "value": None} for key in options.delete_config]
    if not changes and options.partitions is None:
        raise Failed("nothing to alter: give --partitions, --config or --delete-config")
    with Client(options.server) as client:
        if options.partitions is not None:
            _grow(client, options.topic, options.partitions)
        if changes:
            _configure(client, options.topic, changes)
    return 0


def _grow(client: Client, topic: str, count: int) -> None:
    answer = client.ask(
        ApiKey.CREATE_PARTITIONS,
        {
            "topics": [{"name": topic, "count": count, "assignments": None}],
            "timeout": _TIMEOUT_MS,
            "validate_only": False,
        },
    )
    check(answer.results[0].error_code, f"topic {topic}", answer.results[0].error_message)


def _configure(client: Client, topic: str, changes: list[dict[str, Any]]) -> None:
    answer = client.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        {
            "resources": [
                {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configs": changes}
            ],
            "validate_only": False,
        },
    )
    check(answer.responses[0].error_code, f"topic {topic}", answer.responses[0].error_message)


def _delete(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        answer = client.ask(
            ApiKey.DELETE_TOPICS,
            {
                "topics": [{"name": name, "topic_id": None} for name in options.topic],
                "timeout": _TIMEOUT_MS,
            },
        )
    # The others are gone all the same: name every one that is not.
    check_all((one.error_code, f"topic {one.name}", one.error_message) for one in answer.responses)
    return 0


def _configs(options: argparse.Namespace) -> int:
    asked = {"resource_type": TOPIC_RESOURCE, "resource_name": options.topic}
    with Client(options.server) as client:
        answer = client.ask(
            ApiKey.DESCRIBE_CONFIGS,
            {"resources": [{**asked, "configuration_keys": None}]},
        )
    found = answer.results[0]
    check(found.error_code, f"topic {options.topic}", found.error_message)
    rows = [
        {"config": one.name, "value": one.value, "set by": _SOURCES.get(one.config_source, "?")}
        for one in sorted(found.configs, key=lambda one: one.name)
        if options.all or one.config_source != 5
    ]
    show(rows, as_json=options.json, empty="all settings are defaults (--all shows them)")
    return 0


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise Failed(f"--config {one}: expected KEY=VALUE, for example retention.ms=60000")
        pairs.append((key.strip(), value.strip()))
    return pairs
