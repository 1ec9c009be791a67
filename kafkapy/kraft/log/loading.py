"""From a directory to an image and the voters: what a start reads before the quorum begins.

The newest snapshot that can be read, then every control record behind it: who may vote has
to be known before anybody is elected. Data records follow later, when it is known how
much of the log is committed. All of it goes in steps, so that a large image does not hold
up the loop.
"""

from kafkapy.core.errors import Corrupt
from kafkapy.core.jobs import Steps
from kafkapy.core.seams import Callback, Journal
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
from kafkapy.kraft.records.control import SnapshotHeader


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

    def steps(self, then: Callback) -> Steps:
        """The work of a job, at whose end is `then`."""
        yield from self._newest_snapshot()
        for found in self._log.control_batches(max(self.next_offset, self._log.start_offset)):
            for offset, record in found:
                self._history.note(offset, record)
            yield RECORD_COST_US
        then()

    def _newest_snapshot(self) -> Steps:
        for snapshot in reversed(self._log.snapshots.ids):
            if snapshot.end_offset < self._log.start_offset:
                break
            image, delta, batches = MetadataImage(), Delta(), []
            try:
                for batch in read_snapshot(self._log.snapshots.open(snapshot)):
                    fold(image, delta, snapshot, batch)
                    batches.append(batch._replace(records=()))
                    yield max(len(batch.records), 1) * RECORD_COST_US
            except Corrupt as problem:
                if self._journal is not None:
                    self._journal.error("metadata snapshot corrupt", problem=str(problem))
                continue
            for batch in batches:
                for record in batch.control:
                    self._history.note(snapshot.end_offset - 1, record)
            self.image, self.delta = image, delta
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
