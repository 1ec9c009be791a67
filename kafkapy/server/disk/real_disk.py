"""The Disk seam on the operating system.

10,000 partitions of several files each would exhaust the descriptors of a process, so at
most `max_open_files` stay open: the least recently used goes first (second chance), but
never one that a response or a flush is using (see `files.py`).

Names are durable with the data: flushing a file also flushes its directory, and that
one's parent, if an entry was added, renamed or removed there since. Nothing here imports
Trio: the shell passes `run_in_thread`; without one everything happens inline.
"""

import os
import shutil
from collections import Counter, OrderedDict
from collections.abc import Callable
from struct import pack
from threading import Lock
from typing import Final, Protocol

from kafkapy.core.errors import DiskFailed
from kafkapy.core.histogram import Histogram
from kafkapy.core.seams import Callback, Disk, Flushed
from kafkapy.core.time import Instant
from kafkapy.core.turn import Turn
from kafkapy.server.disk.files import (
    Folder,
    Handle,
    RealFile,
    RunInThread,
    disk_failed,
    failures_of,
    flush_directory,
    replace_file,
)
from kafkapy.server.disk.reaper import Reaper
from kafkapy.server.disk.write_behind import WriteBehind

# Descriptors kept open when the caller names no limit: a quarter of the usual hard limit
# of 4096 on a small machine; the shell passes what RLIMIT_NOFILE really allows.
DEFAULT_MAX_OPEN_FILES: Final = 1024

# Freeing the blocks of a file takes milliseconds from about this size on (reaper.py).
_LARGE_FILE_BYTES: Final = 8 * 1024 * 1024


class DirectoryLocked(DiskFailed):
    """Another process (Apache Kafka's included) or node owns this directory."""


class OwnedDisk(Disk, Protocol):
    """A Disk on which directories can be taken for oneself."""

    def lock(self, directory: str) -> Callable[[], None]: ...


class RealDisk:
    """See the seam `Disk`."""

    def __init__(
        self,
        run_in_thread: RunInThread | None = None,
        max_open_files: int = DEFAULT_MAX_OPEN_FILES,
        turn: Turn | None = None,
    ) -> None:
        self.run_in_thread: RunInThread = run_in_thread or _run_inline
        self.turn = turn or Turn()
        self._max_open_files = max(max_open_files, 1)
        self._folders: dict[str, Folder] = {}
        self._open: OrderedDict[RealFile, None] = OrderedDict()
        self._locks: dict[str, int] = {}
        self._writes: dict[str, _LaterWrite] = {}
        # Files (device, inode) that responses read from though they were closed, and by how many.
        self._lingering: Counter[tuple[int, int]] = Counter()
        self._reaper = Reaper(self.run_in_thread)
        self.write_behind = WriteBehind(self.run_in_thread)
        # For metrics: how long flushes took, and how often a reader had to wait for the disk.
        self.flush_seconds = Histogram()
        self.cache_misses = 0

    def bring_in(self, work: Callback, then: Callback) -> None:
        """Something that is not in the page cache."""
        self.cache_misses += 1
        self.run_in_thread(work, then)

    @property
    def open_file_count(self) -> int:
        return len(self._open)

    def open(self, path: str, *, create: bool = False) -> RealFile:
        directory, _, name = path.rpartition("/")
        folder = self._folder(directory)
        if name in folder.files:
            return folder.files[name].opened_again()
        if create:
            self.turn.settle()
        fd = _create(path) if create else -1
        size = 0 if fd >= 0 else self.size(path)
        file = folder.files[name] = RealFile(self, folder, name, size)
        if fd >= 0:
            folder.changes += 1
            self._adopt(file, fd)
        return file

    def read_file(self, path: str) -> bytes:
        self.turn.settle()
        with failures_of(path), open(path, "rb", buffering=0) as file:
            return file.read()

    def write_file(self, path: str, data: bytes) -> None:
        self.turn.settle()
        write = self._writes.get(path)
        with failures_of(path):
            if write is None:
                replace_file(path, data)
            else:
                write.overtake(data)

    def write_file_later(self, path: str, data: bytes, then: Flushed) -> None:
        self.turn.settle()
        write = self._writes.get(path)
        if write is None:
            write = self._writes[path] = _LaterWrite(path, self.run_in_thread, self._writes)
        write.ask(data, then)

    def list(self, directory: str) -> list[str]:
        with failures_of(directory):
            return sorted(os.listdir(directory))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        self.turn.settle()
        with failures_of(path):
            return os.stat(path).st_size

    def modified_ms(self, path: str) -> Instant:
        with failures_of(path):
            return Instant(os.stat(path).st_mtime_ns // 1_000_000)

    def set_modified_ms(self, path: str, when: Instant) -> None:
        with failures_of(path):
            os.utime(path, ns=(when * 1_000_000, when * 1_000_000))

    def make_directory(self, path: str) -> None:
        self.turn.settle()
        with failures_of(path):
            try:
                os.mkdir(path)
            except (FileExistsError, FileNotFoundError):
                try:
                    os.makedirs(path, exist_ok=True)
                except FileNotFoundError as failed:
                    # Where nothing can be made, as under /proc: not a file that is missing.
                    raise DiskFailed(path, str(failed.strerror)) from failed
        self._changed(os.path.dirname(path))

    def rename(self, old: str, new: str) -> None:
        self.turn.settle()
        with failures_of(old):
            os.rename(old, new)
        self._changed(os.path.dirname(old))
        if os.path.dirname(old) != os.path.dirname(new):
            self._changed(os.path.dirname(new))
        folder = self._folders.get(old)
        if folder is not None:
            self._rename_directory(folder, old, new)
        else:
            self._rename_file(old, new)

    def remove(self, path: str) -> None:
        self.turn.settle()
        large = -1
        with failures_of(path):
            status = os.stat(path)
            if status.st_size >= _LARGE_FILE_BYTES:
                large = os.open(path, os.O_RDWR)
            try:
                os.unlink(path)
            except OSError:
                if large >= 0:
                    os.close(large)
                raise
        self._changed(os.path.dirname(path))
        file = self._displace(path)
        if large < 0:
            return
        is_open = file is not None and file.handle is not None
        if is_open or self._lingering[status.st_dev, status.st_ino]:
            self.run_in_thread(lambda: os.close(large), _nothing)  # for readers it stays whole
        else:
            self._reaper.free(large, status.st_size)

    def remove_tree(self, directory: str) -> None:
        with failures_of(directory):
            entries = [(entry.path, entry.is_dir()) for entry in os.scandir(directory)]
        for path, is_directory in entries:
            if is_directory:
                self.remove_tree(path)
            else:
                self.remove(path)
        with failures_of(directory):
            os.rmdir(directory)
        self._folders.pop(directory, None)
        self._changed(os.path.dirname(directory))

    def flush_directory(self, directory: str) -> None:
        folder = self._folder(directory)
        changes = folder.changes
        with failures_of(directory):
            flush_directory(directory)
        folder.flushed(changes)

    def space(self, directory: str) -> tuple[int, int]:
        with failures_of(directory):
            usage = shutil.disk_usage(directory)
            return usage.total, usage.free

    def lock(self, directory: str) -> Callable[[], None]:
        """Own `directory` (its `.lock` file) until the returned callable is called."""
        path = f"{directory}/.lock"
        with failures_of(path):
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock_file(fd)
        except OSError as error:
            os.close(fd)
            raise DirectoryLocked(path, "another Kafka server is using this directory") from error
        self._locks[directory] = fd

        def unlock() -> None:
            if self._locks.pop(directory, None) is not None:
                os.close(fd)

        return unlock

    def hurry(self) -> None:
        """The end is near: nothing is done slowly any more."""
        self._reaper.stop()

    def close(self) -> None:
        """Let go of every descriptor but the locks', once no flush and no response uses it
        any more. Files that are used again open again; any number of times."""
        for file in self._open:
            file.drop_handle()
        self._open.clear()

    # What RealFile asks of its disk.

    def open_handle(self, file: RealFile) -> Handle:
        with failures_of(file.path):
            try:
                fd = os.open(file.path, os.O_RDWR)
            except FileNotFoundError as error:
                raise DiskFailed(file.path, "no such file any more") from error
        return self._adopt(file, fd)

    def forget(self, file: RealFile) -> None:
        self._open.pop(file, None)
        file.drop_handle()
        if file.folder.files.get(file.name) is file:
            del file.folder.files[file.name]

    def lingers(self, handle: Handle) -> None:
        status = os.fstat(handle.fd)
        key = (status.st_dev, status.st_ino)
        self._lingering[key] += 1

        def close(fd: int) -> None:
            self._lingering[key] -= 1
            if not self._lingering[key]:
                del self._lingering[key]
            os.close(fd)

        handle.close = close

    def _adopt(self, file: RealFile, fd: int) -> Handle:
        while len(self._open) >= self._max_open_files and self._evict_one():
            pass
        handle = file.handle = Handle(fd)
        self._open[file] = None
        return handle

    def _evict_one(self) -> bool:
        for _ in range(2 * len(self._open)):
            file, _ = self._open.popitem(last=False)
            handle = file.handle
            assert handle is not None, file.path
            if handle.pins == 0 and not handle.was_used:
                file.drop_handle()
                return True
            handle.was_used = False
            self._open[file] = None
        return False  # all pinned: more stay open than we wanted until they are released

    def _folder(self, directory: str) -> Folder:
        folder = self._folders.get(directory)
        if folder is None:
            # Two levels are enough: partitions sit in log directories, which exist.
            above = os.path.dirname(directory)
            parent = self._folders.get(above)
            if parent is None:
                parent = self._folders[above] = Folder(above, None)
            folder = self._folders[directory] = Folder(directory, parent)
        return folder

    def _changed(self, directory: str) -> None:
        self._folder(directory).changes += 1

    def _rename_directory(self, folder: Folder, old: str, new: str) -> None:
        del self._folders[old]
        folder.path = new
        self._folders[new] = folder

    def _rename_file(self, old: str, new: str) -> None:
        directory, _, name = old.rpartition("/")
        self._displace(new)
        file = self._folder(directory).files.pop(name, None)
        if file is not None:
            new_directory, _, file.name = new.rpartition("/")
            file.folder = self._folder(new_directory)
            file.folder.files[file.name] = file

    def _displace(self, path: str) -> RealFile | None:
        directory, _, name = path.rpartition("/")
        file = self._folder(directory).files.pop(name, None)
        if file is not None:
            file.gone()
        return file


class _LaterWrite:
    """One small file being replaced on a thread, and what to write there next."""

    def __init__(
        self, path: str, run_in_thread: RunInThread, writes: dict[str, "_LaterWrite"]
    ) -> None:
        self._path = path
        self._run_in_thread = run_in_thread
        self._writes = writes
        self._is_busy = False
        self._next: bytes | None = None
        self._waiting: list[Flushed] = []
        # Between a thread that is replacing the file and `overtake`.
        self._replacing = Lock()
        self._generation = 0

    def overtake(self, data: bytes) -> None:
        """Replace the file now with what is newer than anything asked for before."""
        with self._replacing:
            self._generation += 1
            self._next = None
            replace_file(self._path, data)

    def ask(self, data: bytes, then: Flushed) -> None:
        self._next = data
        self._waiting.append(then)
        if not self._is_busy:
            self._start()

    def _start(self) -> None:
        assert self._next is not None, self._path
        data, self._next = self._next, None
        thens, self._waiting = self._waiting, []
        self._is_busy = True
        generation = self._generation
        failure: list[OSError] = []

        def work() -> None:
            with self._replacing:
                if self._generation == generation:
                    try:
                        replace_file(self._path, data)
                    except OSError as error:
                        failure.append(error)

        def done() -> None:
            self._is_busy = False
            if self._next is not None:
                self._start()
            else:
                thens.extend(self._waiting)  # overtaken
                del self._writes[self._path]
            error = disk_failed(self._path, failure[0]) if failure else None
            for then in thens:
                then(error)

        self._run_in_thread(work, done)


def _lock_file(fd: int) -> None:
    """Lock against Java's FileChannel.tryLock, which is an fcntl record lock.

    Such a lock belongs to a process and is lost when it closes any descriptor of the file;
    one of an open file description (Linux) excludes those, and a second node in this
    process too. Elsewhere an flock does the latter, and Windows locks a byte.
    """
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows has it
        return
    if hasattr(fcntl, "F_OFD_SETLK"):
        # struct flock: type, whence, start, length (0: all of it), pid (0 for these)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _create(path: str) -> int:
    """The descriptor of a new file, -1 if there is one already. (Asking first would be one
    more system call for each of the thirty thousand files of ten thousand partitions.)"""
    with failures_of(path):
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return -1
        except FileNotFoundError as failed:
            # Not a file that is missing, but the directory where it should be made.
            raise disk_failed(path, failed) from failed


def _run_inline(work: Callable[[], None], then: Callable[[], None]) -> None:
    work()
    then()


def _nothing() -> None:
    pass
