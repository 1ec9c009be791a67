"""A disk in memory that forgets and tears what was not flushed.

Every file and every directory has a volatile and a durable image (`disk_image.py`):

- File data: since the last flush a file was appended to and cut. After a crash it is the
  old image, or the new one cut at any byte, or the new one with a hole of zeros.
- Names: entries added, renamed and removed are kept in order per directory; a crash keeps
  some first few of those not flushed. Flushing a file flushes its directory and that
  one's parent, as `server/disk/real_disk.py` does.

- Within a turn (core/turn.py) small appends are kept and written together, as
  `server/disk/files.py` does; what is kept is the process's, and dies with it.

Faults are asked for in advance: `fail(...)` the nth write or flush, `capacity` of the
volume, or `on_write`, which is called before every change and flush, and when an append is
kept, and may raise `Interrupted`: the process or the machine dies there. `crash` is the
machine's death, `kill` the process's: then all that was written is still there, flushed or
not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback, Flushed, Rng
from kafkapy.core.time import Instant
from kafkapy.core.turn import Turn
from kafkapy.sim.world.disk_image import Data, Directory, Image, Node, used_bytes
from kafkapy.sim.world.file import SimFile


@dataclass(slots=True)
class _Fault:
    kind: str
    in_path: str
    countdown: int
    cause: str


class SimDisk:
    """See the seam `Disk`. `run_later` runs what worker threads finish; at once if None."""

    def __init__(
        self,
        now: Callable[[], Instant] = lambda: Instant(0),
        run_later: Callable[[Callback], object] | None = None,
        capacity: int = 2**40,
    ) -> None:
        self.now = now
        self.run_later: Callable[[Callback], object] = run_later or _at_once
        self.capacity = capacity
        self.turn = Turn()
        # To these more was appended than the disk has: it could not be written, or was not yet.
        self.unwritten: set[SimFile] = set()
        # Appends that turns kept, ever; how many of the last are not written; those that were
        # lost in this life.
        self.kept = 0
        self.unwritten_appends = 0
        self.lost_appends: list[tuple[int, int]] = []
        self.boots = 0
        self.flushes = 0
        # (kind, path, bytes of an append that is written, or of a write)
        self.on_write: Callable[[str, str, int], None] | None = None
        self._root = Directory()
        self._files: dict[Data, SimFile] = {}
        self._faults: list[_Fault] = []
        self._lost_directories: list[str] = []
        self._locks: set[str] = set()
        # Files to be replaced: the newest contents (None: overtaken), and who waits.
        self._later: dict[str, tuple[bytes | None, list[Flushed]]] = {}
        self._root.flush()

    # Faults.

    def fail(self, kind: str, *, in_path: str = "", nth: int = 1, cause: str = "I/O error") -> None:
        """Let the nth `kind` (append, truncate, read, write_file, flush, rename, remove,
        create, or any) under a path that contains `in_path` fail, once."""
        self._faults.append(_Fault(kind, in_path, nth, cause))

    @property
    def will_fail(self) -> bool:
        return bool(self._faults)

    def forget_faults(self) -> None:
        """What was asked for does not happen any more."""
        self._faults.clear()

    def lose(self, directory: str) -> None:
        """The volume is gone, for this process and the next ones, until `mend`."""
        self._lost_directories.append(f"{directory}/")

    def mend(self) -> None:
        """Lost volumes are back, as they were."""
        self._lost_directories.clear()

    @property
    def has_lost_directories(self) -> bool:
        return bool(self._lost_directories)

    def flip(self, path: str, position: int, bits: int) -> None:
        """What was flushed is not what is read any more; nobody is told."""
        self._data(path).flip(position, bits)

    def crash(self, rng: Rng) -> None:
        """Power off and on: files opened before are dead, flushes under way never end."""
        self.kill()
        self._root.crash(rng)

    def kill(self) -> None:
        """The process ends: its files, locks and flushes go, what it wrote stays."""
        self.boots += 1
        self.turn = Turn()
        self.unwritten.clear()
        self.unwritten_appends = 0
        self.lost_appends.clear()
        self._files.clear()
        self._faults.clear()
        self._locks.clear()
        self._later.clear()

    # The seam.

    def open(self, path: str, *, create: bool = False) -> SimFile:
        try:
            directory, name = self._parent(path)
        except FileNotFoundError:
            if create:
                raise DiskFailed(path, "No such file or directory") from None
            raise
        data = directory.entries.get(name)
        if data is None:
            if not create:
                raise FileNotFoundError(path)
            self.changing("create", path)
            data = Data(modified_ms=self.now())
            directory.change(None, name, data)
        if isinstance(data, Directory):
            raise DiskFailed(path, "is a directory")
        file = self._files.get(data)
        if file is not None:
            return file.opened_again()
        file = self._files[data] = SimFile(self, path, data)
        return file

    def read_file(self, path: str) -> bytes:
        self.turn.settle()
        self.touching("read", path)
        return bytes(self._data(path).volatile)

    def write_file(self, path: str, data: bytes) -> None:
        self.changing("write_file", path, len(data))
        if path in self._later:  # what was asked for earlier is older than this
            self._later[path] = (None, self._later[path][1])
        directory, name = self._parent(path)
        new = Data(bytearray(data), data, self.now())
        directory.change(None, name, new)
        directory.flush()

    def write_file_later(self, path: str, data: bytes, then: Flushed) -> None:
        boot = self.boots
        thens = self._later[path][1] if path in self._later else []
        thens.append(then)
        self._later[path] = (data, thens)

        def work() -> None:
            if self.boots == boot and path in self._later:
                newest, thens = self._later.pop(path)
                error = None if newest is None else self._try_write(path, newest)
                for one in thens:
                    one(error)

        self.run_later(work)

    def _try_write(self, path: str, data: bytes) -> DiskFailed | None:
        try:
            self.write_file(path, data)
        except DiskFailed as failure:
            return failure
        except FileNotFoundError:
            return DiskFailed(path, "no such directory any more")
        return None

    def list(self, directory: str) -> list[str]:
        self.touching("read", directory)
        return sorted(self._directory(directory).entries)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._find(path), Directory)

    def size(self, path: str) -> int:
        self.turn.settle()
        return len(self._data(path).volatile)

    def modified_ms(self, path: str) -> Instant:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        return node.modified_ms

    def set_modified_ms(self, path: str, when: Instant) -> None:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        node.modified_ms = when

    def make_directory(self, path: str) -> None:
        directory = self._root
        for name in path.strip("/").split("/"):
            node = directory.entries.get(name)
            if node is None:
                self.changing("create", path)
                node = Directory(modified_ms=self.now())
                directory.change(None, name, node)
            if not isinstance(node, Directory):
                raise DiskFailed(path, "not a directory")
            directory = node

    def rename(self, old: str, new: str) -> None:
        node = self._find(old)
        if node is None:
            raise FileNotFoundError(old)
        self.changing("rename", old)
        old_directory, old_name = self._parent(old)
        new_directory, new_name = self._parent(new)
        if old_directory is new_directory:
            old_directory.change(old_name, new_name, node)
        else:
            new_directory.change(None, new_name, node)
            old_directory.change(old_name, None, node)
        self._rename_open(node, old, new)

    def remove(self, path: str) -> None:
        data = self._data(path)
        self.changing("remove", path)
        directory, name = self._parent(path)
        directory.change(name, None, data)

    def remove_tree(self, directory: str) -> None:
        node = self._directory(directory)
        for name, inside in sorted(node.entries.items()):
            if isinstance(inside, Directory):
                self.remove_tree(f"{directory}/{name}")
            else:
                self.remove(f"{directory}/{name}")
        self.changing("remove", directory)
        parent, name = self._parent(directory)
        parent.change(name, None, node)

    def flush_directory(self, directory: str) -> None:
        self.changing("flush", directory)
        self._directory(directory).flush()

    def space(self, directory: str) -> tuple[int, int]:
        self._directory(directory)
        return self.capacity, max(self.capacity - used_bytes(self._root), 0)

    def lock(self, directory: str) -> Callable[[], None]:
        self._directory(directory)
        if directory in self._locks:
            raise DiskFailed(f"{directory}/.lock", "another Kafka server uses this directory")
        self._locks.add(directory)
        return lambda: self._locks.discard(directory)

    def contents(self, path: str) -> bytes:
        """What the operating system has, without anybody having asked for it."""
        return bytes(self._data(path).volatile)

    # What SimFile asks of its disk.

    def changing(self, kind: str, path: str, more_bytes: int = 0) -> None:
        self.turn.settle()
        if self.on_write is not None:
            self.on_write(kind, path, more_bytes)
        self.touching(kind, path)
        if (
            more_bytes
            and self.capacity < 2**40
            and used_bytes(self._root) + more_bytes > self.capacity
        ):
            raise DiskFailed(path, "No space left on device")

    def keeping(self, path: str) -> None:
        if self.on_write is not None:
            self.on_write("keep", path, 0)

    def touching(self, kind: str, path: str) -> None:
        for lost in self._lost_directories:
            if f"{path}/".startswith(lost):
                raise DiskFailed(path, "No such device")
        for fault in self._faults:
            if fault.kind in (kind, "any") and fault.in_path in path:
                fault.countdown -= 1
                if fault.countdown == 0:
                    self._faults.remove(fault)
                    raise DiskFailed(path, fault.cause)

    def flush_data(self, path: str, data: Data, image: Image) -> DiskFailed | None:
        self.flushes += 1
        try:
            self.changing("flush", path)
        except DiskFailed as failure:
            return failure
        data.flush(image)
        self._flush_names(path)
        return None

    def boot_of(self, file: SimFile) -> bool:
        return self._files.get(file.data) is file

    def forget(self, file: SimFile) -> None:
        if self.boot_of(file):
            del self._files[file.data]

    def has_all_that_was_appended(self, directory: str) -> bool:
        """To the files there: nothing is kept, and nothing was lost."""
        files = {*self.unwritten, self.turn.file}
        return not any(
            isinstance(file, SimFile) and file.path.startswith(f"{directory}/") for file in files
        )

    def _flush_names(self, path: str) -> None:
        directory = path.rpartition("/")[0]
        for above in (directory, directory.rpartition("/")[0]):
            node = self._find(above)
            if isinstance(node, Directory):
                node.flush()

    def _rename_open(self, node: Node, old: str, new: str) -> None:
        for data, file in self._files.items():
            if data is node:
                file.path = new
            elif isinstance(node, Directory) and file.path.startswith(f"{old}/"):
                file.path = new + file.path[len(old) :]

    def _find(self, path: str) -> Node | None:
        node: Node | None = self._root
        for name in path.strip("/").split("/"):
            if name:
                node = node.entries.get(name) if isinstance(node, Directory) else None
        return node

    def _directory(self, path: str) -> Directory:
        node = self._find(path)
        if not isinstance(node, Directory):
            raise FileNotFoundError(path)
        return node

    def _data(self, path: str) -> Data:
        node = self._find(path)
        if not isinstance(node, Data):
            raise FileNotFoundError(path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        directory, _, name = path.rpartition("/")
        return self._directory(directory), name


def _at_once(then: Callback) -> None:
    then()
