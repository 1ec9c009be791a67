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
from uuid import UUID

from kafkapy.cli.arguments import INT32, asking
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.core.addresses import shown
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.kraft.uuids import uuid_from_text
from kafkapy.protocol.api_keys import ApiKey

METADATA_TOPIC: Final = "__cluster_metadata"
_CONTROLLERS: Final = 2  # what DescribeCluster calls them
_TIMEOUT_MS: Final = 30_000
_PATIENCE_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1
_NOBODY_LEADS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER)
_NEW_VOTER: Final = re.compile(r"(?P<id>\d+)@\[?(?P<host>[0-9a-zA-Z\-%._:]+?)\]?:(?P<port>\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="leader, voters, observers", parents=[common])
    status.set_defaults(run=_status)
    add = actions.add_parser("add", help="one voter more", parents=[common])
    add.add_argument("voter", metavar="ID@HOST:PORT", help="its id and its controller listener")
    add.add_argument("--directory", metavar="ID", help="of its metadata; default: as it told")
    add.add_argument("--listener", metavar="NAME", help="default: as the other voters call it")
    add.set_defaults(run=_add)
    remove = actions.add_parser("remove", help="a voter less", parents=[common])
    remove.add_argument("voter", type=INT32, metavar="ID")
    remove.add_argument("--directory", metavar="ID", help="of its metadata; default: as it told")
    remove.set_defaults(run=_remove)


def _status(options: argparse.Namespace) -> int:
    with _leader_of(options.server) as client:
        found = _described(client)
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
    with _leader_of(options.server) as client:
        found = _described(client)
        partition = found.topics[0].partitions[0]
        directory = _directory(options, node_id, partition.observers, "follows the quorum")
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
    with _leader_of(options.server) as client:
        partition = _described(client).topics[0].partitions[0]
        directory = _directory(options, options.voter, partition.current_voters, "votes")
        answer = client.ask(
            ApiKey.REMOVE_RAFT_VOTER,
            {
                "cluster_id": None,
                "voter_id": options.voter,
                "voter_directory_id": directory,
            },
        )
    check(answer.error_code, f"node {options.voter}", answer.error_message)
    show([{"removed": options.voter, "directory": directory}], as_json=options.json)
    return 0


def _leader_of(addresses: str) -> Client:
    """Connected to a broker, or to the controller that leads; while none does, for a while."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        client = _knows_leader(addresses)
        if client is not None:
            if _code(_asked(client)) not in _NOBODY_LEADS or time.monotonic() > deadline:
                return client
            client.__exit__()
        elif time.monotonic() > deadline:
            raise Failed(f"nobody leads the quorum, as far as {addresses} knows")
        time.sleep(_PAUSE_SECONDS)


def _knows_leader(addresses: str) -> Client | None:
    client = Client(addresses)
    try:
        asked = {
            "include_cluster_authorized_operations": False,
            "endpoint_type": _CONTROLLERS,
            "include_fenced_brokers": False,
        }
        answer = client.ask(ApiKey.DESCRIBE_CLUSTER, asked)
    except Failed:
        client.__exit__()
        raise
    if answer.error_code:
        return client  # a broker, which knows no controllers but hands questions on to them
    client.__exit__()
    for one in answer.brokers:
        if one.broker_id == answer.controller_id:
            return Client(shown(one.host, one.port))
    return None


def _described(client: Client) -> Any:
    answer = _asked(client)
    check(_code(answer), "the quorum")
    return answer


def _code(answer: Any) -> int:
    code: int = answer.error_code or answer.topics[0].partitions[0].error_code
    return code


def _asked(client: Client) -> Any:
    asked = {"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
    return client.ask(ApiKey.DESCRIBE_QUORUM, {"topics": [asked]})


def _directory(options: argparse.Namespace, node_id: int, replicas: Any, what_they_do: str) -> UUID:
    if options.directory is not None:
        try:
            return uuid_from_text(options.directory)
        except Corrupt as bad:
            raise Failed(f"--directory {options.directory}: {bad}") from None
    found: list[UUID] = [
        one.replica_directory_id
        for one in replicas
        if one.replica_id == node_id and getattr(one, "replica_directory_id", None) is not None
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failed(f"node {node_id} has told several directories: say which, with --directory")
    raise Failed(f"no node {node_id} {what_they_do}, as far as its leader knows; is it running?")


def _end_of(found: Any) -> int:
    partition = found.topics[0].partitions[0]
    ends = [one.log_end_offset for one in (*partition.current_voters, *partition.observers)]
    return max(ends, default=0)


def _ago(now_ms: float, timestamp: int) -> int | None:
    return None if timestamp < 0 else max(int(now_ms - timestamp), 0)
