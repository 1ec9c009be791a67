"""A file of the simulated disk: what is appended to it is kept for the turn, then written, and
durable once it is flushed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Bytes, Flushed
from kafkapy.sim.world.disk_image import Data

if TYPE_CHECKING:
    from kafkapy.sim.world.disk import SimDisk


class Interrupted(BaseException):
    """Raised out of `on_write`: nothing happens any more, except that of an append (which
    a process may die in the middle of) so many bytes got through."""

    def __init__(self, where: str, appended: int = 0) -> None:
        super().__init__(where)
        self.appended = appended


class SimFileSlice:
    """A range of a file; the file stays readable when it is deleted meanwhile."""

    __slots__ = ("_data", "length", "position")

    def __init__(self, data: Data, position: int, length: int) -> None:
        self._data: Data | None = data
        self.position = position
        self.length = length

    def read(self) -> bytes:
        assert self._data is not None, "slice was released"
        return bytes(self._data.volatile[self.position : self.position + self.length])

    def release(self) -> None:
        self._data = None


class SimFile:
    """See the seam `File`."""

    def __init__(self, disk: "SimDisk", path: str, data: Data) -> None:
        self._disk = disk
        self.path = path
        self._data = data
        self._kept_bytes = 0
        self._lost: DiskFailed | None = None  # of what a turn kept for it
        self._opens = 1

    @property
    def size(self) -> int:
        return len(self._data.volatile) + self._kept_bytes

    def append(self, buffers: Sequence[Bytes]) -> None:
        data = b"".join(buffers)
        self._check_open()
        if self._lost is not None:
            raise self._lost
        turn = self._disk.turn
        if turn.takes(self, len(data)):
            self._disk.keeping(self.path)
            turn.keep(self, data)
            self._kept_bytes += len(data)
            self._disk.kept += 1
            self._disk.unwritten_appends += 1
        else:
            self._write(data)

    def write_kept(self) -> None:
        data = self._disk.turn.take()
        self._kept_bytes = 0
        self._disk.unwritten.add(self)
        first = self._disk.kept - self._disk.unwritten_appends + 1
        try:
            self._write(data)
        except DiskFailed as failure:
            self._lost = failure
            self._disk.lost_appends.append((first, self._disk.kept))
            self._disk.turn.lost(failure)
            raise
        finally:
            self._disk.unwritten_appends = 0
        self._disk.unwritten.discard(self)

    def _settle(self) -> None:
        if self._disk.turn.file is self:
            self.write_kept()
        elif self._lost is not None:
            raise self._lost

    def _write(self, data: bytes) -> None:
        try:
            self._disk.changing("append", self.path, len(data))
        except Interrupted as end:
            self._data.volatile += data[: end.appended]
            raise
        self._data.volatile += data
        self._data.modified_ms = self._disk.now()

    def read(self, position: int, length: int) -> bytes:
        self._check_open()
        self._settle()
        self._disk.touching("read", self.path)
        return bytes(self._data.volatile[position : position + length])

    def slice(self, position: int, length: int) -> SimFileSlice:
        self._check_open()
        self._settle()
        assert 0 <= position <= position + length <= self.size, (position, length, self.size)
        return SimFileSlice(self._data, position, length)

    def truncate(self, size: int) -> None:
        assert size <= self.size, f"{self.path} is {self.size} bytes, cannot cut to {size}"
        self._check_open()
        self._settle()
        self._disk.changing("truncate", self.path)
        del self._data.volatile[size:]
        self._data.modified_ms = self._disk.now()

    def flush(self, then: Flushed) -> None:
        self._check_open()
        lost: DiskFailed | None = None
        try:
            self._settle()
        except DiskFailed as failure:
            lost = failure
        image = self._data.image()
        boot = self._disk.boots

        def done() -> None:
            if self._disk.boots == boot:
                then(lost or self._disk.flush_data(self.path, self._data, image))

        self._disk.run_later(done)

    def flush_now(self) -> None:
        self._check_open()
        self._settle()
        error = self._disk.flush_data(self.path, self._data, self._data.image())
        if error is not None:
            raise error

    def close(self) -> None:
        if self._disk.turn.file is self:
            self._disk.turn.settle()
        self._opens -= 1
        assert self._opens >= 0, f"{self.path} closed twice"
        if self._opens == 0:
            self._disk.forget(self)

    def opened_again(self) -> "SimFile":
        self._opens += 1
        return self

    @property
    def data(self) -> Data:
        return self._data

    def _check_open(self) -> None:
        assert self._opens > 0, f"{self.path} is closed"
        assert self._disk.boot_of(self), f"{self.path} was opened before the crash"
