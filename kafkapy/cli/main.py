"""The `kafkapy` command. Each subcommand is a module of its own, imported when it is used:
`kafkapy serve` must answer in a fraction of a second.
"""

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Collection, Sequence
from typing import Any, Final

from kafkapy.cli.arguments import Parser
from kafkapy.cli.output import discard_output

# name -> (module of this package, what it does)
COMMANDS: Final = {
    "serve": ("node.serve", "run a node"),
    "format": ("node.format", "format the directories of a node of a cluster"),
    "cluster": ("local.cluster", "a cluster of several nodes on this machine"),
    "health": ("node.health", "check whether a node is serving (for health checks)"),
    "doctor": (
        "checks.doctor",
        "find problems of a cluster or a node, and how to solve them",
    ),
    "topics": ("topics.topics", "list, describe, create, alter and delete topics"),
    "produce": ("topics.produce", "write lines of standard input to a topic"),
    "consume": ("topics.consume", "print the records of a topic"),
    "dead-letters": (
        "topics.dead_letters",
        "records that could not be processed: list, show, replay, drop",
    ),
    "groups": ("groups.groups", "list, describe, reset and delete consumer groups"),
    "transactions": (
        "transactions.transactions",
        "list, describe, find and abort transactions",
    ),
    "acls": ("security.acls", "list, add and remove access control entries"),
    "quotas": ("security.quotas", "show and change quotas of clients"),
    "users": ("security.users", "list, add and remove users who log in by SCRAM"),
    "tokens": ("security.tokens", "create, list, renew and expire delegation tokens"),
    "quorum": ("cluster.quorum", "show the metadata quorum, add and remove voters"),
    "reassign": ("cluster.reassign", "plan and carry out moves of replicas between brokers"),
    "decommission": ("cluster.decommission", "move everything off a broker, then unregister it"),
    "features": ("cluster.features", "show, raise and lower the cluster's feature levels"),
    "dump-log": ("node.dump_log", "print the contents of log files"),
    "completion": ("completion", "print a completion script for a shell"),
}

# What a container runs.
_FIRST_PROCESS: Final = 1


class Failed(Exception):
    """The one line a person is told before exit code 1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["serve"] and os.getpid() == _FIRST_PROCESS:
        _be_first_process()
    parser = command_parser(given[:1])
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 2
    _open_what_is_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A record, a name or a path may have what the terminal's encoding does not.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if hasattr(options, "command_config"):
            importlib.import_module("kafkapy.cli.login").choose(options.command_config)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except Failed as failed:
        print(f"kafkapy: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough.
        discard_output()
        return 0
    except OSError as failed:
        discard_output()
        about = failed.filename or "cannot write the output"
        print(f"kafkapy: {about}: {failed.strerror or failed}", file=sys.stderr)
        return 1
    finally:
        # Who calls this in a process of theirs may go on and ask another server.
        if hasattr(options, "command_config"):
            importlib.import_module("kafkapy.cli.login").choose(None)


def _be_first_process() -> None:
    """In a container, where process 1 has duties: SIGTERM is ignored unless asked for, from the
    first moment on, and children that others left behind (health checks that were cut short)
    stay as zombies unless nobody wants to hear of them."""

    def leave(*_: Any) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _open_what_is_closed() -> None:
    """Who started us may have closed them. The next file would get their number, and whatever
    is said would be written into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as we run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - likewise


def command_parser(wanted: Collection[str]) -> argparse.ArgumentParser:
    """Of `kafkapy`, with the arguments of the commands in `wanted`."""
    from kafkapy import __version__

    parser = Parser(prog="kafkapy", description="A Kafka server in Python, and tools for it.")
    parser.add_argument("--version", action="version", version=f"kafkapy {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        sub = commands.add_parser(name, help=purpose, description=purpose)
        if name in wanted:
            importlib.import_module(f"kafkapy.cli.{module}").add_arguments(sub)
    return parser
