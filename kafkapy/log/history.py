"""What a log remembers beside its records: leader epochs and producers.

Both could be read from the batches again. What a clean start leaves unread is read when it is
first asked for: ten thousand idle partitions cost a few hundred bytes each.
"""

from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Disk
from kafkapy.core.time import Instant
from kafkapy.log.leader_epochs import LeaderEpochs
from kafkapy.log.offsets import Offsets
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.recovery import Loaded, Opening, load_producers


class History:
    """Of one log. Once read, epochs and producers stay the same two objects."""

    __slots__ = (
        "_begun_epochs",
        "_clock",
        "_disk",
        "_epochs",
        "_expiry_ms",
        "_offsets",
        "_producers",
        "_segments",
        "_topic_partition",
        "directory",
        "snapshots",
    )

    def __init__(self, clock: Clock, opening: Opening, loaded: Loaded, offsets: Offsets) -> None:
        self._clock = clock
        self._disk: Disk = opening.disk
        self._segments = loaded.segments
        self._offsets = offsets
        self._topic_partition: TopicPartition = opening.topic_partition
        self._expiry_ms: int = opening.producer_expiry_ms
        self.directory: str = opening.directory
        self.snapshots = loaded.snapshots
        self._epochs = loaded.epochs
        # (epoch, start offset) of those that began before the others were read.
        self._begun_epochs: tuple[tuple[int, int], ...] = ()
        self._producers = loaded.producers

    @property
    def epochs(self) -> LeaderEpochs:
        if self._epochs is None:
            epochs = self._epochs = LeaderEpochs(self._disk, self.directory)
            epochs.truncate_from_end(self._offsets.log_end)
            epochs.truncate_from_start(self._offsets.log_start)
            for epoch, start_offset in self._begun_epochs:
                epochs.assign(epoch, start_offset)
            self._begun_epochs = ()
            return epochs
        return self._epochs

    @property
    def producers(self) -> ProducerStates:
        if self._producers is None:
            producers = ProducerStates(self._topic_partition, expiry_ms=self._expiry_ms)
            self._load(producers)
            self._producers = producers  # not half of them, if the disk fails
            return producers
        return self._producers

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's epoch begins, even before it has written anything. It is durable
        with the first flush after that: nobody misses an epoch in which nothing was written,
        and a node that starts begins one in each of its logs."""
        if self._epochs is None:
            self._begun_epochs = (*self._begun_epochs, (epoch, start_offset))
        else:
            self._epochs.assign(epoch, start_offset)

    def high_watermark_advanced(self, offset: int) -> None:
        if self._producers is not None:
            self._producers.high_watermark_advanced(offset)

    def log_start_advanced(self, offset: int) -> None:
        self.epochs.truncate_from_start(offset)
        self.producers.log_start_offset_advanced(offset)

    def reload_producers(self) -> None:
        """What the log says of them where it ends now."""
        self.snapshots.remove_above(self._offsets.log_end)
        producers, self._producers = self.producers, None
        self._load(producers)
        self._producers = producers

    def keep_producers_for(self, expiry_ms: int) -> None:
        self._expiry_ms = expiry_ms
        if self._producers is not None:
            self._producers.expiry_ms = expiry_ms

    def expire_producers(self, now: Instant) -> int:
        return 0 if self._producers is None else self._producers.expire(now)

    def moved(self, directory: str) -> None:
        self.directory = self.snapshots.directory = directory
        if self._epochs is not None:
            self._epochs.directory = directory

    def _load(self, producers: ProducerStates) -> None:
        load_producers(
            producers,
            self.snapshots,
            self._segments,
            self._offsets.log_start,
            self._offsets.log_end,
            self._clock.wall(),
        )
