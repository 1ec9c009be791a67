"""A snapshot of the leader, copied piece by piece, for a replica that is too far behind.

FetchSnapshot --> begin --> piece, piece, ... --> flushed, renamed --> then
"""

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Flushed
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.log.snapshots import Snapshots, UnfinishedSnapshot
from kafkapy.kraft.quorum.effects import SnapshotPiece


class Copying:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._unfinished: UnfinishedSnapshot | None = None

    def begin(self, snapshot: SnapshotId) -> None:
        self.abandon()
        self._unfinished = self._snapshots.create(snapshot)

    def piece(self, piece: SnapshotPiece, then: Flushed) -> None:
        """`then` once the last piece is here and all of it is durable."""
        unfinished = self._unfinished
        if unfinished is None or (unfinished.id, unfinished.size) != piece[:2]:
            raise Corrupt(f"not the piece of a snapshot that was asked for: {piece[:3]}")
        unfinished.append(piece.data)
        if unfinished.size >= piece.size:
            self._unfinished = None
            unfinished.finish(then)

    def abandon(self) -> None:
        if self._unfinished is not None:
            unfinished, self._unfinished = self._unfinished, None
            unfinished.abandon()
