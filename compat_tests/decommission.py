"""A broker of four is decommissioned while clients write and read:
`python -m compat_tests.decommission [--kill]`.

    load --> kafkapy decommission 4 --> it holds nothing: node 4 stops --> it is forgotten --> load

With --kill it is dead before anybody asks, and is emptied from the other replicas. The clients and
the judges are those of crashes/ and of migration.py.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient

from compat_tests.clusters import BROKER, KAFKAPY, Cluster, Node, of
from compat_tests.crashes.load import Broken, Load
from compat_tests.crashes.producers import LONG_TRANSACTION_TIMEOUT_MS
from compat_tests.migration import Group, judge_groups, same_bytes
from compat_tests.shared_cluster import all_in_sync
from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.broker.config.replicated import of_all_topics

_GOES: Final = 4
_QUIET_S: Final = 3.0  # of load before and after
_PATIENCE_S: Final = 120.0


def go(directory: Path, seed: int, say: Callable[[str], None], *, is_dead: bool) -> None:
    """Raises Broken, or what a client died of."""
    cluster = Cluster(directory, [*of(KAFKAPY, 3), Node(_GOES, KAFKAPY, BROKER)], of_all_topics(3))
    cluster.start()
    stays = ",".join(cluster.address(one) for one in cluster.nodes if one != _GOES)
    load = Load(stays, seed, LONG_TRANSACTION_TIMEOUT_MS, say)
    try:
        load.start()
        groups = [Group(stays, one) for one in ("classic", "consumer")]
        try:
            load.go_on(_QUIET_S)
            if is_dead:
                cluster.stop([_GOES], how=signal.SIGKILL)
            began = time.monotonic()
            _decommission(cluster, stays, is_dead)
            say(f"broker {_GOES} is forgotten after {time.monotonic() - began:.1f} s")
            _is_whole(cluster, stays)
            load.nothing_is_stuck()
            load.go_on(_QUIET_S)
            load.raise_failures()
            load.stop()
            load.last_judgement()
            judge_groups(stays, groups, say)
        finally:
            load.stop()
            for group in groups:
                group.stop()
        cluster.stop()
        same_bytes(cluster, say)
    finally:
        cluster.close()


def _decommission(cluster: Cluster, bootstrap: str, is_dead: bool) -> None:
    """As somebody does it who reads what the command says."""
    told: list[str] = []
    command = ["decommission", str(_GOES), "--bootstrap-server", bootstrap]
    with subprocess.Popen(
        [sys.executable, "-m", "kafkapy", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(line)
            if "stop it now" in line:
                cluster.stop([_GOES])
        if process.wait(_PATIENCE_S):
            raise Broken("".join(told))
    if not is_dead and not any("stop it now" in line for line in told):
        raise Broken(f"nobody was asked to stop it: {told}")


def _is_whole(cluster: Cluster, bootstrap: str) -> None:
    """Nothing knows it any more, and nothing lacks a replica."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wait_for("all replicas are in sync", lambda: all_in_sync(admin), timeout_s=PATIENCE_S)
    metadata = admin.list_topics(timeout=PATIENCE_S)
    holders = {
        one
        for topic in metadata.topics.values()
        for partition in topic.partitions.values()
        for one in partition.replicas
    }
    if _GOES in holders or _GOES in metadata.brokers:
        raise Broken(f"broker {_GOES} is still there: {metadata.brokers}, {holders}")
    del cluster.nodes[_GOES]


def main() -> None:
    parser = argparse.ArgumentParser(prog="decommission", description=__doc__)
    parser.add_argument("--kill", action="store_true", help="it is dead already")
    parser.add_argument("--seed", type=int, default=1, help="of the load")
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-decommission-") as scratch:
        go(Path(scratch), options.seed, partial(print, flush=True), is_dead=options.kill)


if __name__ == "__main__":
    main()
