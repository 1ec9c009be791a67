"""From a directory to an image and the voters: what a start reads before the quorum begins.

The newest snapshot that can be read, then every control record behind it: who may vote has
to be known before anybody is elected. Data records follow later, when it is known how
much of the log is committed. All of it goes in steps, so that a large image does not hold
up the loop.
"""

from collections.abc import Callable

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.jobs import Steps
from kafkapy.core.seams import Callback, File, Journal
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.replay import RECORD_COST_US
from kafkapy.kraft.log.snapshot_file import (
    BOOTSTRAP_SNAPSHOT,
    SnapshotBatch,
    SnapshotId,
    read_snapshot,
)
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.records.control import ControlRecord, SnapshotHeader


class SnapshotContents:
    """What a snapshot says: the image, of which `delta` tells all, and who votes."""

    def __init__(self, snapshot: SnapshotId) -> None:
        self.snapshot = snapshot
        self.image = MetadataImage()
        self.delta = Delta()
        self._control: list[ControlRecord] = []

    def read(self, file: File) -> Steps:
        """In steps. Corrupt: nothing of it is to be used."""
        for batch in read_snapshot(file):
            fold(self.image, self.delta, self.snapshot, batch)
            self._control += batch.control
            yield max(len(batch.records), 1) * RECORD_COST_US

    def tell(self, history: VoterHistory) -> None:
        for record in self._control:
            history.note(self.snapshot.end_offset - 1, record)


class Loading:
    """Run `steps` to its end, then take `image`; it reaches up to `next_offset`, and `delta`
    tells all that is in it."""

    def __init__(self, log: MetadataLog, history: VoterHistory, journal: Journal | None) -> None:
        self.image = MetadataImage()
        self.delta = Delta()
        self.next_offset = log.start_offset
        self._log = log
        self._history = history
        self._journal = journal

    def steps(self, then: Callback, failed: Callable[[DiskFailed], None]) -> Steps:
        """The work of a job, at whose end is `then`."""
        try:
            yield from self._newest_snapshot()
            yield from self._control_records()
        except DiskFailed as failure:
            failed(failure)
            return
        then()

    def _control_records(self) -> Steps:
        for found in self._log.control_batches(max(self.next_offset, self._log.start_offset)):
            for offset, record in found:
                self._history.note(offset, record)
            yield RECORD_COST_US

    def _newest_snapshot(self) -> Steps:
        for snapshot in reversed(self._log.snapshots.ids):
            if snapshot.end_offset < self._log.start_offset:
                break
            contents = SnapshotContents(snapshot)
            try:
                yield from contents.read(self._log.snapshots.open(snapshot))
            except Corrupt as problem:
                if self._journal is not None:
                    self._journal.error("metadata snapshot corrupt", problem=str(problem))
                continue
            contents.tell(self._history)
            self.image, self.delta = contents.image, contents.delta
            self.next_offset = snapshot.end_offset
            return
        if self._log.start_offset > 0:
            raise Corrupt(
                f"the metadata log begins at {self._log.start_offset}, "
                "and no snapshot of what was before can be read"
            )


def fold(image: MetadataImage, delta: Delta, snapshot: SnapshotId, batch: SnapshotBatch) -> None:
    """What `format` wrote (0, 0) is not the state of a cluster: its records are left out."""
    for record in batch.control:
        if isinstance(record, SnapshotHeader):
            image.timestamp = record.last_contained_log_timestamp
    if snapshot == BOOTSTRAP_SNAPSHOT:
        image.timestamp = -1
        return
    for metadata_record in batch.records:
        image.apply(metadata_record, delta)
    image.offset = snapshot.end_offset - 1
    image.epoch = snapshot.epoch
