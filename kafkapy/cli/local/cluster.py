"""`kafkapy cluster`: several nodes as processes on this machine, for people and tests.

    kafkapy cluster up                three nodes, each a broker and a controller; ready in a second
    kafkapy cluster status            who runs, who leads, who is behind
    kafkapy cluster kill 2            kill -9; `restart 2` brings it back
    kafkapy cluster pause 2           SIGSTOP, until `resume 2`
    kafkapy cluster roll              restart all, one after another, waiting for each to catch up
    kafkapy cluster down              stop all; `up` goes on with the same data

The directory holds everything (local_cluster.py); `down` leaves it, removing it ends the cluster.
"""

import argparse
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kafkapy.cli.arguments import file_name, number
from kafkapy.cli.local.cluster_state import ClusterState, cluster_state
from kafkapy.cli.local.local_cluster import MADE, LocalCluster
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show

DEFAULT_DIRECTORY: Final = "./cluster"
_MOST_NODES: Final = 50
_LOOK_SECONDS: Final = 0.02
_CATCH_UP_SECONDS: Final = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--dir", type=file_name, metavar="DIR", default=DEFAULT_DIRECTORY,
        help=f"the cluster's directory (default {DEFAULT_DIRECTORY})",
    )  # fmt: skip
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    up = actions.add_parser(
        "up", help="create the cluster, or start the nodes that are down", parents=[common]
    )
    up.add_argument("--nodes", type=number(1, _MOST_NODES), help="number of brokers (default 3)")
    up.add_argument(
        "--controllers", type=number(0, _MOST_NODES),
        help="number of nodes that are only controllers (default 0: brokers are controllers too, "
        "three of them at most)",
    )  # fmt: skip
    up.add_argument(
        "--base-port", type=number(0, 65000),
        help="port of the first broker, the others follow; 0 takes free ports (default 9092)",
    )  # fmt: skip
    up.add_argument(
        "--set", metavar="KEY=VALUE", action="append",
        help="one of Kafka's broker settings, for all nodes; may be repeated",
    )  # fmt: skip
    up.set_defaults(run=_up)
    status = actions.add_parser("status", help="show its nodes, one per line", parents=[common])
    status.add_argument("--json", action="store_true", help="one JSON object a line")
    status.set_defaults(run=_status)
    for name, about, run in (
        ("kill", "kill a node at once (kill -9)", _kill),
        ("pause", "freeze a node (SIGSTOP)", _pause),
        ("resume", "let a frozen node continue (SIGCONT)", _resume),
        ("restart", "stop a node cleanly if it runs, then start it", _restart),
    ):
        one = actions.add_parser(name, help=about, parents=[common])
        one.add_argument("node", type=int, help="its id")
        one.set_defaults(run=run)
    roll = actions.add_parser(
        "roll", help="restart all nodes one by one, each when the one before is in sync",
        parents=[common],
    )  # fmt: skip
    roll.set_defaults(run=_roll)
    down = actions.add_parser("down", help="stop all nodes; data is kept", parents=[common])
    down.set_defaults(run=_down)


def _up(options: argparse.Namespace) -> int:
    directory = Path(options.dir)
    if (directory / MADE).exists():
        made = (options.nodes, options.controllers, options.base_port, options.set)
        if any(one is not None for one in made):
            raise Failed(
                f"there is a cluster in {directory}, which stays as it is; leave --nodes, "
                "--controllers, --base-port and --set out, or choose another with --dir DIR"
            )
        cluster = LocalCluster.open(directory)
    else:
        cluster = LocalCluster.make(
            directory,
            brokers=options.nodes or 3,
            controllers=options.controllers or 0,
            base_port=9092 if options.base_port is None else options.base_port,
            settings=_settings(options.set or ()),
        )
    began = time.monotonic()
    missing = [node_id for node_id in cluster.nodes if cluster.pid(node_id) is None]
    cluster.start(missing)
    took = time.monotonic() - began
    print(f"{len(missing)} nodes started in {took:.1f} s, data and logs in {directory}")
    print(f"bootstrap servers: {cluster.bootstrap}")
    return 0


def _settings(given: "list[str] | tuple[str, ...]") -> dict[str, str]:
    settings = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise Failed(f"--set {one}: expected KEY=VALUE, for example num.partitions=3")
        settings[key.strip()] = value.strip()
    return settings


def _status(options: argparse.Namespace) -> int:
    cluster = _opened(options)
    state = _state(cluster)
    show([_row(cluster, node_id, state) for node_id in cluster.nodes], as_json=options.json)
    return 0


def _row(cluster: LocalCluster, node_id: int, state: ClusterState | None) -> dict[str, Any]:
    node, pid = cluster.nodes[node_id], cluster.pid(node_id)
    is_broker = bool(node.broker_port)
    fenced = None if state is None else state.fenced.get(node_id)
    return {
        "node": node_id,
        "roles": node.roles,
        "process": "down" if pid is None else "paused" if _is_paused(pid) else "runs",
        "pid": pid,
        "address": node.address,
        "controller": None if state is None else node_id == state.controller_id,
        "broker": None if not is_broker or fenced is None else "fenced" if fenced else "active",
        "leads": state.leads[node_id] if state is not None and is_broker else None,
        "behind": state.behind[node_id] if state is not None and is_broker else None,
    }


def _is_paused(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def _kill(options: argparse.Namespace) -> int:
    _opened(options, options.node).kill(options.node)
    return 0


def _pause(options: argparse.Namespace) -> int:
    _opened(options, options.node).tell(options.node, signal.SIGSTOP)
    return 0


def _resume(options: argparse.Namespace) -> int:
    _opened(options, options.node).tell(options.node, signal.SIGCONT)
    return 0


def _restart(options: argparse.Namespace) -> int:
    cluster = _opened(options, options.node)
    cluster.stop([options.node])
    cluster.start([options.node])
    return 0


def _roll(options: argparse.Namespace) -> int:
    """The active controller last, so that it moves once."""
    cluster = _opened(options)
    down = [node_id for node_id in cluster.nodes if cluster.pid(node_id) is None]
    if down:
        raise Failed(f"node {down[0]} is down: a roll would take another away; start it first")
    state = _until_whole(cluster)
    for node_id in sorted(cluster.nodes, key=lambda one: (one == state.controller_id, one)):
        began = time.monotonic()
        cluster.stop([node_id])
        cluster.start([node_id])
        _until_whole(cluster)
        print(f"node {node_id} is back after {time.monotonic() - began:.1f} s", flush=True)
    return 0


def _down(options: argparse.Namespace) -> int:
    """Brokers first: they hand over to nobody, but to a controller."""
    cluster = _opened(options)
    brokers = [node.node_id for node in cluster.brokers]
    cluster.stop(brokers)
    cluster.stop(set(cluster.nodes) - set(brokers))
    return 0


def _until_whole(cluster: LocalCluster) -> ClusterState:
    """All brokers are active, all replicas in sync."""
    wanted = {node.node_id for node in cluster.brokers}

    def found() -> ClusterState | None:
        state = _state(cluster)
        return state if state is not None and state.is_whole and state.active == wanted else None

    return _until(found, "the cluster is not whole")


def _until(found: Callable[[], ClusterState | None], what: str) -> ClusterState:
    give_up_at = time.monotonic() + _CATCH_UP_SECONDS
    while True:
        state = found()
        if state is not None:
            return state
        if time.monotonic() > give_up_at:
            raise Failed(f"{what} after {_CATCH_UP_SECONDS:g} s; see: kafkapy cluster status")
        time.sleep(_LOOK_SECONDS)


def _state(cluster: LocalCluster) -> ClusterState | None:
    return cluster_state(
        node.address
        for node in cluster.brokers
        if (pid := cluster.pid(node.node_id)) is not None and not _is_paused(pid)
    )


def _opened(options: argparse.Namespace, node_id: int | None = None) -> LocalCluster:
    cluster = LocalCluster.open(Path(options.dir))
    if node_id is not None:
        cluster.node(node_id)
    return cluster
