"""A world of several machines, the network between them, and the time they share.

Everything comes from the seed. A world holds no opinion on what is right: the checkers do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.kraft.storage.format import format_directories
from kafkapy.kraft.uuids import new_uuid, uuid_to_text
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.network import SimNetwork
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.rng import SimRng

BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
COMBINED: Final = "broker,controller"
# What takes longer never happens.
PATIENCE_MS: Final = 120_000

SETTINGS: Final[Mapping[str, str]] = {
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data/a,/data/b",
    # Often, so that a run of a virtual minute sees them.
    "log.initial.task.delay.ms": "2000",
    "log.retention.check.interval.ms": "3000",
    "log.cleaner.backoff.ms": "1000",
    "log.flush.scheduler.interval.ms": "2000",
    "log.flush.offset.checkpoint.interval.ms": "4000",
    "log.flush.start.offset.checkpoint.interval.ms": "4000",
    "replica.high.watermark.checkpoint.interval.ms": "4000",
    "metadata.log.max.record.bytes.between.snapshots": "6000",
    "auto.create.topics.enable": "false",
}


class ClusterWorld:
    """`roles`: of each node, in the order of their ids, which begin at 1. `bootstrap`: what
    the metadata log begins with, besides the features."""

    host_type: type[Host] = Host

    def __init__(
        self,
        seed: int | str,
        roles: Sequence[str] = (COMBINED,) * 3,
        settings: Mapping[str, str] | None = None,
        bootstrap: Sequence[MetadataRecord] = (),
    ) -> None:
        self.rng = SimRng(seed)
        self.clock = SimClock()
        self.trace = Trace(self.clock)
        self.network = SimNetwork(self.clock, self.rng.fork("network"), self.trace)
        self._bootstrap = tuple(bootstrap)
        self._roles = dict(enumerate(roles, 1))
        self._settings = {**SETTINGS, **(settings or {})}
        # Whether the log says who votes (`dynamic_world.py`), or the configuration.
        self.has_dynamic_voters = False
        self.hosts = {node_id: self._host(node_id) for node_id in self._roles}
        self._cluster_id = uuid_to_text(new_uuid(self.rng.fork("cluster id")))
        for host in self.hosts.values():
            self.format(host)

    @property
    def controllers(self) -> list[Host]:
        return [host for host in self.hosts.values() if "controller" in self._roles[host.node_id]]

    @property
    def brokers(self) -> list[Host]:
        return [host for host in self.hosts.values() if "broker" in self._roles[host.node_id]]

    def start(self) -> None:
        for host in self.hosts.values():
            host.start()

    # Turning it.

    def run(self, by_ms: int) -> None:
        self.clock.advance(by_ms)

    def run_until(self, condition: Callable[[], bool], within_ms: int = PATIENCE_MS) -> None:
        assert self.clock.run_until(condition, within_ms), ("it never happens", condition)

    # Looking.

    @property
    def active_controller(self) -> Host | None:
        """The active controller of the newest epoch."""
        active = [
            (host.node.quorum.leader_epoch, host)
            for host in self.controllers
            if host.node is not None and host.node.quorum.is_active
        ]
        return max(active, key=lambda one: one[0])[1] if active else None

    def image_of_controller(self) -> MetadataImage:
        """Of the active one; empty if there is none."""
        controller = self.active_controller
        if controller is None or controller.node is None:
            return MetadataImage()
        return controller.node.image

    def led_by(self, topic: str, node_id: int) -> set[int]:
        """Partitions, by whichever node's metadata is the newest."""
        images = [host.node.image for host in self.hosts.values() if host.node is not None]
        newest = max(images, key=lambda one: one.offset, default=MetadataImage())
        found = newest.topics_by_name.get(topic)
        states = {} if found is None else found.partitions
        return {index for index, state in states.items() if state.leader == node_id}

    @property
    def is_in_sync(self) -> bool:
        """By the active controller: every partition has a leader and all its replicas."""
        image = self.image_of_controller()
        return bool(image.brokers) and all(
            state.has_leader and set(state.isr) == set(state.replicas)
            for topic in image.topics_by_id.values()
            for state in topic.partitions.values()
        )

    def wait_for_controller(self) -> Host:
        self.run_until(lambda: self.active_controller is not None)
        found = self.active_controller
        assert found is not None
        return found

    # Making it.

    def _host(self, node_id: int) -> Host:
        roles = self._roles[node_id]
        listeners = []
        if "broker" in roles:
            listeners.append(f"PLAINTEXT://n{node_id}:{BROKER_PORT}")
        if "controller" in roles:
            listeners.append(f"CONTROLLER://n{node_id}:{CONTROLLER_PORT}")
        voters = [
            f"{one}@n{one}:{CONTROLLER_PORT}"
            for one, its_roles in self._roles.items()
            if "controller" in its_roles
        ]
        settings = {
            "process.roles": roles,
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "controller.quorum.voters": ",".join(voters),
            **self._settings,
        }
        return self.host_type(
            node_id,
            settings,
            clock=self.clock,
            network=self.network,
            rng=self.rng,
            trace=self.trace,
        )

    def format(self, host: Host) -> None:
        """As whoever sets up the machine does; again, once it was given empty disks."""
        paths = host.settings["log.dirs"].split(",")
        format_directories(
            host.disk,
            self.rng.fork(f"{host.name}/format {host.boots}"),
            self.clock.wall(),
            paths,
            cluster_id=self._cluster_id,
            node_id=host.node_id,
            metadata_path=paths[0],
            standalone=None,
            extra=self._bootstrap,
            ignore_formatted=host.boots > 0,
        )
