"""What is wrong with a cluster that runs, seen from where its clients are.

Every broker that the cluster tells of is looked up, connected to and asked who it is: names
that lead elsewhere from here than from inside are found so, whoever is at fault.
"""

import time
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, Final

from kafkapy.cli.checks.certificates import ends_soon
from kafkapy.cli.checks.disks import check_space
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.checks.machine import Machine
from kafkapy.cli.checks.refusals import refusal
from kafkapy.cli.client import Client, address_of, host_and_port
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

TIMEOUT_S: Final = 5.0
# A voter fetches every half second at least; an active controller gives up after two.
_LOST_VOTER_MS: Final = 10_000
_CLOCK_MS: Final = 1000
_METADATA_TOPIC: Final = "__cluster_metadata"
_BROKER: Final = 4  # a resource type of DescribeConfigs
_NOT_PERMITTED: Final = Finding(
    "not-permitted", "who asks", "may not DESCRIBE the cluster: not all was looked at",
    "Ask as a super user, or grant DESCRIBE and DESCRIBE_CONFIGS on the cluster.",
)  # fmt: skip


def running(servers: str, machine: Machine) -> Iterator[Finding]:
    """Failed if none of the servers answers at all, and it is not known why."""
    try:
        yield from _running(servers, machine)
    except Failed as failed:
        asked = [one.strip() for one in servers.split(",")]
        found = [refusal(one, one, failed, TIMEOUT_S) for one in asked]
        if not any(found):
            raise
        yield from (one for one in found if one is not None)


def _running(servers: str, machine: Machine) -> Iterator[Finding]:
    with Client(servers, TIMEOUT_S) as client:
        metadata = client.metadata(None)
        yield from _fenced(client)
        yield from _not_whole(metadata)
        yield from _cluster_ids(servers, metadata.cluster_id)
        bootstrap_is_here = _is_here(servers, machine)
        for broker in metadata.brokers:
            yield from _broker(broker, metadata.cluster_id, machine, bootstrap_is_here)
    with Client(servers, TIMEOUT_S) as client:  # what follows may end the connection
        yield from _quorum(client)


def _is_here(servers: str, machine: Machine) -> bool:
    hosts = [host_and_port(one.strip())[0] for one in servers.split(",")]
    return any(machine.is_own(one) for host in hosts for one in machine.addresses(host))


def _broker(
    broker: Any, cluster_id: str, machine: Machine, bootstrap_is_here: bool
) -> Iterator[Finding]:
    where, about = address_of(broker), f"broker {broker.node_id}"
    found = machine.addresses(broker.host)
    if not found:
        yield Finding(
            "advertised-name-unknown", about, f"it advertises {where}, a name unknown here",
            "Make the name known to clients, or advertise another to them on a listener of "
            "their own.",
        )  # fmt: skip
        return
    if all(ip_address(one.partition("%")[0]).is_loopback for one in found) and (
        not bootstrap_is_here
    ):
        yield Finding(
            "advertised-loopback", about, f"it advertises {where}: to every client, itself",
            "Advertise the name by which clients reach the broker.",
        )  # fmt: skip
        return
    try:
        with Client(where, TIMEOUT_S) as client:
            yield from _asked(client, broker.node_id, where, cluster_id)
    except Failed as failed:
        yield refusal(about, where, failed, TIMEOUT_S) or Finding(
            "advertised-unreachable", about, f"it advertises {where}: {failed}",
            "Open the way from here to there (published port, firewall), or advertise an "
            "address that clients reach.",
        )  # fmt: skip


def _asked(client: Client, node_id: int, where: str, cluster_id: str) -> Iterator[Finding]:
    about = f"broker {node_id}"
    yield from ends_soon(about, client.certificate or {})
    found = client.metadata([]).cluster_id
    if found != cluster_id:
        yield _of_another_cluster(where, found, cluster_id)
        return
    if not _is_node(client, node_id):
        yield Finding(
            "advertised-another-node", about,
            f"at {where}, which it advertises, another node answers",
            "Give each broker an address of its own, which leads to it from inside and outside.",
        )  # fmt: skip
        return
    yield from _directories(client, about)


def _is_node(client: Client, node_id: int) -> bool:
    """A broker describes no settings but its own."""
    resource = {"resource_type": _BROKER, "resource_name": str(node_id)}
    resource["configuration_keys"] = ["node.id"]
    body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
    result = client.ask(ApiKey.DESCRIBE_CONFIGS, body).results[0]
    return bool(result.error_code != ErrorCode.INVALID_REQUEST)


def _directories(client: Client, about: str) -> Iterator[Finding]:
    answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, {"topics": []})
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        yield _NOT_PERMITTED
        return
    for one in answer.results:
        if one.error_code:
            yield Finding(
                "directory-unusable", f"{about}, {one.log_dir}",
                ErrorCode(one.error_code).name.lower().replace("_", " "),
                "See the broker's log; replace the disk, and start the broker again.",
            )  # fmt: skip
        else:
            about_it = f"{about}, {one.log_dir}"
            yield from check_space(about_it, one.total_bytes, one.usable_bytes)


def _cluster_ids(servers: str, cluster_id: str) -> Iterator[Finding]:
    """Of the servers that were named: a client that starts from any should get to the same."""
    for address in (one.strip() for one in servers.split(",")):
        try:
            with Client(address, TIMEOUT_S) as client:
                found = client.metadata([]).cluster_id
        except Failed as failed:
            yield refusal(address, address, failed, TIMEOUT_S) or Finding(
                "advertised-unreachable", address, str(failed),
                "Start it, or name servers that are there.",
            )  # fmt: skip
            continue
        if found != cluster_id:
            yield _of_another_cluster(address, found, cluster_id)


def _of_another_cluster(where: str, found: str, cluster_id: str) -> Finding:
    return Finding(
        "cluster-id-differs", where, f"it is of the cluster {found}, others of {cluster_id}",
        "Format its directories for the cluster that it shall be in, or correct the address.",
    )  # fmt: skip


def _fenced(client: Client) -> Iterator[Finding]:
    about = {"endpoint_type": 1, "include_fenced_brokers": True}
    about["include_cluster_authorized_operations"] = False
    for one in client.ask(ApiKey.DESCRIBE_CLUSTER, about).brokers:
        if one.is_fenced:
            yield Finding(
                "broker-fenced", f"broker {one.broker_id}", "the controller does not hear of it",
                "Start it; if it runs, it does not reach the controllers: see its log.",
            )  # fmt: skip


def _not_whole(metadata: Any) -> Iterator[Finding]:
    rows = [row for topic in metadata.topics for row in topic.partitions]
    leaderless = sum(1 for row in rows if row.leader_id < 0)
    behind = sum(1 for row in rows if len(row.isr_nodes) < len(row.replica_nodes))
    if leaderless or behind:
        yield Finding(
            "partitions-not-whole", "partitions",
            f"{leaderless} without a leader, {behind} with replicas that are not in sync",
            "Start the brokers that are missing; they catch up by themselves.",
        )  # fmt: skip


def _quorum(client: Client) -> Iterator[Finding]:
    partition = {"topic_name": _METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
    asked = time.time()
    try:
        answer = client.ask(ApiKey.DESCRIBE_QUORUM, {"topics": [partition]})
    except Failed as failed:
        yield _no_majority(str(failed))
        return
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        yield _NOT_PERMITTED
        return
    if answer.error_code or answer.topics[0].partitions[0].error_code:
        yield _no_majority("no controller leads the quorum")
        return
    found = answer.topics[0].partitions[0]
    voters = {one.replica_id: one for one in found.current_voters}
    leader = voters.get(found.leader_id)
    # Its own times are the leader's clock as it answers, in Kafka too.
    now = leader.last_caught_up_timestamp if leader is not None else -1
    if now > 0:
        yield from _clock(found.leader_id, now, asked, time.time())
    lost = [
        voter_id
        for voter_id, one in voters.items()
        if voter_id != found.leader_id
        and now > 0
        and now - one.last_fetch_timestamp > _LOST_VOTER_MS
    ]
    for voter_id in lost:
        rest = len(voters) - len(lost)
        yield Finding(
            "voter-missing", f"voter {voter_id}",
            f"it does not follow; {rest} of {len(voters)} do, and {len(voters) // 2 + 1} must",
            "Start it; if it runs, the others do not reach it: see its log.",
        )  # fmt: skip


def _no_majority(why: str) -> Finding:
    return Finding(
        "no-majority", "the metadata quorum", why,
        "Start controllers until more than half of the voters run and reach each other.",
    )  # fmt: skip


def _clock(leader_id: int, told_ms: int, asked: float, answered: float) -> Iterator[Finding]:
    """What it told was so at some moment between the question and the answer."""
    early, late = asked * 1000 - told_ms, told_ms - answered * 1000
    if max(early, late) > _CLOCK_MS:
        way = "behind" if early > late else "ahead of"
        yield Finding(
            "clock-differs", f"controller {leader_id}",
            f"its clock is {max(early, late) / 1000:.1f} s {way} this machine's",
            "Let both keep time with NTP (chronyc tracking).",
        )  # fmt: skip
