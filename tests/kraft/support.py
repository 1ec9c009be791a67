"""A node's metadata log on a simulated disk, formatted, and turned by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress, VoterSet
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings
from kafkapy.kraft.records.metadata import MetadataRecord, NoOpRecord
from kafkapy.kraft.storage.adoption import adopt
from kafkapy.kraft.storage.bootstrap import activation_records
from kafkapy.kraft.storage.format import format_directories
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

HOME = "/data"
LOG = f"{HOME}/__cluster_metadata-0"
ADDRESS = VoterAddress("CONTROLLER", "localhost", 9093)


@dataclass
class World:
    """`slow` flushes take a turn of the clock; otherwise they are done at once."""

    slow: bool = False
    seed: int = 1
    clock: SimClock = field(default_factory=SimClock)

    def __post_init__(self) -> None:
        self.rng = SimRng(self.seed)
        later = (lambda then: self.clock.call_soon(then)) if self.slow else None
        self.disk = SimDisk(self.clock.now, later)
        self.disk.make_directory(HOME)
        self.disk.flush_directory("/")

    def format(self, standalone: VoterAddress | None = ADDRESS) -> None:
        format_directories(
            self.disk,
            self.rng,
            self.clock.now(),
            [HOME],
            cluster_id="cluster",
            node_id=1,
            standalone=standalone,
        )

    def node(
        self,
        *,
        voters: VoterSet | None = None,
        snapshots: SnapshotSettings | None = None,
        endpoints: tuple[VoterAddress, ...] = (ADDRESS,),
    ) -> "Node":
        found = adopt(self.disk, self.rng, self.clock.now(), [HOME], metadata_path=HOME, node_id=1)
        settings = MetadataQuorumSettings(
            cluster_id="cluster",
            local=ReplicaKey(1, found.directory_ids[HOME]),
            endpoints=endpoints,
            configured_voters=voters or VoterSet(),
            snapshots=snapshots or SnapshotSettings(),
        )
        return Node(self, settings)


class Node:
    """A quorum with a controller that only activates itself; `log` tells what happened."""

    def __init__(self, world: World, settings: MetadataQuorumSettings) -> None:
        self.world = world
        self.deltas: list[Delta] = []
        self.told: list[str] = []
        self.quorum = MetadataQuorum(world.disk, world.clock, world.rng, HOME, settings)
        self.quorum.on_lead = self._lead
        self.quorum.on_resign = lambda: self.told.append("resigned")
        self.quorum.on_failed = lambda failure: self.told.append(f"failed: {failure}")
        self.quorum.subscribe(self._changed)

    def start(self) -> "Node":
        self.quorum.start(lambda: self.told.append("loaded"))
        self.world.clock.settle()
        return self

    def append(self, *records: MetadataRecord) -> list[ErrorCode | None]:
        answers: list[ErrorCode | None] = []
        end_offset = self.quorum.append(records or (NoOpRecord(),))
        self.quorum.when_committed(end_offset, answers.append)
        return answers

    def close(self) -> None:
        done: list[object] = []
        self.quorum.close(done.append)
        self.world.clock.settle()
        assert done == [None], done

    def _lead(self, image: MetadataImage, bootstrap: Sequence[MetadataRecord]) -> None:
        self.told.append(f"leads epoch {self.quorum.leader_epoch} at {image.offset}")
        first = activation_records(image, bootstrap, 1)
        if first:
            self.quorum.when_committed(
                self.quorum.append(first), lambda error: self.told.append(f"activated {error}")
            )

    def _changed(self, image: MetadataImage, delta: Delta) -> None:
        assert not delta.is_empty
        self.deltas.append(delta)


def formatted(*, slow: bool = False) -> World:
    world = World(slow=slow)
    world.format()
    return world
