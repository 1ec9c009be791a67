"""The snapshots of a metadata log: which there are, and which may go.

A new one is written to a temporary name, flushed, and renamed; what a crash leaves of
that is removed at the next start. Old ones go, and the log before the oldest that stays,
once there is a newer one and they take too much room or are too old.
formats/log 1, formats/metadata 4; KIP-630.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.seams import Disk, File, Flushed, Rng
from kafkapy.kraft.log.snapshot_file import SUFFIX, SnapshotId, read_snapshot, snapshot_id
from kafkapy.kraft.records.control import SnapshotHeader

_PART: Final = ".part"
_DELETED: Final = ".deleted"


class Snapshots:
    """`ids` are in order; (0, 0), of the format command, counts as one of them."""

    def __init__(self, disk: Disk, directory: str, rng: Rng) -> None:
        self._disk = disk
        self._directory = directory
        self._rng = rng
        self.ids: list[SnapshotId] = []

    def recover(self, log_start_offset: int) -> None:
        """Look what is there. Unfinished ones and those before the log's start are removed."""
        for name in self._disk.list(self._directory):
            found = snapshot_id(name)
            is_rubbish = name.endswith((SUFFIX + _PART, SUFFIX + _DELETED))
            if is_rubbish or (found is not None and found.end_offset < log_start_offset):
                self._disk.remove(f"{self._directory}/{name}")
            elif found is not None:
                self.ids.append(found)
        self.ids.sort()
        if log_start_offset > 0 and not self.ids:
            raise Corrupt(
                f"{self._directory}: the log begins at {log_start_offset}, "
                "and there is no snapshot of what was before"
            )

    @property
    def earliest(self) -> SnapshotId | None:
        return self.ids[0] if self.ids else None

    @property
    def latest(self) -> SnapshotId | None:
        return self.ids[-1] if self.ids else None

    def path(self, snapshot: SnapshotId) -> str:
        return f"{self._directory}/{snapshot.file_name}"

    def open(self, snapshot: SnapshotId) -> File:
        return self._disk.open(self.path(snapshot))

    def read(self, snapshot: SnapshotId, position: int, max_bytes: int) -> bytes:
        file = self.open(snapshot)
        try:
            return file.read(position, max_bytes)
        finally:
            file.close()

    def size(self, snapshot: SnapshotId) -> int:
        return self._disk.size(self.path(snapshot))

    def _is_older(self, snapshot: SnapshotId, timestamp: int) -> bool:
        """Or damaged, and of no use to anybody."""
        try:
            first = next(read_snapshot(self.open(snapshot)))
        except Corrupt:
            return True
        header = first.control[0]
        assert isinstance(header, SnapshotHeader), header
        return header.last_contained_log_timestamp < timestamp

    def create(self, snapshot: SnapshotId) -> "UnfinishedSnapshot":
        stem = snapshot.file_name.removesuffix(SUFFIX)
        path = f"{self._directory}/{stem}-{self._rng.below(1 << 62)}{SUFFIX}{_PART}"
        return UnfinishedSnapshot(self, self._disk, snapshot, self._disk.open(path, create=True))

    def finished(self, snapshot: SnapshotId, path: str) -> None:
        self._disk.rename(path, self.path(snapshot))
        self._disk.flush_directory(self._directory)
        if snapshot not in self.ids:
            self.ids.append(snapshot)
            self.ids.sort()

    def remove(self, snapshots: Iterable[SnapshotId]) -> None:
        for snapshot in snapshots:
            self.ids.remove(snapshot)
            self._disk.remove(self.path(snapshot))

    def removable(
        self, *, log_size: int, max_bytes: int, oldest_timestamp: int
    ) -> list[SnapshotId]:
        """The oldest ones that are too much or too old; the newest never is."""
        sizes = [self.size(one) for one in self.ids]
        total = log_size + sum(sizes)
        removable = []
        for snapshot, size in zip(self.ids[:-1], sizes, strict=False):
            is_too_much = 0 <= max_bytes < total
            if not is_too_much and not self._is_older(snapshot, oldest_timestamp):
                break
            total -= size
            removable.append(snapshot)
        return removable


class UnfinishedSnapshot:
    """A snapshot being written. `finish` makes it one, or `flush` and `take_its_name`; `abandon`
    leaves nothing."""

    def __init__(self, owner: Snapshots, disk: Disk, snapshot: SnapshotId, file: File) -> None:
        self.id = snapshot
        self._owner = owner
        self._disk = disk
        self._file = file
        self._is_flushing = False
        self._is_abandoned = False

    @property
    def size(self) -> int:
        return self._file.size

    def append(self, data: bytes) -> None:
        self._file.append([data])

    def finish(self, then: Flushed) -> None:
        """Durable, and there. `then` does not come if it is abandoned meanwhile."""

        def flushed(failure: DiskFailed | None) -> None:
            if failure is None:
                try:
                    self.take_its_name()
                except DiskFailed as problem:
                    failure = problem
            else:
                self._file.close()
            then(failure)

        self.flush(flushed)

    def flush(self, then: Flushed) -> None:
        """All of it is written, and durable under its temporary name; `then` as above."""
        self._is_flushing = True

        def flushed(failure: DiskFailed | None) -> None:
            if self._is_abandoned:
                self._remove()
                return
            self._is_flushing = False
            then(failure)

        self._file.flush(flushed)

    def open(self) -> File:
        """To read what was written."""
        return self._disk.open(self._file.path)

    def take_its_name(self) -> None:
        """From here on it is there. DiskFailed."""
        self._file.close()
        self._owner.finished(self.id, self._file.path)

    def abandon(self) -> None:
        self._is_abandoned = True
        if not self._is_flushing:
            self._remove()

    def _remove(self) -> None:
        """Or the next start does (`recover`), where the disk is gone."""
        self._file.close()
        with suppress(DiskFailed):
            self._disk.remove(self._file.path)
