"""The producer snapshots of a partition directory, and rebuilding producer states by them.

    snapshot at 1000 --load--> states up to 1000 --replay batches--> states at the log end

A snapshot is taken at every roll (named after the new segment's base) and when the log is
closed. One that is lost or torn costs a longer replay, nothing else.
formats/log 10, formats/producers 3.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Disk, Flushed
from kafkapy.core.time import Instant
from kafkapy.log.names import SNAPSHOT, offset_file
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.producers.snapshot_file import decode_snapshot, encode_snapshot
from kafkapy.log.segments.segments import Segments


class ProducerSnapshots:
    """Which snapshots there are, ascending by offset."""

    __slots__ = ("_disk", "directory", "offsets")

    def __init__(self, disk: Disk, directory: str, offsets: Iterable[int]) -> None:
        self._disk = disk
        self.directory = directory
        self.offsets = sorted(offsets)

    @property
    def latest(self) -> int:
        return self.offsets[-1] if self.offsets else -1

    def take(self, producers: ProducerStates, offset: int) -> None:
        """Write the snapshot at `offset`, unless there is a later one. Not flushed: a torn
        one is known by its CRC. Not later either: it must not outlive a truncation."""
        if offset > self.latest:
            self.take_missing(producers, offset)

    def take_missing(self, producers: ProducerStates, offset: int) -> None:
        """As `take`, but between others: one that is there knows more than a replay of what
        compaction left."""
        if offset in self.offsets:
            return
        self._unlink(offset)
        file = self._disk.open(self._path(offset), create=True)
        try:
            file.append([encode_snapshot(list(producers.active()))])
        finally:
            file.close()
        insort(self.offsets, offset)

    def flush_latest(self, then: Flushed) -> None:
        if not self.offsets:
            then(None)
            return
        file = self._disk.open(self._path(self.latest))
        file.flush(then)
        file.close()

    def remove(self, offset: int) -> None:
        if offset in self.offsets:
            self.offsets.remove(offset)
            self._unlink(offset)

    def remove_above(self, offset: int) -> None:
        while self.offsets and self.offsets[-1] > offset:
            self._unlink(self.offsets.pop())

    def remove_strays(self, bases: Iterable[int]) -> None:
        """Keep those at the base of a segment, and the latest one."""
        kept = {*bases, self.latest}
        for offset in [offset for offset in self.offsets if offset not in kept]:
            self.remove(offset)

    def load(self, producers: ProducerStates, offset: int, above: int, now: Instant) -> bool:
        """Become what the latest good snapshot in (above, offset] says; False: none is."""
        candidates = self.offsets[: bisect_right(self.offsets, offset)]
        for candidate in reversed(candidates):
            if candidate <= above:
                break
            try:
                entries = decode_snapshot(self._disk.read_file(self._path(candidate)))
            except (Corrupt, FileNotFoundError):
                self.remove(candidate)
                continue
            producers.load(entries, candidate, now)
            return True
        return False

    def _path(self, offset: int) -> str:
        return f"{self.directory}/{offset_file(offset, SNAPSHOT)}"

    def _unlink(self, offset: int) -> None:
        if self._disk.exists(self._path(offset)):
            self._disk.remove(self._path(offset))


def replay(producers: ProducerStates, segments: Segments, upto: int) -> None:
    """Fold in the batches from `producers.end_offset` up to `upto`."""
    offset = producers.end_offset
    if offset >= upto:
        return
    for segment in segments.starting_at(offset):
        if segment.base_offset >= upto:
            break
        found = segment.locate(offset)
        if found is None:
            continue
        for position, header in segment.headers(found[0]):
            if header.base_offset >= upto:
                break
            if header.last_offset < offset:
                continue
            batch = segment.file.read(position, header.size) if header.is_control else b""
            producers.update(header, batch)
    producers.end_offset = upto
