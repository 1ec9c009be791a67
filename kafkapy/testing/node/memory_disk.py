"""The Disk seam in memory: what a test's broker keeps its files on unless it is given a directory.

    Folder --entries--> Folder, MemoryFile      paths are found by walking, names change in place

Nothing is torn or lost here: that is what the simulator's disk is for. It outlives the broker's
threads, so a killed broker finds everything it wrote, as a killed process does in the page
cache, and it goes with the broker: there is no file to remove. It can be full (`is_full`).
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Bytes, Callback, Flushed
from kafkapy.core.time import Instant

_NO_SPACE: Final = "No space left on device"
# What the volume claims to have: nothing compares it with the memory that is there.
_VOLUME_BYTES: Final = 1 << 40


class MemorySlice:
    """A range of a file; it stays readable when the file is deleted meanwhile."""

    __slots__ = ("_data", "length", "position")

    def __init__(self, data: bytearray, position: int, length: int) -> None:
        self._data = data
        self.position = position
        self.length = length

    def read(self) -> bytes:
        return _copy(self._data, self.position, self.length)

    def release(self) -> None:
        pass


class Folder:
    """A directory: its name and parent may change, what is in it goes along."""

    __slots__ = ("entries", "modified_ms", "name", "parent")

    def __init__(self, parent: "Folder | None", name: str) -> None:
        self.parent = parent
        self.name = name
        self.entries: dict[str, Folder | MemoryFile] = {}
        self.modified_ms = _wall_ms()

    @property
    def path(self) -> str:
        return "" if self.parent is None else f"{self.parent.path}/{self.name}"


class MemoryFile:
    """See the seam `File`; the same object for everybody who opens it."""

    __slots__ = ("_disk", "data", "modified_ms", "name", "parent")

    def __init__(self, disk: "MemoryDisk", parent: Folder, name: str, data: Bytes = b"") -> None:
        self._disk = disk
        self.parent = parent
        self.name = name
        self.data = bytearray(data)
        self.modified_ms = _wall_ms()

    @property
    def path(self) -> str:
        return f"{self.parent.path}/{self.name}"

    @property
    def size(self) -> int:
        return len(self.data)

    def append(self, buffers: Sequence[Bytes]) -> None:
        self._disk.need_space(self.path)
        for buffer in buffers:
            self.data += buffer
        self.modified_ms = _wall_ms()

    def read(self, position: int, length: int) -> bytes:
        return _copy(self.data, position, length)

    def slice(self, position: int, length: int) -> MemorySlice:
        assert 0 <= position <= position + length <= self.size, (position, length, self.size)
        return MemorySlice(self.data, position, length)

    def truncate(self, size: int) -> None:
        assert size <= self.size, f"{self.path} is {self.size} bytes, cannot cut to {size}"
        del self.data[size:]
        self.modified_ms = _wall_ms()

    def flush(self, then: Flushed) -> None:
        self._disk.run_later(lambda: then(None))

    def flush_now(self) -> None:
        pass

    def close(self) -> None:
        pass


class MemoryDisk:
    """See the seam `Disk`. `run_later` is the loop's, and another one after each restart."""

    def __init__(self) -> None:
        self.is_full = False
        self.on_full: Callback = _nothing
        self.run_later: Callable[[Callback], None] = _at_once
        self._root = Folder(None, "")
        self._locks: set[str] = set()

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        try:
            folder, name = self._parent(path)
        except FileNotFoundError:
            if create:
                raise DiskFailed(path, "No such file or directory") from None
            raise
        found = folder.entries.get(name)
        if isinstance(found, Folder):
            raise DiskFailed(path, "is a directory")
        if found is None:
            if not create:
                raise FileNotFoundError(path)
            self.need_space(path)
            found = folder.entries[name] = MemoryFile(self, folder, name)
        return found

    def read_file(self, path: str) -> bytes:
        return bytes(self._file(path).data)

    def write_file(self, path: str, data: bytes) -> None:
        self.need_space(path)
        folder, name = self._parent(path)
        folder.entries[name] = MemoryFile(self, folder, name, data)

    def write_file_later(self, path: str, data: bytes, then: Flushed) -> None:
        error: DiskFailed | None = None
        try:
            self.write_file(path, data)
        except DiskFailed as failed:
            error = failed
        except FileNotFoundError:
            error = DiskFailed(path, "no such directory any more")
        self.run_later(lambda: then(error))

    def list(self, directory: str) -> list[str]:
        return sorted(self._folder(directory).entries)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._find(path), Folder)

    def size(self, path: str) -> int:
        return self._file(path).size

    def modified_ms(self, path: str) -> Instant:
        return self._node(path).modified_ms

    def set_modified_ms(self, path: str, when: Instant) -> None:
        self._node(path).modified_ms = when

    def make_directory(self, path: str) -> None:
        folder = self._root
        for name in path.strip("/").split("/"):
            found = folder.entries.get(name)
            if found is None:
                found = folder.entries[name] = Folder(folder, name)
            if not isinstance(found, Folder):
                raise DiskFailed(path, "not a directory")
            folder = found

    def rename(self, old: str, new: str) -> None:
        node = self._node(old)
        folder, name = self._parent(new)
        assert node.parent is not None, "the root keeps its name"
        del node.parent.entries[node.name]
        node.parent, node.name = folder, name
        folder.entries[name] = node

    def remove(self, path: str) -> None:
        file = self._file(path)
        del file.parent.entries[file.name]

    def remove_tree(self, directory: str) -> None:
        folder = self._folder(directory)
        assert folder.parent is not None, "the root is not removed"
        del folder.parent.entries[folder.name]

    def flush_directory(self, directory: str) -> None:
        self._folder(directory)

    def space(self, directory: str) -> tuple[int, int]:
        self._folder(directory)
        return _VOLUME_BYTES, 0 if self.is_full else _VOLUME_BYTES

    def lock(self, directory: str) -> Callable[[], None]:
        self._folder(directory)
        assert directory not in self._locks, f"{directory} is locked: the disk has one broker"
        self._locks.add(directory)
        return lambda: self._locks.discard(directory)

    def need_space(self, path: str) -> None:
        if self.is_full:
            self.on_full()
            raise DiskFailed(path, _NO_SPACE)

    def _find(self, path: str) -> Folder | MemoryFile | None:
        node: Folder | MemoryFile | None = self._root
        for name in path.strip("/").split("/"):
            if name:
                node = node.entries.get(name) if isinstance(node, Folder) else None
        return node

    def _node(self, path: str) -> Folder | MemoryFile:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        return node

    def _folder(self, directory: str) -> Folder:
        node = self._find(directory)
        if not isinstance(node, Folder):
            raise FileNotFoundError(directory)
        return node

    def _file(self, path: str) -> MemoryFile:
        node = self._find(path)
        if not isinstance(node, MemoryFile):
            raise FileNotFoundError(path)
        return node

    def _parent(self, path: str) -> tuple[Folder, str]:
        directory, _, name = path.rpartition("/")
        return self._folder(directory), name


def _copy(data: bytearray, position: int, length: int) -> bytes:
    with memoryview(data) as view:
        return bytes(view[position : position + length])


def _wall_ms() -> Instant:
    return Instant(time.time_ns() // 1_000_000)


def _at_once(then: Callback) -> None:
    then()


def _nothing() -> None:
    pass
