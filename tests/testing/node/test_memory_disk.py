"""The disk in memory keeps the seam's promises: names, slices, renames, and having no room."""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.time import Instant
from kafkapy.testing.node.memory_disk import MemoryDisk
from tests.sim.world.disk_conformance import DiskConformance


class Under:
    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk

    @property
    def writes(self) -> list[int]:
        raise AssertionError("nothing is kept: every append is a write")

    @property
    def is_full(self) -> bool:
        return self._disk.is_full

    @is_full.setter
    def is_full(self, is_full: bool) -> None:
        self._disk.is_full = is_full

    def read(self, path: str) -> bytes:
        return self._disk.read_file(path)


class TestMemoryDisk(DiskConformance):
    """It writes at once, in a turn or not."""

    @pytest.fixture
    def disk(self) -> MemoryDisk:
        disk = MemoryDisk()
        disk.make_directory("/data/home")
        return disk

    @pytest.fixture
    def under(self, disk: MemoryDisk) -> Under:
        return Under(disk)

    @pytest.fixture
    def home(self) -> str:
        return "/data/home"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory("/data/t-0")
    return disk


def test_a_file_is_the_same_for_everybody_who_opens_it(disk: MemoryDisk) -> None:
    file = disk.open("/data/t-0/log", create=True)
    file.append([b"ab", memoryview(b"cd")])
    assert disk.open("/data/t-0/log").read(1, 2) == b"bc"
    assert disk.size("/data/t-0/log") == file.size == 4
    file.truncate(1)
    assert disk.read_file("/data/t-0/log") == b"a"
    with pytest.raises(FileNotFoundError):
        disk.open("/data/t-0/other")


def test_a_slice_outlives_the_name_of_its_file(disk: MemoryDisk) -> None:
    file = disk.open("/data/t-0/log", create=True)
    file.append([b"abcd"])
    part = file.slice(1, 2)
    disk.remove("/data/t-0/log")
    file.append([b"e"])
    assert part.read() == b"bc"
    part.release()
    assert not disk.exists("/data/t-0/log")


def test_a_renamed_directory_takes_its_open_files_along(disk: MemoryDisk) -> None:
    file = disk.open("/data/t-0/log", create=True)
    disk.rename("/data/t-0", "/data/t-0.deleted")
    assert file.path == "/data/t-0.deleted/log"
    assert disk.list("/data") == ["t-0.deleted"]
    disk.remove_tree("/data/t-0.deleted")
    assert disk.list("/data") == []


def test_a_replaced_file_leaves_the_old_one_to_those_who_hold_it(disk: MemoryDisk) -> None:
    disk.write_file("/data/checkpoint", b"old")
    old = disk.open("/data/checkpoint")
    answers: list[DiskFailed | None] = []
    disk.write_file_later("/data/checkpoint", b"new", answers.append)
    disk.write_file_later("/gone/checkpoint", b"new", answers.append)
    assert old.read(0, 9) == b"old"
    assert disk.read_file("/data/checkpoint") == b"new"
    assert answers[0] is None
    assert answers[1] is not None


def test_times_can_be_set(disk: MemoryDisk) -> None:
    disk.write_file("/data/f", b"")
    disk.set_modified_ms("/data/f", Instant(7))
    assert disk.modified_ms("/data/f") == 7


def test_a_full_disk_refuses_to_grow_and_says_so_every_time(disk: MemoryDisk) -> None:
    file = disk.open("/data/t-0/log", create=True)
    file.append([b"ab"])
    heard: list[str] = []
    disk.on_full = lambda: heard.append("full")
    disk.is_full = True
    for attempt in (
        lambda: file.append([b"c"]),
        lambda: disk.write_file("/data/f", b""),
        lambda: disk.open("/data/g", create=True),
    ):
        with pytest.raises(DiskFailed, match="No space left on device"):
            attempt()
    assert heard == ["full"] * 3
    assert disk.space("/data")[1] == 0
    file.truncate(0)
    disk.remove("/data/t-0/log")
