"""`kafkapy format`: make empty directories the log directories of one node.

What Apache Kafka's `kafka-storage format` does: a cluster of one needs no format, `serve`
does it; the nodes of a larger cluster are formatted with the same cluster id first. Who votes
in its quorum is configured (`controller.quorum.voters`), or said here, or said later by
`kafkapy quorum add`.
"""

import argparse
from typing import TYPE_CHECKING

from kafkapy.cli.arguments import file_name
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig
    from kafkapy.kraft.quorum.voters import VoterAddress, VoterSet
    from kafkapy.kraft.storage.format import Formatted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="Kafka's server.properties"
    )
    parser.add_argument("--data", type=file_name, metavar="DIR", help="instead of log.dirs")
    parser.add_argument("--cluster-id", metavar="ID", help="default: a new one")
    parser.add_argument(
        "--ignore-formatted",
        action="store_true",
        help="leave directories that are formatted already as they are",
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a broker setting"
    )
    parser.add_argument(
        "--add-scram", metavar="CREDENTIAL", action="append", default=[],
        help="a user who can log in from the start: SCRAM-SHA-256=[name=NAME,password=PASSWORD]",
    )  # fmt: skip
    voters = parser.add_mutually_exclusive_group()
    voters.add_argument(
        "--standalone", action="store_true", help="this controller is the only voter so far"
    )
    voters.add_argument(
        "--initial-controllers",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="who votes at first, the same on every node",
    )
    voters.add_argument(
        "--no-initial-controllers",
        action="store_true",
        help="this controller joins a quorum that is there, or will be",
    )
    parser.add_argument(
        "--release-version", metavar="4.3", help="of the cluster's features; default: the newest"
    )
    parser.add_argument(
        "--feature", metavar="NAME=LEVEL", action="append", default=[], help="another level of one"
    )
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run, listen=None)


def run(options: argparse.Namespace) -> int:
    from kafkapy.cli.node.serve import configured

    config = configured(options)
    done = formatted(options, config)
    show(
        [
            {
                "directory": path,
                "cluster_id": done.cluster_id,
                "directory_id": done.directory_ids.get(path),
                "formatted": "now" if path in done.new else "before",
            }
            for path in config.data_directories
        ],
        as_json=options.json,
    )
    return 0


def formatted(options: argparse.Namespace, config: "BrokerConfig") -> "Formatted":
    """The directories of `config`, as the options of this command say."""
    from kafkapy.cli.security.scram_argument import scram_record
    from kafkapy.core.errors import Corrupt, DiskFailed
    from kafkapy.kraft.storage.adoption import DirectoryRefused, make_directory
    from kafkapy.kraft.storage.format import format_directories
    from kafkapy.server.clock import LoopClock
    from kafkapy.server.disk.real_disk import RealDisk
    from kafkapy.server.rng import SystemRng

    disk = RealDisk()
    try:
        standalone, initial_voters = _voters(options, config)
        metadata_version, features = _levels(options, config)
        for path in (config.metadata_directory, *config.data_directories):
            make_directory(disk, path)
        return format_directories(
            disk,
            SystemRng(),
            LoopClock().wall(),
            config.data_directories,
            cluster_id=options.cluster_id,
            node_id=config.node_id,
            metadata_path=config.metadata_directory,
            standalone=standalone,
            extra=[scram_record(one) for one in options.add_scram],
            initial_voters=initial_voters,
            metadata_version=metadata_version,
            features=features,
            ignore_formatted=options.ignore_formatted,
        )
    except (DirectoryRefused, DiskFailed, Corrupt) as refused:
        raise Failed(str(refused).rstrip(".")) from None


def _voters(
    options: argparse.Namespace, config: "BrokerConfig"
) -> "tuple[VoterAddress | None, VoterSet | None]":
    """The only voter's address, or all first voters, or neither."""
    from kafkapy.broker.node.identity import is_alone
    from kafkapy.kraft.quorum.voters import VoterAddress
    from kafkapy.kraft.storage.first_voters import parse_first_voters

    if _is_dynamic(options):
        if config.controller_quorum_voters:
            raise Failed(
                "controller.quorum.voters says who votes; leave it out and set "
                "controller.quorum.bootstrap.servers to have a quorum whose voters can change"
            )
        if not config.is_controller:
            raise Failed("only a controller votes: process.roles does not say controller")
    names = config.listening.controller_names
    if options.initial_controllers is not None:
        return None, parse_first_voters(options.initial_controllers, names[0])
    if config.is_controller and not config.controller_quorum_voters:
        if options.no_initial_controllers:
            return None, None
        if not options.standalone and not is_alone(config):
            raise Failed(
                "controller.quorum.voters is not set, so who votes has to be said: "
                "--standalone, --initial-controllers or --no-initial-controllers"
            )
        told = (*config.listening.advertised, *config.listening.controller)
        own = next(one for one in told if one.name == names[0])
        return VoterAddress(own.name, own.host or "localhost", own.port), None
    return None, None


def _is_dynamic(options: argparse.Namespace) -> bool:
    is_named = options.initial_controllers is not None
    return options.standalone or is_named or options.no_initial_controllers


def _levels(options: argparse.Namespace, config: "BrokerConfig") -> tuple[int, dict[str, int]]:
    """metadata.version, and the levels of features that are not what it brings."""
    from kafkapy.kraft.features import (
        KRAFT_VERSION,
        LATEST_METADATA_VERSION,
        METADATA_VERSION,
        METADATA_VERSIONS,
        metadata_version_level,
    )

    features: dict[str, int] = {}
    for given in options.feature:
        name, equals, level = given.partition("=")
        if not equals or not level.strip().isdecimal():
            raise Failed(f"--feature {given}: expected NAME=LEVEL, for example group.version=1")
        if name.strip() in features:
            raise Failed(f"--feature {given}: {name.strip()} is given twice")
        features[name.strip()] = int(level)
    metadata_version = features.pop(METADATA_VERSION, LATEST_METADATA_VERSION)
    if options.release_version is not None:
        if metadata_version != LATEST_METADATA_VERSION:
            raise Failed("--release-version says the metadata.version: leave --feature for it out")
        found = metadata_version_level(options.release_version)
        if found is None:
            known = ", ".join(version.name for version in METADATA_VERSIONS)
            raise Failed(f"--release-version {options.release_version}: there are {known}")
        metadata_version = found
    kraft_version = features.pop(KRAFT_VERSION, None)
    is_dynamic = not config.controller_quorum_voters
    if kraft_version is not None and kraft_version != int(is_dynamic):
        raise Failed(
            f"{KRAFT_VERSION} {kraft_version} is not what this quorum has: it is "
            f"{int(is_dynamic)} where controller.quorum.voters is {'not ' * is_dynamic}set"
        )
    return metadata_version, features
