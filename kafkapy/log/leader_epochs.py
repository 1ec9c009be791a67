"""Where each leader epoch began in a log: what followers truncate by (KIP-101, KIP-279).

    epoch         0        3         4
    offset   0 ───────── 120 ───── 300 ─────── end
             end of 0 is 120; of 1 and 2, which left nothing here, also 120 (epoch 0)

Entries ascend in both columns. They are kept in `leader-epoch-checkpoint`, written off
the loop: `save` says when what is known now is durable, and a log does not move its
recovery point before. Epochs lost behind the recovery point are found again in the batch
headers.
"""

from bisect import bisect_right
from typing import Final

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk, Flushed
from kafkapy.log.directories.checkpoints import encode_epochs, read_epochs
from kafkapy.log.names import LEADER_EPOCH_CHECKPOINT

UNDEFINED: Final = (-1, -1)


class LeaderEpochs:
    """The epochs of one partition log."""

    __slots__ = ("_disk", "_saved_version", "_starts", "_version", "directory", "epochs", "latest")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self.directory = directory
        self.epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = -1
        self._version = 0
        self._saved_version = 0
        for epoch, start_offset in sorted(read_epochs(disk, self._path)):
            self._insert(epoch, start_offset)
        self._version = 0

    def __iter__(self) -> "zip[tuple[int, int]]":
        return zip(self.epochs, self._starts, strict=True)

    def __len__(self) -> int:
        return len(self.epochs)

    @property
    def _path(self) -> str:
        return f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"

    def assign(self, epoch: int, start_offset: int) -> bool:
        """`epoch` begins at `start_offset`; False if that is nothing new."""
        assert epoch >= 0 <= start_offset, (epoch, start_offset)
        if self.epochs and epoch == self.latest and start_offset >= self._starts[-1]:
            return False
        self._insert(epoch, start_offset)
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch here that is not above `epoch`; (-1, -1)
        if that is not known."""
        if epoch < 0 or not self.epochs or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return epoch, log_end_offset
        above = bisect_right(self.epochs, epoch)
        return (self.epochs[above - 1] if above else epoch), self._starts[above]

    def epoch_at(self, offset: int) -> int:
        """The epoch a record at `offset` was written in; -1 if that is not known."""
        index = bisect_right(self._starts, offset)
        return self.epochs[index - 1] if index else -1

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that began at `end_offset` or later."""
        kept = len(self._starts)
        while kept and self._starts[kept - 1] >= end_offset:
            kept -= 1
        if kept < len(self._starts):
            self._keep(kept)

    def truncate_from_start(self, start_offset: int) -> None:
        """The log begins at `start_offset` now, in the epoch that was going on there."""
        index = bisect_right(self._starts, start_offset) - 1
        if index > 0 or (index == 0 and self._starts[0] < start_offset):
            del self.epochs[:index]
            del self._starts[:index]
            self._starts[0] = start_offset
            self._version += 1

    def clear(self) -> None:
        if self.epochs:
            self._keep(0)

    @property
    def is_saved(self) -> bool:
        return self._saved_version == self._version

    def save(self, then: Flushed) -> None:
        """`then` once all that is known now is in the file."""
        if self.is_saved:
            then(None)
            return
        version = self._version

        def written(error: DiskFailed | None) -> None:
            if error is None:
                self._saved_version = max(self._saved_version, version)
            then(error)

        self._disk.write_file_later(self._path, encode_epochs(self), written)

    def save_now(self) -> None:
        if not self.is_saved:
            self._disk.write_file(self._path, encode_epochs(self))
            self._saved_version = self._version

    def _insert(self, epoch: int, start_offset: int) -> None:
        # What was there from this offset or epoch on was never committed, or is wrong.
        kept = len(self.epochs)
        while kept and (self.epochs[kept - 1] >= epoch or self._starts[kept - 1] >= start_offset):
            kept -= 1
        self._keep(kept)
        self.epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch

    def _keep(self, count: int) -> None:
        del self.epochs[count:]
        del self._starts[count:]
        self.latest = self.epochs[-1] if self.epochs else -1
        self._version += 1
