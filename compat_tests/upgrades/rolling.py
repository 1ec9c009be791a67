"""Three nodes are upgraded one after the other, while clients write and read:
`python -m compat_tests.upgrades.rolling [--from KAFKAPY]`.

    all nodes are older, features of 4.2 --> node 1 stops, this version starts on its directories
      --> in sync; newer features are refused while an older node is there --> node 2 ... node 3
      --> newer features are finalized

Who leads the quorum comes last, as in any rolling restart. `--from` is an older version's `kafkapy`
in an environment of its own; without it compat_tests/upgrades/older.py stands for one. The clients
and the judges are those of crashes/ and of migration.py.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import AdminClient

from compat_tests.clusters import KAFKAPY, Cluster, of
from compat_tests.crashes.load import Broken, Load
from compat_tests.crashes.producers import LONG_TRANSACTION_TIMEOUT_MS
from compat_tests.migration import Group, judge_groups, same_bytes
from compat_tests.oracle import CLUSTER_ID
from compat_tests.shared_cluster import all_in_sync
from compat_tests.waiting import wait_for
from kafkapy.broker.config.replicated import of_all_topics

OLDER_RELEASE: Final = "4.2"
THIS: Final = [sys.executable, "-m", "kafkapy"]
OLDER: Final = [sys.executable, "-m", "compat_tests.upgrades.older"]
NEWER: Final = ("metadata.version=4.3-IV0", "share.version=2")
_QUIET_S: Final = 3.0  # of load between two nodes
_IN_SYNC_S: Final = 90.0


class UpgradedCluster(Cluster):
    """Each node runs by the command that it was given last."""

    def __init__(self, directory: Path, older: list[str]) -> None:
        super().__init__(directory, of(KAFKAPY, 3), of_all_topics(3))
        self.commands = dict.fromkeys(self.nodes, older)

    def kafkapy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of this version's own commands."""
        return subprocess.run([*THIS, *arguments], capture_output=True, text=True, check=False)

    def _kafkapy(self, configuration: Path) -> list[str]:
        node_id = int(configuration.parent.name.rpartition("-")[2])
        return [*self.commands[node_id], "serve", "--config", str(configuration)]

    def _format(self, configuration: Path) -> None:
        made = ("--cluster-id", CLUSTER_ID, "--release-version", OLDER_RELEASE)
        done = self.kafkapy("format", "--config", str(configuration), *made)
        if done.returncode != 0:
            raise RuntimeError(f"not formatted with {configuration}: {done.stderr}")


class Upgrade:
    def __init__(self, directory: Path, older: list[str], say: Callable[[str], None]) -> None:
        self.cluster = UpgradedCluster(directory, older)
        self._say = say

    def go(self, seed: int) -> None:
        """Raises Broken, or what a client died of."""
        cluster = self.cluster
        cluster.start()
        load = Load(cluster.bootstrap, seed, LONG_TRANSACTION_TIMEOUT_MS, self._say)
        try:
            load.start()
            groups = [Group(cluster.bootstrap, one) for one in ("classic", "consumer")]
            try:
                before = self._features()
                for node_id in self._in_order():
                    load.go_on(_QUIET_S)
                    self._cannot_be_raised()
                    self._upgrade(node_id)
                    load.nothing_is_stuck()
                    load.raise_failures()
                load.judge("with all nodes upgraded")
                self._raise(before)
                load.go_on(_QUIET_S)
                load.stop()
                load.last_judgement()
                judge_groups(cluster.bootstrap, groups, self._say)
            finally:
                load.stop()
                for group in groups:
                    group.stop()
            cluster.stop()
            same_bytes(cluster, self._say)
        finally:
            cluster.close()

    def _in_order(self) -> list[int]:
        """Whoever leads the quorum last, so that it moves once."""
        rows = self._told("quorum", "status")
        (leader,) = (row["node"] for row in rows if row.get("role") == "leader")
        return sorted(self.cluster.nodes, key=lambda one: (one == leader, one))

    def _upgrade(self, node_id: int) -> None:
        began = time.monotonic()
        self.cluster.stop([node_id])
        stopped = time.monotonic()
        self.cluster.commands[node_id] = THIS
        self.cluster.start([node_id])
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0})
        wait_for("all replicas are in sync", lambda: all_in_sync(admin), timeout_s=_IN_SYNC_S)
        self._say(
            f"node {node_id} is upgraded: stopped in {stopped - began:.1f} s, "
            f"in sync {time.monotonic() - stopped:.1f} s later"
        )

    def _cannot_be_raised(self) -> None:
        done = self._raised()
        if done.returncode == 0:
            raise Broken(f"features were raised with an older node in the cluster: {done.stdout}")
        self._say(done.stderr.strip())

    def _raise(self, before: dict[str, str]) -> None:
        """Once the controller has heard of the last node's registration it may be done."""
        wait_for("features are raised", lambda: self._raised().returncode == 0)
        wait_for("a node knows", lambda: self._features() != before)
        after = self._features()
        raised = {name: level for name, level in after.items() if level != before[name]}
        self._say(f"raised to {raised}")

    def _raised(self) -> subprocess.CompletedProcess[str]:
        at = ("--bootstrap-server", self.cluster.bootstrap)
        return self.cluster.kafkapy("features", "upgrade", *NEWER, *at)

    def _features(self) -> dict[str, str]:
        return {row["feature"]: str(row["finalized"]) for row in self._told("features", "show")}

    def _told(self, *command: str) -> list[dict[str, Any]]:
        at = ("--bootstrap-server", self.cluster.bootstrap)
        done = self.cluster.kafkapy(*command, "--json", *at)
        if done.returncode != 0:
            raise Broken(f"{command}: {done.stdout}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="upgrades", description=__doc__)
    parser.add_argument("--from", dest="older", help="an older version's kafkapy")
    parser.add_argument("--seed", type=int, default=1, help="of the load")
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    options = parser.parse_args()
    older = OLDER if options.older is None else [options.older]
    with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-upgrade-") as scratch:
        Upgrade(Path(scratch), older, lambda line: print(line, flush=True)).go(options.seed)


if __name__ == "__main__":
    main()
