"""What is committed becomes the image: in order, once, a slice at a time.

    log:  ... | batch | batch | batch |   uncommitted
                      ^ next_offset   ^ high watermark

Nothing here may hold up the loop for long: it is a job (core/jobs.py). A large batch, as Apache
Kafka's controller makes one of ten thousand partitions, is read in slices and applied at once:
nobody sees the half of it. Batches that this
node appended itself are still at hand as objects and are not decoded again. Subscribers
hear of every batch that changed something, and of everything that was there at the start
as one delta.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from kafkapy.core.errors import DiskFailed
from kafkapy.core.jobs import Job, Pause, Steps
from kafkapy.core.seams import Clock
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.difference import difference
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.metadata_log import Batch, MetadataLog
from kafkapy.kraft.records.metadata import MetadataRecord

# Decoded, and applied.
_DECODING_US: Final = 7
_APPLYING_US: Final = 3
RECORD_COST_US: Final = _DECODING_US + _APPLYING_US
_DECODED_AT_ONCE: Final = 50

OnDelta = Callable[[MetadataImage, Delta], None]


class Appended(NamedTuple):
    """A batch this node appended as leader; no records: a control batch."""

    base_offset: int
    next_offset: int
    epoch: int
    timestamp: int
    size: int
    records: Sequence[MetadataRecord]


class Replay:
    """`applied` is called after every batch, with the offset behind it and its size; what it
    finds in the image has been told to the subscribers. `failed`: the log cannot be read."""

    def __init__(
        self,
        log: MetadataLog,
        clock: Clock,
        applied: Callable[[int, int], None],
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self.image = MetadataImage()
        self.next_offset = 0
        self.is_loaded = False
        self._log = log
        self._clock = clock
        self._applied = applied
        self._failed = failed
        self._subscribers: list[OnDelta] = []
        self._appended: deque[Appended] = deque()
        self._upper = 0
        self._delta = Delta()
        self._reader: Iterator[Batch] = iter(())
        self._job: Job | None = None
        self._is_stopped = False

    def subscribe(self, on_delta: OnDelta) -> None:
        self._subscribers.append(on_delta)

    def start_at(self, image: MetadataImage, next_offset: int, everything: Delta) -> None:
        """From a snapshot; `everything` is all that is in it, for those who were told nothing
        yet. The image stays the same object."""
        if self.is_loaded:
            _add(self._delta, difference(self.image, image))
        else:
            self._delta = everything
        self.image.become(image)
        self.next_offset = next_offset
        self._reader = iter(())
        self._appended.clear()
        if self.is_loaded:
            self._publish()

    def appended(self, batch: Appended) -> None:
        self._appended.append(batch)

    def forget_appended(self) -> None:
        """This node leads no more: what it appended may not be what gets committed."""
        self._appended.clear()

    def advance(self, high_watermark: int) -> None:
        """Everything before `high_watermark` is committed."""
        self._upper = max(self._upper, high_watermark)
        if not self._is_stopped and (self._job is None or self._job.is_over):
            self._job = Job(self._clock, self._catch_up())
            self._job.start()

    def stop(self) -> None:
        self._is_stopped = True
        if self._job is not None:
            self._job.stop()

    def _catch_up(self) -> Steps:
        while True:
            while self.next_offset < self._upper:
                try:
                    batch = yield from self._next_batch()
                except DiskFailed as failure:
                    self._failed(failure)
                    return
                yield from self._apply(batch)
            if self.is_loaded:
                return
            self.is_loaded = True
            self._publish()
            self._applied(self.next_offset, 0)

    def _next_batch(self) -> Generator[int | Pause | None, None, Appended]:
        while self._appended and self._appended[0].base_offset < self.next_offset:
            self._appended.popleft()
        if self._appended and self._appended[0].base_offset == self.next_offset:
            self._reader = iter(())
            return self._appended.popleft()
        read = next(self._reader, None)
        if read is None:
            self._reader = self._log.batches(self.next_offset, self._upper)
            read = next(self._reader)
        header = read.header
        decoded: list[MetadataRecord] = []
        if not header.is_control:
            records = read.records()
            while some := list(islice(records, _DECODED_AT_ONCE)):
                decoded += some
                yield len(some) * _DECODING_US
        return Appended(
            header.base_offset,
            header.next_offset,
            header.leader_epoch,
            header.max_timestamp,
            header.size,
            decoded,
        )

    def _apply(self, batch: Appended) -> Steps:
        if batch.next_offset <= self.next_offset:
            return  # a snapshot that is ahead of it came meanwhile
        image = self.image
        for record in batch.records:
            image.apply(record, self._delta)
        self.next_offset = batch.next_offset
        image.offset = batch.next_offset - 1
        image.epoch = batch.epoch
        image.timestamp = batch.timestamp
        if self.is_loaded:
            self._publish()
        self._applied(batch.next_offset, batch.size)
        yield max(len(batch.records), 1) * _APPLYING_US

    def _publish(self) -> None:
        if self._delta.is_empty or self.image.is_in_transaction:
            return
        delta, self._delta = self._delta, Delta()
        for on_delta in self._subscribers:
            on_delta(self.image, delta)


def _add(delta: Delta, later: Delta) -> None:
    """To what nobody was told yet, because it is of a transaction that was open."""
    for topic in later.topics_deleted.values():
        delta.topic_deleted(topic)
    delta.topics_created.update(later.topics_created)
    for topic_id, touched in later.partitions.items():
        for index, before in touched.items():
            delta.partition_changed(topic_id, index, before)
    for broker_id, registration in later.brokers.items():
        delta.broker_changed(broker_id, registration)
    for name in ("configs", "controllers", "features", "quotas", "acls", "scram_users", "tokens"):
        getattr(delta, name).update(getattr(later, name))
    delta.has_producer_ids |= later.has_producer_ids
