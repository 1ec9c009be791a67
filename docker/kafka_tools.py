#!/opt/kafkapy/bin/python
"""What compose files that were written for apache/kafka call in /opt/kafka/bin: in health checks,
and to make their topics. It does what its name says:

    kafka-broker-api-versions.sh    each broker, and which versions of each API it has
    kafka-topics.sh                 --list, --create, --describe, --delete
    kafka-cluster.sh                cluster-id

An option that is not here is refused. What is described looks as `kafkapy topics` shows it.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from kafkapy.cli.client import Client, address_of
from kafkapy.cli.login import choose
from kafkapy.cli.main import Failed
from kafkapy.cli.main import main as kafkapy
from kafkapy.protocol.api_keys import ApiKey


def main(name: str, arguments: list[str]) -> int:
    asked = _parser(name).parse_args(arguments)
    try:
        choose(asked.command_config)
        code: int = _TOOLS[name](asked)
    except Failed as failed:
        print(f"{name}: {failed}", file=sys.stderr)
        return 1
    return code


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name, allow_abbrev=False)
    if name == "kafka-cluster.sh":
        parser.add_argument("action", choices=["cluster-id"])
    parser.add_argument("--bootstrap-server", required=True, dest="server")
    parser.add_argument("--command-config", "--config-file")
    if name == "kafka-topics.sh":
        action = parser.add_mutually_exclusive_group(required=True)
        for one in ("list", "create", "describe", "delete"):
            action.add_argument(f"--{one}", action="store_const", const=one, dest="action")
        parser.add_argument("--topic")
        parser.add_argument("--partitions")
        parser.add_argument("--replication-factor")
        parser.add_argument("--config", action="append", default=[])
        parser.add_argument("--if-not-exists", action="store_true")
        parser.add_argument("--if-exists", action="store_true")
    return parser


def _topics(asked: argparse.Namespace) -> int:
    with Client(asked.server) as client:
        there = sorted(one.name for one in client.metadata(None).topics)
    if asked.action == "list":
        print("\n".join(there))
        return 0
    if asked.topic is None:
        raise Failed("--topic says which")
    if asked.action == "create" and asked.if_not_exists and asked.topic in there:
        return 0
    if asked.action != "create" and asked.if_exists and asked.topic not in there:
        return 0
    command = ["topics", asked.action, asked.topic, "--bootstrap-server", asked.server]
    if asked.command_config is not None:
        command += ["--command-config", asked.command_config]
    if asked.action == "create":
        for option, value in (
            ("--partitions", asked.partitions),
            ("--replication-factor", asked.replication_factor),
        ):
            command += [] if value is None else [option, value]
        command += [f"--config={one}" for one in asked.config]
    return kafkapy(command)


def _versions(asked: argparse.Namespace) -> int:
    with Client(asked.server) as client:
        brokers = sorted(client.metadata([]).brokers, key=lambda one: int(one.node_id))
    for one in brokers:
        where = address_of(one)
        shown = f"{where} (id: {one.node_id} rack: {one.rack or 'null'}) ->"
        about = {"client_software_name": "kafkapy", "client_software_version": "0"}
        try:
            with Client(where) as client:
                told = client.ask(ApiKey.API_VERSIONS, about).api_keys
        except Failed as failed:
            # As with Kafka's own: what was asked has answered. In a container the address that the
            # host is told of is often nowhere.
            print(f"{shown} ERROR: {failed}")
            continue
        print(f"{shown} (")
        print(",\n".join(f"\t{_shown(row)}" for row in told))
        print(")")
    return 0


def _shown(row: Any) -> str:
    known = {int(one): one.name for one in ApiKey}
    name = known.get(row.api_key, "UNKNOWN")
    return f"{name}({row.api_key}): {row.min_version} to {row.max_version}"


def _cluster(asked: argparse.Namespace) -> int:
    with Client(asked.server) as client:
        print(f"Cluster ID: {client.metadata([]).cluster_id}")
    return 0


_TOOLS = {
    "kafka-topics.sh": _topics,
    "kafka-broker-api-versions.sh": _versions,
    "kafka-cluster.sh": _cluster,
}

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
