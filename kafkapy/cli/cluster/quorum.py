"""`kafkapy quorum`: who votes on the cluster's metadata, how far they are; voters come and go.

    kafkapy quorum status                who leads, and every replica of the metadata log
    kafkapy quorum add 4@host:9093       a controller that follows already becomes a voter
    kafkapy quorum remove 2              a voter is one no more

Brokers are asked as well as controllers: a broker hands the question on, a controller names the
one that leads. What kafka-metadata-quorum does, over the same requests (KIP-595, KIP-853).
"""

import argparse
import re
import time
from typing import Any, Final

from kafkapy.cli.arguments import INT32, asking
from kafkapy.cli.client import check
from kafkapy.cli.cluster.voters import described, directory_of, leader_of, remove_voter
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.addresses import shown
from kafkapy.protocol.api_keys import ApiKey

_TIMEOUT_MS: Final = 30_000
_NEW_VOTER: Final = re.compile(r"(?P<id>\d+)@\[?(?P<host>[0-9a-zA-Z\-%._:]+?)\]?:(?P<port>\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="leader, voters, observers", parents=[common])
    status.set_defaults(run=_status)
    add = actions.add_parser("add", help="add a voter", parents=[common])
    add.add_argument("voter", metavar="ID@HOST:PORT", help="its id and its controller listener")
    add.add_argument(
        "--directory",
        metavar="ID",
        help="of its metadata directory (default: the one it registered with)",
    )
    add.add_argument(
        "--listener", metavar="NAME", help="its name (default: the one of the other voters)"
    )
    add.set_defaults(run=_add)
    remove = actions.add_parser("remove", help="remove a voter", parents=[common])
    remove.add_argument("voter", type=INT32, metavar="ID")
    remove.add_argument(
        "--directory",
        metavar="ID",
        help="of its metadata directory (default: the one it registered with)",
    )
    remove.set_defaults(run=_remove)


def _status(options: argparse.Namespace) -> int:
    with leader_of(options.server) as client:
        found = described(client)
    partition, end = found.topics[0].partitions[0], _end_of(found)
    addresses = {
        node.node_id: shown(one.host, one.port)
        for node in getattr(found, "nodes", ())
        for one in node.listeners[:1]
    }
    now_ms = time.time() * 1000
    rows = []
    for kind, replicas in (
        ("voter", partition.current_voters),
        ("observer", partition.observers),
    ):
        for one in sorted(replicas, key=lambda one: int(one.replica_id)):
            is_leader = one.replica_id == partition.leader_id
            rows.append(
                {
                    "node": one.replica_id,
                    "role": "leader" if is_leader else kind,
                    "epoch": partition.leader_epoch,
                    "end": one.log_end_offset,
                    "lag": end - one.log_end_offset,
                    "fetched_ms_ago": _ago(now_ms, one.last_fetch_timestamp),
                    "caught_up_ms_ago": _ago(now_ms, one.last_caught_up_timestamp),
                    "address": addresses.get(one.replica_id),
                    "directory": getattr(one, "replica_directory_id", None),
                }
            )
    show(rows, as_json=options.json)
    return 0


def _add(options: argparse.Namespace) -> int:
    wanted = _NEW_VOTER.fullmatch(options.voter)
    if wanted is None:
        raise Failed(f"{options.voter}: expected ID@HOST:PORT, for example 4@127.0.0.1:9093")
    node_id = int(wanted["id"])
    with leader_of(options.server) as client:
        found = described(client)
        partition = found.topics[0].partitions[0]
        directory = directory_of(
            options.directory, node_id, partition.observers, "follows the quorum"
        )
        names = [one.name for node in found.nodes for one in node.listeners]
        listener = options.listener or (names[0] if names else "CONTROLLER")
        answer = client.ask(
            ApiKey.ADD_RAFT_VOTER,
            {
                "cluster_id": None,
                "timeout": _TIMEOUT_MS,
                "voter_id": node_id,
                "voter_directory_id": directory,
                "listeners": [
                    {"name": listener, "host": wanted["host"], "port": int(wanted["port"])}
                ],
                "ack_when_committed": True,
            },
        )
    check(answer.error_code, f"node {node_id}", answer.error_message)
    show([{"added": node_id, "directory": directory}], as_json=options.json)
    return 0


def _remove(options: argparse.Namespace) -> int:
    with leader_of(options.server) as client:
        partition = described(client).topics[0].partitions[0]
        directory = directory_of(
            options.directory, options.voter, partition.current_voters, "votes"
        )
        remove_voter(client, options.voter, directory)
    show([{"removed": options.voter, "directory": directory}], as_json=options.json)
    return 0


def _end_of(found: Any) -> int:
    partition = found.topics[0].partitions[0]
    ends = [one.log_end_offset for one in (*partition.current_voters, *partition.observers)]
    return max(ends, default=0)


def _ago(now_ms: float, timestamp: int) -> int | None:
    return None if timestamp < 0 else max(int(now_ms - timestamp), 0)
