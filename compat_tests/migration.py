"""A cluster of Apache Kafka becomes one of kafkapy, node by node, and Apache Kafka's again, while
clients write and read: `python -m compat_tests.migration [--kill] [--dynamic] [--separate]
[--empty]`.

    node 1 stops  -->  kafkapy starts on the same node.id, ports and log.dirs  -->  all in sync
    node 2 ...                                                                 -->  node 3 ...

Nothing is copied: kafkapy opens the directories that Apache Kafka left, and the reverse; or, with
--empty, brokers fetch all from the others. The
clients are those of crashes/ (transactions, a copy with its offsets, readers at both isolation
levels) and a group of two; Jepsen's checkers judge all they saw. docs/MIGRATING.md has the same
steps for people.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from compat_tests import installation
from compat_tests.clusters import APACHE, KAFKAPY, Cluster, of
from compat_tests.crashes import UNAVAILABLE
from compat_tests.crashes.consumers import COMMITTED, Reader, consumer
from compat_tests.crashes.load import WRITTEN, Broken, Load
from compat_tests.crashes.producers import LONG_TRANSACTION_TIMEOUT_MS
from compat_tests.crashes.recording import Recording
from compat_tests.oracle import CLUSTER_ID, run_tool
from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.broker.config.replicated import of_all_topics

# Everything there three times, and two of them in sync: one node may be away.
REPLICATED = of_all_topics(3)
_DIRECTORY = "kafkapyMigration0{}AAAA"  # of a voter: any 16 bytes, in base64url
_REPLICATION = ("describe", "--replication")
_QUIET_S = 3.0  # of load between two moves
_IN_SYNC_S = 90.0


@dataclass(slots=True)
class Migration:
    directory: Path
    seed: int
    is_killed: bool = False  # nodes are not asked to stop, but die
    is_dynamic: bool = False  # voters are in the metadata, not in the configuration (KIP-853)
    controllers: int = 0  # that are nodes of their own
    is_emptied: bool = False  # brokers that are no voters come back with empty directories
    say: Callable[[str], None] = print
    cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        kind = DynamicCluster if self.is_dynamic else Cluster
        self.cluster = kind(self.directory, of(APACHE, 3, self.controllers), REPLICATED)

    def go(self) -> None:
        """There and back. Raises Broken, or what a client died of."""
        cluster = self.cluster
        # Brokers give up if nobody leads for a minute, and every node is formatted first.
        cluster.start(cluster.voters)
        cluster.start([one for one in cluster.nodes if one not in cluster.voters])
        load = Load(cluster.bootstrap, self.seed, LONG_TRANSACTION_TIMEOUT_MS, self.say)
        try:
            load.start()
            groups = [Group(cluster.bootstrap, one) for one in ("classic", "consumer")]
            try:
                self._settings_before_and_after(lambda: self._there_and_back(load))
                load.stop()
                load.last_judgement()
                judge_groups(cluster.bootstrap, groups, self.say)
            finally:
                load.stop()
                for group in groups:
                    group.stop()
            cluster.stop()
            same_bytes(cluster, self.say)
        finally:
            cluster.close()

    def _there_and_back(self, load: Load) -> None:
        for server in (KAFKAPY, APACHE):
            for node_id in self._in_order():
                load.go_on(_QUIET_S)
                self._move(node_id, server)
                load.nothing_is_stuck()
                load.raise_failures()
            load.judge(f"with all nodes {server}")
            self.say(f"all nodes are {server}: {load.recording.committed()} transactions so far")
        load.go_on(_QUIET_S)

    def _in_order(self) -> list[int]:
        """Controllers first, as in an upgrade; who leads them last, so that it moves once."""
        at = ("--bootstrap-server", self.cluster.bootstrap)
        told = _told("kafka-metadata-quorum", *at, "describe", "--status")
        leader = next(int(line.split()[1]) for line in told if line.startswith("LeaderId:"))
        nodes = self.cluster.nodes
        return sorted(nodes, key=lambda one: (one not in self.cluster.voters, one == leader, one))

    def _move(self, node_id: int, server: str) -> None:
        """The same directories, ports and node.id under the other server."""
        began = time.monotonic()
        self.cluster.stop([node_id], how=signal.SIGKILL if self.is_killed else signal.SIGTERM)
        stopped = time.monotonic()
        if self.is_emptied and node_id not in self.cluster.voters:
            shutil.rmtree(self.cluster.data(node_id))
        self.cluster.nodes[node_id] = self.cluster.nodes[node_id]._replace(server=server)
        self.cluster.start([node_id])
        started = time.monotonic()
        wait_for("all replicas are in sync", self._is_in_sync, timeout_s=_IN_SYNC_S)
        end = max(self._voters().values())
        wait_for("voters have caught up", lambda: min(self._voters().values()) >= end)
        self.say(
            f"node {node_id} is {server}: stopped in {stopped - began:.1f} s, "
            f"started in {started - stopped:.1f} s, "
            f"in sync after {time.monotonic() - started:.1f} s"
        )

    def _voters(self) -> dict[int, int]:
        """How far the metadata log of each is, as their leader knows."""
        at = ("--bootstrap-server", self.cluster.bootstrap)
        rows = [line.split() for line in _told("kafka-metadata-quorum", *at, *_REPLICATION)[1:]]
        return {int(row[0]): int(row[2]) for row in rows if row and row[-1] != "Observer"}

    def _is_in_sync(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        found = admin.list_topics(timeout=30)
        partitions = [one for topic in found.topics.values() for one in topic.partitions.values()]
        return len(found.brokers) == len(self.cluster.brokers) and all(
            len(one.isrs) == len(one.replicas) for one in partitions
        )

    def _settings_before_and_after(self, do: Callable[[], None]) -> None:
        before = self._settings()
        do()
        after = self._settings()
        if before != after:
            raise Broken(f"topics and settings were {before}, and are {after}")

    def _settings(self) -> list[str]:
        """Of each topic: its id, replicas and configuration, as Kafka's tools tell them."""
        at = ("--bootstrap-server", self.cluster.bootstrap)
        told = []
        for name, *more in (
            ("kafka-topics", "--describe", "--exclude-internal"),
            ("kafka-configs", "--describe", "--entity-type", "topics"),
        ):
            told += [line.partition("Leader:")[0] for line in _told(name, *at, *more)]
        return sorted(told)


class DynamicCluster(Cluster):
    """Formatted with its first voters, whom the configuration does not name."""

    def settings(self, node_id: int) -> dict[str, str]:
        settings = super().settings(node_id)
        del settings["controller.quorum.voters"]
        settings["controller.quorum.bootstrap.servers"] = self.controllers
        return settings

    def _format(self, configuration: Path) -> None:
        voters = ",".join(
            f"{one}@{self.controller_address(one)}:{_DIRECTORY.format(one)}" for one in self.voters
        )
        is_voter = int(configuration.parent.name.rpartition("-")[2]) in self.voters
        first = ["--initial-controllers", voters] if is_voter else ["--no-initial-controllers"]
        _told("kafka-storage", "format", "-t", CLUSTER_ID, "-c", str(configuration), *first)


def _told(tool: str, *arguments: str) -> list[str]:
    done = run_tool(tool, *arguments)
    if done.returncode != 0:
        raise Broken(f"{tool} {arguments}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def judge_groups(bootstrap: str, groups: list["Group"], say: Callable[[str], None]) -> None:
    """Each group sees every committed record."""
    reader = Reader(bootstrap, Recording(), 31, WRITTEN)
    reader.read_to_the_ends()
    reader.close()
    there = sorted(value for values in reader.values.values() for value in values)
    for group in groups:
        wait_for(f"{group} sees all", lambda: group.seen.issuperset(there))  # noqa: B023
        say(f"{group} has seen all {len(there)} records, {group.polled} in all")


def same_bytes(cluster: Cluster, say: Callable[[str], None]) -> None:
    """All are down: what one has, all have."""
    for topic in dict(WRITTEN):
        for index in range(len(WRITTEN)):
            ours = [_bytes(cluster.data(one) / f"{topic}-{index}") for one in cluster.brokers]
            if not ours[0] or any(one != ours[0] for one in ours):
                raise Broken(f"the logs of {topic}-{index} differ")
    say("the replicas' files are the same")


def _bytes(log: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(log.glob("*.log")))


class Group:
    """Two members that read what is committed, and commit how far they are."""

    def __init__(self, bootstrap: str, protocol: str) -> None:
        self.seen: set[str] = set()
        self.polled = 0
        self._protocol = protocol
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(bootstrap,), name=f"{self}", daemon=True)
            for _ in range(2)
        ]
        for thread in self._threads:
            thread.start()

    def __str__(self) -> str:
        return f"the group of the {self._protocol} protocol"

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _work(self, bootstrap: str) -> None:
        client = consumer(
            bootstrap,
            COMMITTED,
            group_id=f"group-{self._protocol}",
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            metadata_recovery_strategy="none",
        )
        client.subscribe([WRITTEN[0][0]])
        while not self._over.is_set():
            got = [one for one in client.consume(200, timeout=0.2) if one.error() is None]
            self.seen.update((one.value() or b"").decode() for one in got)
            self.polled += len(got)
            if got:
                with suppress(KafkaException):  # it is asked again with the next records
                    client.commit(asynchronous=False)
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="migration", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the load")
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    parser.add_argument("--kill", action="store_true", help="kill -9 instead of a clean stop")
    parser.add_argument("--dynamic", action="store_true", help="voters in the metadata")
    parser.add_argument(
        "--separate", action="store_true", help="controllers are nodes of their own"
    )
    parser.add_argument("--empty", action="store_true", help="brokers lose their directories")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-migration-") as scratch:
        try:
            installation.require()
            Migration(
                Path(scratch),
                options.seed,
                is_killed=options.kill,
                is_dynamic=options.dynamic,
                controllers=3 if options.separate else 0,
                is_emptied=options.empty,
                say=lambda line: print(line, flush=True),
            ).go()
        except installation.Unavailable as reason:
            print(reason, file=sys.stderr)
            sys.exit(UNAVAILABLE)


if __name__ == "__main__":
    main()
