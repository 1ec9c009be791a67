"""Who votes on the metadata: whom to ask, and what it tells. For the commands of this room."""

import time
from typing import Any, Final
from uuid import UUID

from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.core.addresses import shown
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.kraft.uuids import uuid_from_text
from kafkapy.protocol.api_keys import ApiKey

METADATA_TOPIC: Final = "__cluster_metadata"
_CONTROLLERS: Final = 2  # what DescribeCluster calls them
_PATIENCE_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1
_NOBODY_LEADS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER)


def leader_of(addresses: str) -> Client:
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


def described(client: Client) -> Any:
    answer = _asked(client)
    check(_code(answer), "the quorum")
    return answer


def leader_address(client: Client) -> str:
    """Of the controller that leads, on its own listener."""
    found = described(client)
    leader = found.topics[0].partitions[0].leader_id
    for node in found.nodes:
        for one in node.listeners:
            if node.node_id == leader:
                return shown(one.host, one.port)
    raise Failed(f"the address of controller {leader} is not known")


def directory_of(given: str | None, node_id: int, replicas: Any, what_they_do: str) -> UUID:
    """Of its metadata: as given, or as its leader was told."""
    if given is not None:
        try:
            return uuid_from_text(given)
        except Corrupt as bad:
            raise Failed(f"--directory {given}: {bad}") from None
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


def remove_voter(client: Client, node_id: int, directory: UUID) -> None:
    answer = client.ask(
        ApiKey.REMOVE_RAFT_VOTER,
        {"cluster_id": None, "voter_id": node_id, "voter_directory_id": directory},
    )
    check(answer.error_code, f"node {node_id}", answer.error_message)


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


def _code(answer: Any) -> int:
    code: int = answer.error_code or answer.topics[0].partitions[0].error_code
    return code


def _asked(client: Client) -> Any:
    asked = {"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
    return client.ask(ApiKey.DESCRIBE_QUORUM, {"topics": [asked]})
