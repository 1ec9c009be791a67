"""`kafkapy doctor`: what is wrong with a cluster, or will be with a node, and what to do.

    kafkapy doctor --bootstrap-server HOST:PORT     a cluster that runs, from here
    kafkapy doctor --config server.properties       a node before its start, on its machine
    kafkapy doctor --environment                    the same in a container

A cluster with TLS or SASL is asked as `--command-config client.properties` says. Every finding
has a section in docs/DOCTOR.md. Exit code 1 if there is a problem, 0 if there are warnings at most.
"""

import argparse
import os
from collections.abc import Iterator

from kafkapy.cli.arguments import add_bootstrap_server, file_name
from kafkapy.cli.checks.findings import Finding, Level
from kafkapy.cli.checks.machine import Machine
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="of a node that is not started yet"
    )
    parser.add_argument(
        "--environment", action="store_true", help="of a node whose settings are in the environment"
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="with --config"
    )
    parser.add_argument("--cluster-id", metavar="ID", help="which cluster the node is for")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run, data=None, listen=None)


def run(options: argparse.Namespace) -> int:
    machine = Machine()
    # What several brokers are found to have in common is told once.
    found = sorted(
        dict.fromkeys(_found(options, machine)), key=lambda one: one.level is not Level.PROBLEM
    )
    if options.json:
        rows = [{"level": one.level.value, **one._asdict()} for one in found]
        show(rows, as_json=True)
    elif not found:
        print("nothing found")
    else:
        for one in found:
            print(f"{one.level.value}: {one.about}: {one.what} ({one.name})\n    {one.do}")
    return 1 if any(one.level is Level.PROBLEM for one in found) else 0


def _found(options: argparse.Namespace, machine: Machine) -> Iterator[Finding]:
    if options.config is None and not options.environment:
        from kafkapy.cli.checks.running import running

        return running(options.server, machine)
    from kafkapy.cli.checks.before_start import before_start
    from kafkapy.cli.node.environment import cluster_id_of
    from kafkapy.cli.node.serve import configured

    try:
        config = configured(options)
    except Failed as refused:
        do = "Correct it; docs/CONFIG.md has every setting."
        return iter([Finding("configuration-refused", "the settings", str(refused), do)])
    cluster_id = options.cluster_id
    if cluster_id is None and options.environment:
        cluster_id = cluster_id_of(os.environ, config.static)
    return before_start(config, machine, cluster_id)
