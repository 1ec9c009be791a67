"""A snapshot of the leader, copied piece by piece, for a replica that is too far behind.

    begin --> piece, piece, ... --> durable --> read to its end --> then(Copied)

Until then nothing has changed but for a file with a temporary name: log, voters and image are
what they were, and belong together, however long it takes and whatever this replica is meanwhile.
What was copied and is not whole goes as it came.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock
from kafkapy.kraft.log.loading import SnapshotContents
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.log.snapshots import Snapshots, UnfinishedSnapshot
from kafkapy.kraft.quorum.effects import SnapshotPiece


class Copied(NamedTuple):
    """Whoever gets it lets `file` take its name, or abandons it."""

    file: UnfinishedSnapshot
    contents: SnapshotContents


class Copying:
    """`then` hears how the copy ended, unless it was abandoned."""

    def __init__(
        self,
        snapshots: Snapshots,
        clock: Clock,
        then: Callable[[Copied | Corrupt | DiskFailed], None],
    ) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._then = then
        self._unfinished: UnfinishedSnapshot | None = None
        self._reading: Job | None = None

    def begin(self, snapshot: SnapshotId) -> None:
        self.abandon()
        self._unfinished = self._snapshots.create(snapshot)

    def piece(self, piece: SnapshotPiece) -> None:
        unfinished = self._unfinished
        if unfinished is None or (unfinished.id, unfinished.size) != piece[:2]:
            raise Corrupt(f"not the piece of a snapshot that was asked for: {piece[:3]}")
        unfinished.append(piece.data)
        if unfinished.size >= piece.size:
            unfinished.flush(partial(self._flushed, unfinished))

    def abandon(self) -> None:
        unfinished, self._unfinished = self._unfinished, None
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        if unfinished is not None:
            unfinished.abandon()

    def _flushed(self, unfinished: UnfinishedSnapshot, failure: DiskFailed | None) -> None:
        if failure is None:
            self._reading = Job(self._clock, self._read(unfinished))
            self._reading.start()
        else:
            self._failed(failure)

    def _read(self, unfinished: UnfinishedSnapshot) -> Steps:
        contents = SnapshotContents(unfinished.id)
        try:
            yield from contents.read(unfinished.open())
        except (Corrupt, DiskFailed) as failure:
            self._failed(failure)
            return
        self._unfinished = self._reading = None
        self._then(Copied(unfinished, contents))

    def _failed(self, failure: Corrupt | DiskFailed) -> None:
        self.abandon()
        self._then(failure)
