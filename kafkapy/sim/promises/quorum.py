"""What a metadata quorum promises, judged by what its nodes say and hold while they run.

    knows     a node knows who leads an epoch; the leader itself is the first to
    leads     a node says that it is the active controller of an epoch
    applied   a node has made an image of what is committed up to an offset

- An epoch has one leader.
- Who begins to lead has all that was committed before, by whomever.
- Two images of one offset are equal: what was committed is what everybody has, for ever.
"""

from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.sim.promises.partitions import BrokenPromise


class QuorumPromises:
    def __init__(self) -> None:
        self.committed_offset = -1
        self.leaders: dict[int, int] = {}  # by epoch
        # By offset: who had it first, and what it was.
        self._images: dict[int, tuple[int, int]] = {}

    def knows(self, epoch: int, leader_id: int) -> None:
        before = self.leaders.setdefault(epoch, leader_id)
        if before != leader_id:
            raise BrokenPromise(f"both {before} and {leader_id} lead epoch {epoch} of the quorum")

    def leads(self, node_id: int, epoch: int, offset: int) -> None:
        self.knows(epoch, node_id)
        if offset < self.committed_offset:
            raise BrokenPromise(
                f"{node_id} leads epoch {epoch} from {offset} on, and {self.committed_offset} "
                "was committed"
            )

    def applied(self, node_id: int, image: MetadataImage) -> None:
        self.committed_offset = max(self.committed_offset, image.offset)
        digest = digest_of(image)
        first, there = self._images.setdefault(image.offset, (node_id, digest))
        if there != digest:
            raise BrokenPromise(
                f"the image of {node_id} at {image.offset} is another than that of {first}"
            )


def digest_of(image: MetadataImage) -> int:
    """Of what is in it, in this process; snapshots have it in another order than the log."""
    return hash(frozenset(records_of(image)))
