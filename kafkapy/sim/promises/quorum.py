"""What a metadata quorum promises, judged by what its nodes say and hold while they run.

    knows     a node knows who leads an epoch; the leader itself is the first to
    leads     a node says that it is the active controller of an epoch
    applied   a node has made an image of what is committed up to an offset

- An epoch has one leader: of the quorum, and of each partition.
- Who leads an epoch has all that is committed of the epochs before. (A node that was paused may
  hear late that it leads an epoch, when much is committed of a newer one.)
- Two images of one offset are equal: what was committed is what everybody has, for ever.
"""

from uuid import UUID

from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.sim.promises.partitions import BrokenPromise


class QuorumPromises:
    def __init__(self) -> None:
        self.leaders: dict[int, int] = {}  # by epoch
        # By epoch: from which offset on its leader leads, and how far it is seen committed.
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        # By offset: who had it first, and what it was.
        self._images: dict[int, tuple[int, int]] = {}
        # By topic, partition and epoch of the partition.
        self._led: dict[tuple[UUID, int, int], int] = {}

    def knows(self, epoch: int, leader_id: int) -> None:
        before = self.leaders.setdefault(epoch, leader_id)
        if before != leader_id:
            raise BrokenPromise(f"both {before} and {leader_id} lead epoch {epoch} of the quorum")

    def leads(self, node_id: int, epoch: int, offset: int) -> None:
        self.knows(epoch, node_id)
        self._starts[epoch] = offset
        for before, end in self._ends.items():
            self._has_all(epoch, before, end)

    def applied(self, node_id: int, image: MetadataImage, delta: Delta) -> None:
        if image.offset > self._ends.get(image.epoch, -1):
            self._ends[image.epoch] = image.offset
            for epoch in self._starts:
                self._has_all(epoch, image.epoch, image.offset)
        digest = digest_of(image)
        first, there = self._images.setdefault(image.offset, (node_id, digest))
        if there != digest:
            raise BrokenPromise(
                f"the image of {node_id} at {image.offset} is another than that of {first}"
            )
        for topic_id, changed in delta.partitions.items():
            for index in changed:
                self._is_led(topic_id, index, image.topics_by_id[topic_id].partitions[index])

    def _has_all(self, epoch: int, before: int, end: int) -> None:
        start = self._starts[epoch]
        if before < epoch and start <= end:
            raise BrokenPromise(
                f"{self.leaders[epoch]} leads epoch {epoch} from {start} on, and {end} was "
                f"committed in epoch {before}"
            )

    def _is_led(self, topic_id: UUID, index: int, state: PartitionState) -> None:
        if not state.has_leader:
            return
        epoch = topic_id, index, state.leader_epoch
        before = self._led.setdefault(epoch, state.leader)
        if before != state.leader:
            raise BrokenPromise(
                f"both {before} and {state.leader} lead epoch {state.leader_epoch} of partition "
                f"{index} of {topic_id}"
            )


def digest_of(image: MetadataImage) -> int:
    """Of what is in it, in this process; snapshots have it in another order than the log."""
    return hash(frozenset(records_of(image)))
