"""The three nodes of docker/compose.yaml under load, while their containers have bad days.

    python -m container_tests.chaos [--rounds 1] [--per-second 2000] [--from IMAGE]

A stock producer on the host writes with acks=all the whole time. Each kind of trouble hits the
leader of a partition, lasts some seconds and is undone; what was the longest time without an
acknowledgement is told for each. In the end all is read back: nothing that was acknowledged may
be lost, nothing there twice or out of order.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from container_tests.engine import ROOT, Compose, build_image, docker, free_ports, inspect, why_not
from container_tests.load import Load, leader_of
from kafkapy.cli.client import Client
from kafkapy.cli.main import Failed

TOPIC: Final = "load"
PARTITIONS: Final = 6
_LASTS_S: Final = 20.0


class Cluster:
    def __init__(self, image: str, upgrade: str, memory: str = "256m") -> None:
        self._upgrade = upgrade
        ports = free_ports(3)
        self.servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        told = {f"KAFKAPY_PORT_{number}": str(port) for number, port in enumerate(ports, 1)}
        told |= {"KAFKAPY_IMAGE": image, "KAFKAPY_MEMORY": memory}
        name = f"kafkapy-chaos-{os.getpid()}"
        self.compose = Compose(name, [ROOT / "docker/compose.yaml"], told)
        self._network = f"{name}_default"

    def up(self) -> float:
        """Seconds until all are healthy."""
        began = time.monotonic()
        self.compose("up", "--detach", "--wait", "--no-build")
        return time.monotonic() - began

    def container(self, node: int) -> str:
        return self.compose.container(f"kafka-{node}")

    # Trouble: each returns what undoes it.

    def stopped(self, node: int) -> Callable[[], object]:
        self.compose("stop", f"kafka-{node}")
        return lambda: self.compose("start", f"kafka-{node}")

    def killed(self, node: int) -> Callable[[], object]:
        docker("kill", self.container(node))
        return lambda: self.compose("start", f"kafka-{node}")

    def paused(self, node: int) -> Callable[[], object]:
        docker("pause", self.container(node))
        return lambda: docker("unpause", self.container(node))

    def cut_off(self, node: int) -> Callable[[], object]:
        docker("network", "disconnect", self._network, self.container(node))
        name = f"kafka-{node}"
        return lambda: docker(
            "network", "connect", "--alias", name, self._network, self.container(node)
        )

    def cut_off_one_way(self, node: int) -> Callable[[], object]:
        """It hears everybody, and nobody hears it."""
        self._firewall(node, "-A")
        return lambda: self._firewall(node, "-D")

    def _firewall(self, node: int, what: str) -> None:
        pid = inspect(self.container(node))["State"]["Pid"]
        rule = ["OUTPUT", "!", "-o", "lo", "-j", "DROP"]
        inside = ["nsenter", "--target", str(pid), "--net"]
        subprocess.run([*inside, "iptables", what, *rule], check=True)

    def rolled(self, node: int) -> Callable[[], object]:
        for one in (1, 2, 3):
            self.compose("restart", f"kafka-{one}")
            self.wait_until_whole()
        return lambda: None

    def upgraded(self, node: int) -> Callable[[], object]:
        """Each node in turn is made anew from another image, on its volume."""
        for one in (1, 2, 3):
            how = ("--detach", "--wait", "--no-build", "--no-deps", "--force-recreate")
            self.compose("up", *how, f"kafka-{one}", KAFKAPY_IMAGE=self._upgrade)
            self.wait_until_whole()
        return lambda: None

    def wait_until_whole(self) -> None:
        """All healthy, and every replica in sync."""
        give_up_at = time.monotonic() + 120
        told = ""
        while time.monotonic() < give_up_at:
            health = [self._health(node) for node in (1, 2, 3)]
            told = str(health)
            if health == ["healthy"] * 3:
                told = self.tool("topics", "describe", TOPIC)
                if all(len(line.split()[4].split(",")) == 3 for line in told.splitlines()[1:]):
                    return
            time.sleep(0.2)
        raise AssertionError(f"it does not become whole:\n{told}")

    def _health(self, node: int) -> str:
        return str(inspect(self.container(node))["State"]["Health"]["Status"])

    def seconds_until_moved(self, victim: int, began: float, give_up_at: float) -> str:
        """Until the others say that somebody else leads the partition that is watched."""
        servers = self.servers.split(",")
        others = ",".join(one for node, one in enumerate(servers, 1) if node != victim)
        while time.monotonic() < give_up_at:
            with suppress(Failed), Client(others, 2.0) as client:
                row = client.metadata([TOPIC]).topics[0].partitions
                (leader,) = [one.leader_id for one in row if one.partition_index == 0]
                if leader not in (victim, -1):
                    return f"{time.monotonic() - began:.2f} s"
            time.sleep(0.05)
        return "more than that"

    def tool(self, *arguments: str) -> str:
        """`kafkapy` in the first container."""
        servers = "kafka-1:19092,kafka-2:19092,kafka-3:19092"
        return self.compose(
            "exec", "--no-TTY", "kafka-1", "kafkapy", *arguments, "--bootstrap-server", servers
        )

    def resident_mb(self, node: int) -> float:
        """What the node itself holds; the page cache is the kernel's to give back."""
        pid = inspect(self.container(node))["State"]["Pid"]
        with open(f"/proc/{pid}/status") as file:
            line = next(one for one in file if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


TROUBLE: Final[dict[str, Callable[[Cluster, int], Callable[[], object]]]] = {
    "stop": Cluster.stopped,
    "kill": Cluster.killed,
    "pause": Cluster.paused,
    "network disconnect": Cluster.cut_off,
    "one-way cut": Cluster.cut_off_one_way,
    "rolling restart": Cluster.rolled,
    "image upgrade": Cluster.upgraded,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--per-second", type=int, default=2000)
    parser.add_argument(
        "--from", dest="older", metavar="IMAGE", help="start with it, and upgrade to these sources"
    )
    parser.add_argument("--only", action="append", choices=list(TROUBLE))
    options = parser.parse_args()
    if (reason := why_not()) is not None:
        print(f"LEFT OUT: {reason}")
        return 1
    image = build_image()
    cluster = Cluster(options.older or image, image)
    try:
        return _run(cluster, options.only or list(TROUBLE), options.rounds, options.per_second)
    finally:
        cluster.compose.down()


def _run(cluster: Cluster, kinds: list[str], rounds: int, per_second: int) -> int:
    print(f"healthy after {cluster.up():.1f} s")
    cluster.tool(
        "topics", "create", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "3"
    )
    load = Load(cluster.servers, TOPIC, PARTITIONS, per_second)
    load.start()
    try:
        time.sleep(5)
        for kind in kinds * rounds:
            _trouble(cluster, load, kind)
    finally:
        load.stop()
    for node in (1, 2, 3):
        state = inspect(cluster.container(node))["State"]
        print(f"node {node}: {cluster.resident_mb(node):.0f} MB at most, OOM {state['OOMKilled']}")
    judgement = load.judge()
    print(judgement)
    return 0 if judgement.is_good else 1


def _trouble(cluster: Cluster, load: Load, kind: str) -> None:
    victim = leader_of(cluster.servers, TOPIC, 0)
    began = time.monotonic()
    before = load.count
    undo = TROUBLE[kind](cluster, victim)
    moved = cluster.seconds_until_moved(victim, began, began + _LASTS_S)
    time.sleep(max(0.0, _LASTS_S - (time.monotonic() - began)))
    gap = load.longest_gap(began)
    undone = time.monotonic()
    undo()
    cluster.wait_until_whole()
    whole = time.monotonic() - undone
    print(
        f"{kind} (node {victim}): led by another after {moved}, "
        f"at most {gap:.2f} s without an acknowledgement, "
        f"{max(load.longest_gap(undone), 0):.2f} s after; whole {whole:.1f} s after; "
        f"{load.count - before} acknowledged meanwhile",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
