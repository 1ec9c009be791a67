"""From a data directory to a node that may use it: make it, format it, know whose it is.

A node that is its own quorum formats empty directories on its first start. A node of a
larger cluster does not: Kafka asks for `format` first, so that nobody founds a second
cluster by accident.
"""

from typing import Final
from uuid import UUID

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import parse_addresses, parse_voters
from kafkapy.core.data import dataclass
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk, Journal, Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.voters import VoterAddress
from kafkapy.kraft.storage.adoption import DirectoryRefused, adopt, inspect, make_directory
from kafkapy.kraft.storage.format import format_directories

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::", *_LOOPBACK})


class CannotStart(Exception):
    """What keeps the node from starting, in a sentence with what to do about it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this node is. Directories that could not be read are in `failed`, with the cause."""

    cluster_id: str
    directory_ids: dict[str, UUID]
    failed: dict[str, str]


def identify(
    disk: Disk,
    rng: Rng,
    now: Instant,
    journal: Journal,
    config: BrokerConfig,
    controller: VoterAddress | None,
) -> Identity:
    """Format what is empty, if this node may, and read whose directories these are."""
    paths = config.data_directories
    metadata_path = config.metadata_directory
    try:
        if controller is not None and is_alone(config):
            _format_empty(disk, rng, now, journal, config, controller)
        found = adopt(disk, rng, now, paths, metadata_path=metadata_path, node_id=config.node_id)
    except DirectoryRefused as refused:
        raise CannotStart(str(refused)) from None
    except DiskFailed as failed:
        raise CannotStart(f"{failed.path} cannot be used: {failed.cause}") from None
    assert found.cluster_id is not None, "adopted directories name their cluster"
    return Identity(found.cluster_id, found.directory_ids, found.failed)


def is_alone(config: BrokerConfig) -> bool:
    """Whether this node's configuration names no other controller than itself."""
    if not config.is_controller:
        return False
    voters = parse_voters(config.controller_quorum_voters)
    if voters:
        return {voter.node_id for voter in voters} == {config.node_id}
    own = (*config.listening.controller, *config.listening.advertised)
    here = {(one.host, one.port) for one in own}
    # What listens on every address, or on a loopback one, is reached by any such name.
    here |= {(name, one.port) for one in own if one.host in _EVERYWHERE for name in _LOOPBACK}
    key = "controller.quorum.bootstrap.servers"
    servers = parse_addresses(key, config.controller_quorum_bootstrap_servers)
    return all(address in here for address in servers)


def _format_empty(
    disk: Disk,
    rng: Rng,
    now: Instant,
    journal: Journal,
    config: BrokerConfig,
    controller: VoterAddress,
) -> None:
    paths = [config.metadata_directory, *config.data_directories]
    if not inspect(disk, paths).empty:
        return
    for path in paths:
        make_directory(disk, path)
    has_static_voters = bool(config.controller_quorum_voters)
    formatted = format_directories(
        disk,
        rng,
        now,
        config.data_directories,
        cluster_id=None,
        node_id=config.node_id,
        metadata_path=config.metadata_directory,
        standalone=None if has_static_voters else controller,
        ignore_formatted=True,
    )
    journal.info("formatted", directories=",".join(formatted.new), cluster_id=formatted.cluster_id)
