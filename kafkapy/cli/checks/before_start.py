"""What keeps a configured node from serving, looked at on its machine before it is started."""

import errno
import os
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import parse_voters
from kafkapy.broker.node.identity import is_alone
from kafkapy.cli.checks.certificates import check_certificates
from kafkapy.cli.checks.disks import check_space
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.checks.logins import check_logins
from kafkapy.cli.checks.machine import Machine
from kafkapy.core.addresses import shown
from kafkapy.core.errors import Corrupt
from kafkapy.kraft.storage.meta_properties import META_PROPERTIES, parse_meta_properties

_TIMEOUT_S: Final = 2.0
# One fsync holds up everybody who waits for an acknowledgement with flush.messages=1, and
# every change of metadata.
SLOW_FSYNC_S: Final = 0.05
# Half of the descriptors are for files, at most 16,384 (server/run.py); the rest connections.
_ENOUGH_FILES: Final = 65_536
# server/run.py asks for a backlog of 1024; the kernel cuts it to this.
_ENOUGH_BACKLOG: Final = 1024
_MOST_SWAPPINESS: Final = 10
_ENOUGH_MEMORY: Final = 256 << 20


def before_start(
    config: BrokerConfig, machine: Machine, cluster_id: str | None
) -> Iterator[Finding]:
    """`cluster_id`: which cluster the node is meant for, if somebody said."""
    yield from _listeners(config, machine)
    yield from _advertised(config, machine)
    yield from check_certificates(config)
    yield from check_logins(config)
    yield from _voters(config, machine)
    yield from _cluster_ids(config, cluster_id)
    for path in dict.fromkeys((config.metadata_directory, *config.data_directories)):
        yield from _disk(path, machine)
    yield from _limits(machine)


def _listeners(config: BrokerConfig, machine: Machine) -> Iterator[Finding]:
    for one in config.listening.all:
        where = shown(one.host or "*", one.port)
        why = machine.why_not_bound(one.host or "0.0.0.0", one.port)
        if why == errno.EADDRINUSE:
            yield Finding(
                "port-in-use", f"listener {one.name}", f"something else listens on {where}",
                "Stop it (ss -ltnp names it), or change listeners.",
            )  # fmt: skip
        elif why is not None:
            yield Finding(
                "address-not-here", f"listener {one.name}",
                f"{where} cannot be listened on: {os.strerror(why)}",
                "Listen on an address of this machine, or on all: NAME://:PORT; what others "
                "connect to is said by advertised.listeners.",
            )  # fmt: skip


def _advertised(config: BrokerConfig, machine: Machine) -> Iterator[Finding]:
    for one in config.listening.advertised:
        if not one.host or one.name in config.listening.controller_names:
            continue
        about = f"advertised listener {one.name}"
        found = machine.addresses(one.host)
        if not found:
            yield Finding(
                "advertised-name-unknown", about, f"nobody knows {one.host}",
                "Advertise a name that clients and brokers can look up.",
            )  # fmt: skip
        elif all(_is_loopback(address) for address in found):
            is_between_brokers = one.name == config.listening.inter_broker_name
            if is_between_brokers and not is_alone(config):
                yield Finding(
                    "advertised-loopback", about,
                    f"{one.host} is each machine itself, and the other brokers are told it",
                    "Advertise the name by which the other brokers reach this one.",
                )  # fmt: skip
        elif not any(machine.is_own(address) for address in found):
            yield Finding(
                "advertised-elsewhere", about,
                f"{one.host} is {', '.join(found)}, which is not this machine",
                "Fine if something there passes connections on to this node; else advertise "
                "this machine.",
            )  # fmt: skip


def _voters(config: BrokerConfig, machine: Machine) -> Iterator[Finding]:
    voters = parse_voters(config.controller_quorum_voters)
    if len(voters) > 1 and len(voters) % 2 == 0:
        yield Finding(
            "even-quorum", "controller.quorum.voters",
            f"{len(voters)} voters go on without {(len(voters) - 1) // 2}, as "
            f"{len(voters) - 1} would",
            "Use an odd number of voters.",
        )  # fmt: skip
    others = [one for one in voters if one.node_id != config.node_id]
    for one in others:
        if not machine.addresses(one.host):
            yield Finding(
                "voter-name-unknown", f"voter {one.node_id}", f"nobody knows {one.host}",
                "Correct controller.quorum.voters, or start the machine that has this name.",
            )  # fmt: skip
    there = [one for one in others if machine.takes_connections(one.host, one.port, _TIMEOUT_S)]
    count = len(there) + config.is_controller
    if others and count * 2 <= len(voters):
        yield Finding(
            "no-majority", "controller.quorum.voters",
            f"with this node {count} of {len(voters)} voters would be there",
            "Start the others too: this node waits for them.",
        )  # fmt: skip


def _cluster_ids(config: BrokerConfig, cluster_id: str | None) -> Iterator[Finding]:
    seen: dict[str, str] = {} if cluster_id is None else {cluster_id: "what was asked for"}
    for path in dict.fromkeys((config.metadata_directory, *config.data_directories)):
        try:
            with open(f"{path}/{META_PROPERTIES}", "rb") as file:
                found = parse_meta_properties(file.read())
        except (OSError, Corrupt):
            continue
        if found.cluster_id is not None:
            seen.setdefault(found.cluster_id, path)
    if len(seen) > 1:
        told = ", ".join(f"{one} ({where})" for one, where in seen.items())
        yield Finding(
            "cluster-id-differs", "the directories", f"they are of several clusters: {told}",
            "Use the directories of one cluster, or the id that they have.",
        )  # fmt: skip


def _disk(path: str, machine: Machine) -> Iterator[Finding]:
    try:
        total, usable = machine.space(path)
        took = machine.fsync_seconds(path)
    except OSError as failed:
        yield Finding(
            "directory-unusable", path, failed.strerror or str(failed),
            "Give it to the user that the node runs as, on a disk that can be written.",
        )  # fmt: skip
        return
    yield from check_space(path, total, usable)
    slowest = took[-2]  # of twenty; one alone may be chance
    if slowest >= SLOW_FSYNC_S:
        yield Finding(
            "fsync-slow", path, f"a small fsync takes {slowest * 1000:.0f} ms",
            "Use a local SSD, and nothing else that writes much beside it.",
        )  # fmt: skip


def _limits(machine: Machine) -> Iterator[Finding]:
    files = machine.open_files()
    if files is not None and files < _ENOUGH_FILES:
        yield Finding(
            "few-open-files", "this process", f"it may open {files} files and connections",
            f"Raise the hard limit to {_ENOUGH_FILES} (ulimit -Hn, LimitNOFILE=, --ulimit).",
        )  # fmt: skip
    backlog = machine.kernel("net.core.somaxconn")
    if backlog is not None and backlog < _ENOUGH_BACKLOG:
        yield Finding(
            "short-backlog", "net.core.somaxconn",
            f"{backlog} clients may be waiting to be accepted",
            f"sysctl -w net.core.somaxconn={_ENOUGH_BACKLOG}",
        )  # fmt: skip
    swappiness = machine.kernel("vm.swappiness")
    if machine.swap() and swappiness is not None and swappiness > _MOST_SWAPPINESS:
        yield Finding(
            "eager-swap", "vm.swappiness", f"it is {swappiness}, and there is swap",
            "sysctl -w vm.swappiness=1, or do without swap.",
        )  # fmt: skip
    memory = machine.memory()
    if memory is not None and memory < _ENOUGH_MEMORY:
        yield Finding(
            "little-memory", "this machine or container", f"it has {memory >> 20} MB",
            f"Give a node {_ENOUGH_MEMORY >> 20} MB, and more for the page cache.",
        )  # fmt: skip


def _is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback
