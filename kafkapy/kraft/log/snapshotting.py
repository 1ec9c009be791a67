"""When a snapshot is due, and writing one beside everything else.

Due after so many bytes of records or so much time with any, never inside a metadata
transaction; and (ours) a while after a start that had to replay a lot, so that the next one
need not: with ten thousand partitions every restart leaves twenty thousand records.

It is written from a copy of the image, by a job (core/jobs.py); the image itself moves on
meanwhile. formats/metadata 4; KIP-630, KIP-876.
"""

from collections.abc import Callable, Iterator
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import DiskFailed
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Callback, Clock
from kafkapy.core.time import later
from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshot_file import SnapshotId, snapshot_batches
from kafkapy.kraft.log.snapshots import Snapshots, UnfinishedSnapshot
from kafkapy.kraft.quorum.voters import VoterSet

# About half a second of replaying.
LONG_REPLAY_BYTES: Final = 1024 * 1024
# Encoded, framed and written.
_BYTES_A_US: Final = 5
# A start has better things to do first.
SETTLE_MS: Final = 10_000

Finished = Callable[[SnapshotId, DiskFailed | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSettings:
    """metadata.log.* and metadata.max.retention.*, with Kafka's defaults; 0 (interval) and
    -1 (retention) turn a rule off."""

    max_new_record_bytes: int = 20 * 1024 * 1024
    max_interval_ms: int = 60 * 60 * 1000
    max_retention_bytes: int = 100 * 1024 * 1024
    max_retention_ms: int = 7 * 24 * 60 * 60 * 1000


class Snapshotting:
    def __init__(
        self,
        snapshots: Snapshots,
        clock: Clock,
        settings: SnapshotSettings,
        finished: Finished,
    ) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._settings = settings
        self._finished = finished
        self._new_bytes = 0
        self._last = clock.now()
        self._is_ripe = False
        self._unfinished: UnfinishedSnapshot | None = None
        self._job: Job | None = None

    def applied(self, size: int) -> None:
        self._new_bytes += size

    def replayed(self, look_again: Callback) -> None:
        """All that was there at the start is applied; `look_again` whether one is due."""
        if self._new_bytes < LONG_REPLAY_BYTES:
            return

        def ripe() -> None:
            self._is_ripe = True
            look_again()

        self._clock.call_at(later(self._clock.now(), SETTLE_MS), ripe)

    def is_due(self) -> bool:
        settings = self._settings
        if self._unfinished is not None or self._new_bytes == 0:
            return False
        age_ms = self._clock.now() - self._last
        is_old = 0 < settings.max_interval_ms <= age_ms
        return self._is_ripe or is_old or self._new_bytes >= settings.max_new_record_bytes

    def begin(self, image: MetadataImage, kraft_version: int, voters: VoterSet) -> None:
        """Of `image` as it is now; it may change from the next moment on."""
        assert self._unfinished is None, "one at a time"
        assert not image.is_in_transaction, image.offset
        snapshot = SnapshotId(image.offset + 1, image.epoch)
        self._new_bytes = 0
        self._last = self._clock.now()
        self._is_ripe = False
        if snapshot in self._snapshots.ids:
            return
        try:
            unfinished = self._unfinished = self._snapshots.create(snapshot)
        except DiskFailed as failure:
            self._finished(snapshot, failure)
            return
        batches = snapshot_batches(
            records_of(image.copy()),
            epoch=image.epoch,
            metadata_version=image.metadata_version,
            last_contained_timestamp=image.timestamp,
            now=self._clock.wall(),
            kraft_version=kraft_version,
            voters=voters,
        )
        self._job = Job(self._clock, self._write(unfinished, batches))
        self._job.start()

    def abandon(self) -> None:
        """The node stops, or a newer snapshot came from the leader."""
        if self._unfinished is not None:
            unfinished, self._unfinished = self._unfinished, None
            if self._job is not None:
                self._job.stop()
            unfinished.abandon()

    def _write(self, unfinished: UnfinishedSnapshot, batches: Iterator[bytes]) -> Steps:
        try:
            for batch in batches:
                unfinished.append(batch)
                yield len(batch) // _BYTES_A_US
        except DiskFailed as failure:
            self._unfinished = None
            self._finished(unfinished.id, failure)
            return
        unfinished.finish(lambda failure: self._flushed(unfinished, failure))

    def _flushed(self, unfinished: UnfinishedSnapshot, failure: DiskFailed | None) -> None:
        if self._unfinished is unfinished:
            self._unfinished = None
        self._finished(unfinished.id, failure)
