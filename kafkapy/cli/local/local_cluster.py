"""A cluster of processes on this machine: what it is on disk, and how its processes come and go.

    DIR/cluster.json              who the nodes are, and their ports
    DIR/node-1/server.properties  written once; edit it and restart the node
    DIR/node-1/data, server.log, pid

Nothing runs but the nodes: whoever made the cluster may end, and any other process can take it
up again (`LocalCluster.open`). A process is told from another that got its pid by its command
line, which names its server.properties.
"""

import json
import os
import select
import selectors
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.broker.config.replicated import of_all_topics
from kafkapy.cli.main import Failed
from kafkapy.server.sockets.free_ports import free_ports

MADE: Final = "cluster.json"
_HOST: Final = "127.0.0.1"
# Far beyond what it takes: reached only when something hangs.
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 60.0
_MOST_VOTERS: Final = 3
_CONTROLLER_PORTS_FROM: Final = 100  # above the brokers'

# On one machine nobody is far away: elections need not wait as long as over a wide network.
_LOCAL: Final = {
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.election.timeout.ms": "150",
    "controller.quorum.election.backoff.max.ms": "150",
}


class LocalNode(NamedTuple):
    """`broker_port` and `controller_port` are 0 where it has no such role."""

    node_id: int
    roles: str
    broker_port: int
    controller_port: int

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.broker_port or self.controller_port}"


class LocalCluster:
    def __init__(self, directory: Path, cluster_id: str, nodes: Iterable[LocalNode]) -> None:
        self.directory = directory
        self.cluster_id = cluster_id
        self.nodes = {node.node_id: node for node in nodes}

    @classmethod
    def open(cls, directory: Path) -> "LocalCluster":
        """Failed if none was made there."""
        try:
            made = json.loads((directory / MADE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Failed(f"no cluster in {directory}; make one: kafkapy cluster up") from None
        return cls(directory, made["cluster_id"], (LocalNode(**row) for row in made["nodes"]))

    @classmethod
    def make(
        cls,
        directory: Path,
        *,
        brokers: int,
        controllers: int = 0,
        base_port: int = 9092,
        settings: Mapping[str, str] | None = None,
    ) -> "LocalCluster":
        """With directories formatted and nothing started. `controllers`: so many processes
        that are nothing else; without, the first brokers are controllers too. Base port 0
        takes free ones."""
        if directory.exists() and any(directory.iterdir()):
            raise Failed(f"{directory} holds something else; choose another with --dir DIR")
        nodes = _planned(brokers, controllers, base_port)
        made = cls(directory, _new_cluster_id(), nodes)
        for node in nodes:
            made._write(node, {**_LOCAL, **of_all_topics(brokers), **(settings or {})})
        rows = [node._asdict() for node in nodes]
        text = json.dumps({"cluster_id": made.cluster_id, "nodes": rows}, indent=2)
        (directory / MADE).write_text(f"{text}\n", encoding="utf-8")
        return made

    @property
    def brokers(self) -> list[LocalNode]:
        return [node for node in self.nodes.values() if node.broker_port]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self.brokers)

    def node(self, node_id: int) -> LocalNode:
        if node_id not in self.nodes:
            there = ", ".join(map(str, self.nodes))
            raise Failed(f"there is no node {node_id}; there are {there}")
        return self.nodes[node_id]

    def home(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}"

    def log(self, node_id: int) -> Path:
        return self.home(node_id) / "server.log"

    # -- processes ---------------------------------------------------------------------

    def pid(self, node_id: int) -> int | None:
        """Of its process, if that lives."""
        try:
            pid = int((self.home(node_id) / "pid").read_text())
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # a child of ours leaves its name behind until then
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None
        return pid if os.fsencode(self._properties(node_id)) in command else None

    def start(self, node_ids: Iterable[int], timeout_seconds: float = START_SECONDS) -> None:
        """Return once all of them serve. If one does not, or whoever waits gives up, none of them
        is left running; Failed with what it said."""
        spawned: list[int] = []
        told: dict[int, int] = {}
        try:
            for node_id in node_ids:
                told[self.spawn(node_id)] = node_id
                spawned.append(node_id)
            self._wait_until_told(told, timeout_seconds)
        except BaseException:
            # Who hears nobody when it says that it serves would end of its own, a moment later.
            self.stop(spawned)
            raise
        finally:
            for fd in told:
                os.close(fd)

    def _wait_until_told(self, told: dict[int, int], timeout_seconds: float) -> None:
        """Those that serve are taken out of `told`."""
        with selectors.DefaultSelector() as selector:
            for fd in told:
                selector.register(fd, selectors.EVENT_READ)
            give_up_at = time.monotonic() + timeout_seconds
            while told:
                ready = selector.select(max(0.0, give_up_at - time.monotonic()))
                if not ready:
                    late = next(iter(told.values()))
                    raise Failed(f"not there in {timeout_seconds:g} s: {self.said(late)}")
                for key, _ in ready:
                    piece = os.read(key.fd, 4096)
                    if not piece:
                        raise Failed(self.said(told[key.fd]))
                    if piece.endswith(b"\n"):
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        del told[key.fd]

    def spawn(self, node_id: int) -> int:
        """Start its process; what it prints once it serves comes out of the descriptor that is
        returned, which is the caller's to close."""
        assert self.pid(node_id) is None, "it runs"
        ours, its = os.pipe()
        log = os.fspath(self.log(node_id))
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        command = [sys.executable, "-m", "kafkapy", "serve", "--config", self._properties(node_id)]
        try:
            pid = os.posix_spawn(
                sys.executable,
                command,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, its, 1),
                    (os.POSIX_SPAWN_OPEN, 2, log, append, 0o644),
                ],
                setsid=True,  # ^C is for whoever started it, not for it
            )
        finally:
            os.close(its)
        (self.home(node_id) / "pid").write_text(f"{pid}\n")
        return ours

    def tell(self, node_id: int, what: signal.Signals) -> None:
        pid = self.pid(node_id)
        if pid is None:
            raise Failed(f"node {node_id} does not run")
        os.kill(pid, what)

    def kill(self, node_id: int) -> None:
        """kill -9; return once it is gone."""
        if self.pid(node_id) is None:
            raise Failed(f"node {node_id} does not run")
        self._end([node_id], signal.SIGKILL)

    def stop(self, node_ids: Iterable[int], timeout_seconds: float = STOP_SECONDS) -> None:
        """Cleanly, all at once; return once they are gone."""
        self._end(node_ids, signal.SIGTERM, timeout_seconds)

    def said(self, node_id: int, lines: int = 5) -> str:
        """The end of its log."""
        text = self.log(node_id).read_text(encoding="utf-8", errors="replace")
        end = "\n".join(text.splitlines()[-lines:])
        return f"node {node_id} said (its settings: {self._properties(node_id)}):\n{end}"

    def _end(
        self, node_ids: Iterable[int], how: signal.Signals, timeout_seconds: float = STOP_SECONDS
    ) -> None:
        pids = {}
        for node_id in node_ids:
            pid = self.pid(node_id)
            if pid is None:
                continue
            with suppress(ProcessLookupError):  # it ended just now
                pids[node_id] = os.pidfd_open(pid)
                os.kill(pid, how)
                os.kill(pid, signal.SIGCONT)  # a paused one would not hear the first
        give_up_at = time.monotonic() + timeout_seconds
        try:
            for node_id, pidfd in pids.items():
                left = max(0.0, give_up_at - time.monotonic())
                if not select.select([pidfd], [], [], left)[0]:
                    raise Failed(f"node {node_id} does not end within {timeout_seconds:g} s")
                self.pid(node_id)  # lets go of a child's name
        finally:
            for pidfd in pids.values():
                os.close(pidfd)

    # -- making ------------------------------------------------------------------------

    def _properties(self, node_id: int) -> str:
        return os.fspath((self.home(node_id) / "server.properties").absolute())

    def _write(self, node: LocalNode, settings: Mapping[str, str]) -> None:
        listeners = []
        if node.broker_port:
            listeners.append(f"PLAINTEXT://{_HOST}:{node.broker_port}")
        if node.controller_port:
            listeners.append(f"CONTROLLER://{_HOST}:{node.controller_port}")
        voters = [one for one in self.nodes.values() if one.controller_port]
        properties = {
            "process.roles": node.roles,
            "node.id": str(node.node_id),
            "listeners": ",".join(listeners),
            "controller.quorum.voters": ",".join(
                f"{one.node_id}@{_HOST}:{one.controller_port}" for one in voters
            ),
            "log.dirs": os.fspath((self.home(node.node_id) / "data").absolute()),
            **settings,
        }
        self.home(node.node_id).mkdir(parents=True)
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        Path(self._properties(node.node_id)).write_text(text, encoding="utf-8")
        _format(properties["log.dirs"].split(","), node.node_id, self.cluster_id)


def _planned(brokers: int, controllers: int, base_port: int) -> list[LocalNode]:
    """Controllers of their own are numbered behind the brokers."""
    count = brokers + controllers
    above = base_port + _CONTROLLER_PORTS_FROM
    ports = list(range(base_port, base_port + brokers)) + list(range(above, above + count))
    if not base_port:
        ports = free_ports(len(ports))
    shared = 0 if controllers else min(brokers, _MOST_VOTERS)
    nodes = []
    for number in range(count):
        is_broker, is_controller = number < brokers, number < shared or number >= brokers
        roles = ["broker"] * is_broker + ["controller"] * is_controller
        nodes.append(
            LocalNode(
                number + 1,
                ",".join(roles),
                ports[number] if is_broker else 0,
                ports[brokers + number] if is_controller else 0,
            )
        )
    return nodes


def _new_cluster_id() -> str:
    from kafkapy.kraft.uuids import new_uuid, uuid_to_text
    from kafkapy.server.rng import SystemRng

    return uuid_to_text(new_uuid(SystemRng()))


def _format(paths: Sequence[str], node_id: int, cluster_id: str) -> None:
    from kafkapy.kraft.storage.adoption import make_directory
    from kafkapy.kraft.storage.format import format_directories
    from kafkapy.server.clock import LoopClock
    from kafkapy.server.disk.real_disk import RealDisk
    from kafkapy.server.rng import SystemRng

    disk = RealDisk()
    for path in paths:
        make_directory(disk, path)
    format_directories(
        disk, SystemRng(), LoopClock().wall(), paths, cluster_id=cluster_id, node_id=node_id
    )
