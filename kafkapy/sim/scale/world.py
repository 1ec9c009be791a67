"""A world with many brokers and many empty partitions, and what is done to it.

Three controllers and the brokers, each a whole node of its own, as everywhere in the simulator;
the settings are Kafka's defaults, except that every machine has one directory.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.clients.direct import Client
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import SETTINGS, ClusterWorld
from kafkapy.sim.scale.meter import MeasuredHost, Meter

CONTROLLERS: Final = 3
REPLICATION_FACTOR: Final = 3
PATIENCE_MS: Final = 600_000
_LOOK_MS: Final = 20
# What the simulator asks for more often than Kafka does.
_OF_THE_SIMULATOR: Final = frozenset(SETTINGS) - {
    "controller.listener.names",
    "auto.create.topics.enable",
}


class _MeasuredWorld(ClusterWorld):
    host_type = MeasuredHost


class ScaleWorld:
    def __init__(self, brokers: int, seed: int = 1) -> None:
        MeasuredHost.meter = self.meter = Meter()
        roles = ["controller"] * CONTROLLERS + ["broker"] * brokers
        self._base = world = _MeasuredWorld(seed, roles, {"log.dirs": "/data"})
        for host in world.hosts.values():
            for name in _OF_THE_SIMULATOR - {"log.dirs"}:
                host.settings.pop(name, None)
        world.network.traces_frames = False
        self._client = Client(world, "client")
        self._asked = 0
        world.start()
        self.wait(lambda: all(host.is_serving for host in world.hosts.values()))

    @property
    def clock(self) -> Any:
        return self._base.clock

    @property
    def brokers(self) -> list[Host]:
        return self._base.brokers

    @property
    def controllers(self) -> list[Host]:
        return self._base.controllers

    @property
    def active(self) -> Host:
        return self._base.wait_for_controller()

    @property
    def image(self) -> MetadataImage:
        return self._base.image_of_controller()

    def wait(self, condition: Callable[[], bool]) -> int:
        """How many virtual milliseconds it took."""
        began = self._base.clock.now()
        self._base.run_until(condition, PATIENCE_MS)
        return self._base.clock.now() - began

    def look_often(self, condition: Callable[[], bool]) -> int:
        """As `wait`, for what takes long to find out: to some milliseconds."""
        began = self._base.clock.now()
        while not condition():
            self.run(_LOOK_MS)
            assert self._base.clock.now() - began < PATIENCE_MS, ("it never happens", condition)
        return self._base.clock.now() - began

    def run(self, by_ms: int) -> None:
        self._base.run(by_ms)

    def settle(self) -> None:
        """Every broker that lives is what the controller says, and every replica in sync."""
        self.look_often(lambda: self._is_told and self._base.is_in_sync)

    def create_topics(self, names: list[str], partitions: int) -> int:
        """One request, answered when the leaders serve; how many virtual ms that took."""
        topics = [
            {
                "name": name,
                "num_partitions": partitions,
                "replication_factor": REPLICATION_FACTOR,
            }
            for name in names
        ]
        answers: list[Any] = []
        body: Mapping[str, Any] = {"topics": topics, "timeout": PATIENCE_MS}
        to = next(host for host in self.brokers if host.is_serving)
        self._client.send(
            to.node_id, ApiKey.CREATE_TOPICS, body, answers.append, timeout_ms=PATIENCE_MS
        )
        took = self.wait(lambda: bool(answers))
        assert all(one.error_code == 0 for one in answers[0].topics), answers[0]
        return took

    def log_of(self, host: Host) -> tuple[int, int]:
        """Records in a controller's metadata log, and their bytes."""
        assert host.node is not None
        log = host.node.quorum.log
        return log.end_offset, log.partition.size

    def leads(self, broker_id: int) -> int:
        return sum(state.leader == broker_id for _, state in self.image.partitions())

    @property
    def _is_told(self) -> bool:
        offset = self.image.offset
        return all(
            host.node is not None and host.node.quorum.image.offset >= offset - 5
            for host in self.brokers
            if host.is_alive
        )
