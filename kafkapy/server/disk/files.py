"""Files of the operating system as the core sees them: named once, their descriptor
coming and going.

    RealFile -- has at most one --> Handle (an open descriptor) <-- pinned by -- RealFileSlice
                                                                <-- pinned by -- a flush

A handle that is evicted, or whose file is closed, deleted or replaced, is retired: the
descriptor closes when the last pin is let go. Only worker threads wait for the disk; they
see descriptors and path strings, never these objects.
"""

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, Protocol

from kafkapy.core.errors import DiskFailed
from kafkapy.core.histogram import Histogram
from kafkapy.core.seams import Bytes, Flushed
from kafkapy.core.turn import Turn
from kafkapy.server.disk.page_cache import bring_in, is_cached
from kafkapy.server.disk.write_behind import STRETCH_BYTES, WriteBehind

# `run_in_thread(work, then)`: run `work` on a worker thread, then `then` on the loop.
# `work` never raises.
RunInThread = Callable[[Callable[[], None], Callable[[], None]], None]

_IOV_MAX: Final = os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 1024
# The end of what was written moments ago is in the page cache for sure.
_FRESH_BYTES: Final = 4 * 1024 * 1024
_sync_data: Final = getattr(os, "fdatasync", os.fsync)


class Descriptors(Protocol):
    """What files ask of the disk they are on."""

    run_in_thread: RunInThread
    turn: Turn
    write_behind: WriteBehind

    def open_handle(self, file: "RealFile") -> "Handle": ...

    def forget(self, file: "RealFile") -> None: ...

    def lingers(self, handle: "Handle") -> None: ...

    def bring_in(self, work: Callable[[], None], then: Callable[[], None]) -> None: ...

    @property
    def flush_seconds(self) -> Histogram: ...


class Handle:
    """One open descriptor and how many hold it. Retired: closed when the last lets go."""

    __slots__ = ("close", "fd", "is_retired", "pins", "was_used")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.close: Callable[[int], None] = os.close
        self.pins = 0
        self.was_used = True
        self.is_retired = False

    def unpin(self) -> None:
        assert self.pins > 0, self.fd
        self.pins -= 1
        if self.is_retired and self.pins == 0:
            self.close(self.fd)

    def retire(self) -> None:
        assert not self.is_retired, self.fd
        self.is_retired = True
        if self.pins == 0:
            self.close(self.fd)


class RealFileSlice:
    """A range of a file, for sendfile (`pin` gives the descriptor) or for `read`."""

    __slots__ = ("_handle", "_is_fresh", "_run_in_thread", "length", "path", "position")

    def __init__(
        self,
        path: str,
        handle: Handle,
        position: int,
        length: int,
        run_in_thread: RunInThread,
        *,
        is_fresh: bool,
    ) -> None:
        handle.pins += 1
        self._handle: Handle | None = handle
        self._run_in_thread = run_in_thread
        self._is_fresh = is_fresh
        self.path = path
        self.position = position
        self.length = length

    def pin(self) -> int:
        """The descriptor; valid until `release`."""
        assert self._handle is not None, f"slice of {self.path} was released"
        return self._handle.fd

    def read(self) -> bytes:
        return _read_fully(self.path, self.pin(), self.position, self.length)

    def is_cached(self, at: int, length: int) -> bool:
        """Whether `length` bytes from `at` on can be read without waiting for the disk."""
        return self._is_fresh or is_cached(self.pin(), self.position + at, length)

    def bring_in(self, at: int, length: int, then: Callable[[], None]) -> None:
        """Wait for the disk off the loop; `then` runs on it, whatever came of it."""
        handle, start = self._handle, self.position + at
        assert handle is not None, f"slice of {self.path} was released"
        handle.pins += 1

        def done() -> None:
            handle.unpin()
            then()

        self._run_in_thread(lambda: bring_in(handle.fd, start, length), done)

    def release(self) -> None:
        """Any number of times; the first counts."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.unpin()


class Folder:
    """A directory: its path may change under its open files.

    `changes` counts entries added, renamed and removed, `flushed_changes` those that are
    durable: a flush that began before a change says nothing about it. There is one to
    begin with: a process that was killed may have left names that nobody flushed.
    """

    __slots__ = ("changes", "files", "flushed_changes", "parent", "path")

    def __init__(self, path: str, parent: "Folder | None") -> None:
        self.path = path
        self.parent = parent
        self.files: dict[str, RealFile] = {}
        self.changes = 1
        self.flushed_changes = 0

    def dirty(self) -> "list[tuple[Folder, int]]":
        """This one and its parent, as far as they have changes to flush, with the count."""
        both = (self,) if self.parent is None else (self, self.parent)
        return [(folder, folder.changes) for folder in both if folder.is_dirty]

    @property
    def is_dirty(self) -> bool:
        return self.flushed_changes < self.changes

    def flushed(self, changes: int) -> None:
        self.flushed_changes = max(self.flushed_changes, changes)


class RealFile:
    """See the seam `File`."""

    __slots__ = (
        "_begun_to",
        "_disk",
        "_flushing",
        "_is_gone",
        "_lost",
        "_opens",
        "_size",
        "_turn",
        "_waiting",
        "_written_from",
        "folder",
        "handle",
        "name",
    )

    def __init__(self, disk: Descriptors, folder: Folder, name: str, size: int) -> None:
        self._disk = disk
        self.folder = folder
        self.name = name
        self._size = size  # with what the turn keeps
        self._turn = disk.turn
        self._written_from = size  # what is behind this has been written by this process
        self._begun_to = size  # what is before this the disk has been told to write
        self._opens = 1
        self._is_gone = False
        self._lost: DiskFailed | None = None  # of what a turn kept for it
        self.handle: Handle | None = None
        self._flushing: list[Flushed] | None = None
        self._waiting: list[Flushed] = []

    @property
    def path(self) -> str:
        return f"{self.folder.path}/{self.name}"

    @property
    def size(self) -> int:
        return self._size

    def append(self, buffers: Sequence[Bytes]) -> None:
        wanted = sum(map(len, buffers))
        if self._lost is not None:
            raise self._lost
        if self._turn.takes(self, wanted):
            self._turn.keep(self, b"".join(buffers))
        else:
            self._write(buffers, wanted, self._size)
        self._size += wanted

    def write_kept(self) -> None:
        data = self._turn.take()
        begin = self._size - len(data)
        try:
            self._write((data,), len(data), begin)
        except DiskFailed as failed:
            self._size = begin
            self._lost = failed
            self._turn.lost(failed)
            raise

    def _settle(self) -> None:
        if self._turn.file is self:
            self.write_kept()
        elif self._lost is not None:
            raise self._lost

    def _write(self, buffers: Sequence[Bytes], wanted: int, position: int) -> None:
        handle = self.handle or self._use()
        handle.was_used = True
        fd = handle.fd
        try:
            some = buffers if len(buffers) <= _IOV_MAX else buffers[:_IOV_MAX]
            written = os.pwritev(fd, some, position)
            if written != wanted:
                _write_rest(fd, buffers, written, wanted, position)
        except OSError as error:
            _cut_back(fd, position)
            raise DiskFailed(self.path, error.strerror or str(error)) from error
        if position - self._begun_to >= STRETCH_BYTES:
            self._begin_writing(handle, position)

    def _begin_writing(self, handle: Handle, end: int) -> None:
        """What comes last is left out: the next append may go into the same page."""
        handle.pins += 1
        if self._disk.write_behind.begin(handle.fd, self._begun_to, end, handle.unpin):
            self._begun_to = end
        else:
            handle.unpin()

    def read(self, position: int, length: int) -> bytes:
        self._settle()
        length = min(length, self._size - position)
        return _read_fully(self.path, self._use().fd, position, length) if length > 0 else b""

    def slice(self, position: int, length: int) -> RealFileSlice:
        self._settle()
        assert 0 <= position <= position + length <= self._size, (position, length, self._size)
        return RealFileSlice(
            self.path,
            self._use(),
            position,
            length,
            self._disk.bring_in,
            is_fresh=position >= self._written_from and position >= self._size - _FRESH_BYTES,
        )

    def truncate(self, size: int) -> None:
        assert size <= self._size, f"{self.path} is {self._size} bytes, cannot cut to {size}"
        self._settle()
        self._turn.settle()
        with failures_of(self.path):
            os.ftruncate(self._use().fd, size)
        self._size = size
        self._written_from = min(self._written_from, size)
        self._begun_to = min(self._begun_to, size)

    def flush(self, then: Flushed) -> None:
        if self._flushing is not None:
            self._waiting.append(then)
        else:
            self._start_flush([then])

    def flush_now(self) -> None:
        self._settle()
        handle = self._use()
        with failures_of(self.path):
            _sync_data(handle.fd)
            for folder, changes in self.folder.dirty():
                flush_directory(folder.path)
                folder.flushed(changes)

    def close(self) -> None:
        if self._turn.file is self:
            self._turn.settle()
        self._opens -= 1
        assert self._opens >= 0, f"{self.path} closed twice"
        if self._opens == 0:
            self._disk.forget(self)

    def _use(self) -> Handle:
        handle = self.handle
        if handle is None:
            assert self._opens > 0, f"{self.path} is closed"
            if self._is_gone:
                raise DiskFailed(self.path, "deleted or replaced while in use")
            handle = self._disk.open_handle(self)
        handle.was_used = True
        return handle

    def _start_flush(self, thens: list[Flushed]) -> None:
        """Group commit: whoever asks while this one is under way joins the next one."""
        self._flushing = thens
        try:
            self._settle()
            handle = self.handle or self._reopened()
        except DiskFailed as error:
            self._finish_flush(error)
            return
        if handle is None:
            self._finish_flush(None)
            return
        handle.pins += 1
        path = self.path
        dirty = self.folder.dirty()
        directories = [folder.path for folder, _ in dirty]
        failure: list[OSError] = []
        took: list[float] = []

        def work() -> None:
            began = perf_counter()
            try:
                _sync_data(handle.fd)
                for directory in directories:
                    flush_directory(directory)
            except OSError as error:
                failure.append(error)
            took.append(perf_counter() - began)

        def done() -> None:
            for seconds in took:
                self._disk.flush_seconds.observe(seconds)
            handle.unpin()
            if self._opens == 0:
                self._disk.forget(self)
            for folder, changes in dirty:
                # Renamed under the flush: whoever flushes next does it again.
                if folder.path in directories and not failure:
                    folder.flushed(changes)
            self._finish_flush(disk_failed(path, failure[0]) if failure else None)

        self._disk.run_in_thread(work, done)

    def _reopened(self) -> Handle | None:
        """A descriptor for a flush that waited while the file was closed, or nothing if
        it was deleted: what no name leads to needs no flush."""
        return None if self._is_gone else self._disk.open_handle(self)

    def _finish_flush(self, error: DiskFailed | None) -> None:
        thens, self._flushing = self._flushing or [], None
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._start_flush(waiting)
        for then in thens:
            then(error)

    # What the disk does to its files.

    def drop_handle(self) -> None:
        handle, self.handle = self.handle, None
        if handle is not None:
            if handle.pins:
                self._disk.lingers(handle)
            handle.retire()

    def opened_again(self) -> "RealFile":
        self._opens += 1
        return self

    def gone(self) -> None:
        """The name leads here no more; what is open stays usable until it is dropped."""
        self._is_gone = True


class failures_of:
    """Turn an OSError inside into DiskFailed of `path`; a missing file stays what it is."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise disk_failed(self._path, error) from error


def disk_failed(path: str, error: OSError) -> DiskFailed:
    return DiskFailed(path, error.strerror or str(error))


def _write_rest(
    fd: int, buffers: Sequence[Bytes], written: int, wanted: int, position: int
) -> None:
    rest = [memoryview(buffer).cast("B") for buffer in buffers]
    done = written
    while True:
        while rest and written >= len(rest[0]):
            written -= len(rest.pop(0))
        if done == wanted:
            return
        rest[0] = rest[0][written:]
        written = os.pwritev(fd, rest[:_IOV_MAX], position + done)
        done += written


def _cut_back(fd: int, size: int) -> None:
    # Should this fail as well the bytes stay behind `size`: the next append writes
    # over them, and recovery cuts them off.
    try:
        os.ftruncate(fd, size)
    except OSError:
        return


def _read_fully(path: str, fd: int, position: int, length: int) -> bytes:
    with failures_of(path):
        data = os.pread(fd, length, position)
        if len(data) == length:
            return data
        parts = [data]
        got = len(data)
        while got < length and data:
            data = os.pread(fd, length - got, position + got)
            parts.append(data)
            got += len(data)
        return b"".join(parts)


def replace_file(path: str, data: bytes) -> None:
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        view = memoryview(data)
        while view:
            written = os.write(fd, view)
            view = view[written:]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(temporary, path)
    flush_directory(os.path.dirname(path))


def flush_directory(directory: str) -> None:
    try:
        fd = os.open(directory, os.O_RDONLY)
    except FileNotFoundError:
        return  # renamed since; it is marked as not flushed under its new name
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
