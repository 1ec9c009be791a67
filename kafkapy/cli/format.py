"""`kafkapy format`: make empty directories the log directories of one node.

What Apache Kafka's `kafka-storage format` does: a cluster of one needs no format, `serve`
does it; the nodes of a larger cluster are formatted with the same cluster id first.
"""

import argparse

from kafkapy.cli.main import Failed
from kafkapy.cli.output import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="Kafka's server.properties")
    parser.add_argument("--data", metavar="DIR", help="instead of log.dirs")
    parser.add_argument("--cluster-id", metavar="ID", help="default: a new one")
    parser.add_argument("--ignore-formatted", action="store_true", help="leave formatted ones be")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a broker setting"
    )
    parser.add_argument(
        "--add-scram", metavar="CREDENTIAL", action="append", default=[],
        help="a user who can log in from the start: SCRAM-SHA-256=[name=NAME,password=PASSWORD]",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run, listen=None)


def run(options: argparse.Namespace) -> int:
    from kafkapy.broker.node.identity import is_alone
    from kafkapy.cli.scram_argument import scram_record
    from kafkapy.cli.serve import configured
    from kafkapy.core.errors import DiskFailed
    from kafkapy.kraft.quorum.voters import VoterAddress
    from kafkapy.kraft.storage.adoption import DirectoryRefused, make_directory
    from kafkapy.kraft.storage.format import format_directories
    from kafkapy.server.clock import LoopClock
    from kafkapy.server.disk import RealDisk
    from kafkapy.server.rng import SystemRng

    config = configured(options)
    standalone = None
    if config.is_controller and not config.controller_quorum_voters and is_alone(config):
        own = config.listening.controller[0]
        standalone = VoterAddress(own.name, own.host or "localhost", own.port)
    disk = RealDisk()
    try:
        for path in (config.metadata_directory, *config.data_directories):
            make_directory(disk, path)
        formatted = format_directories(
            disk,
            SystemRng(),
            LoopClock().wall(),
            config.data_directories,
            cluster_id=options.cluster_id,
            node_id=config.node_id,
            metadata_path=config.metadata_directory,
            standalone=standalone,
            extra=[scram_record(one) for one in options.add_scram],
            ignore_formatted=options.ignore_formatted,
        )
    except (DirectoryRefused, DiskFailed) as refused:
        raise Failed(str(refused).rstrip(".")) from None
    show(
        [
            {
                "directory": path,
                "cluster_id": formatted.cluster_id,
                "directory_id": formatted.directory_ids.get(path),
                "formatted": "now" if path in formatted.new else "before",
            }
            for path in config.data_directories
        ],
        as_json=options.json,
    )
    return 0
