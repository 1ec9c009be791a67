"""Deleted files go piece by piece, one after the other; readers do not lose a byte."""

import os
from pathlib import Path

import pytest

from kafkapy.server.disk import reaper
from kafkapy.server.disk.real_disk import RealDisk
from tests.server.disk.test_disk import Threads, open_descriptors

PIECE = reaper._PIECE_BYTES
SIZE = 3 * PIECE + 5


class Kit:
    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = str(home)
        self.threads = Threads()
        self.disk = RealDisk(self.threads)
        self.cut: list[int] = []
        self._truncate = os.ftruncate
        monkeypatch.setattr(os, "ftruncate", self._ftruncate)

    def _ftruncate(self, fd: int, size: int) -> None:
        self.cut.append(size)
        self._truncate(fd, size)

    def make(self, name: str, size: int = SIZE) -> str:
        path = f"{self.home}/{name}"
        with open(path, "wb") as file:
            file.write(b"begins")
            file.truncate(size)
        return path


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return Kit(tmp_path, monkeypatch)


def test_the_name_goes_at_once_and_the_blocks_piece_by_piece(kit: Kit) -> None:
    before = open_descriptors()
    path = kit.make("large")
    kit.disk.remove(path)
    assert not os.path.exists(path)
    assert kit.cut == []
    kit.threads.run()
    assert kit.cut == [2 * PIECE + 5, PIECE + 5, 5]
    assert open_descriptors() == before


def test_one_file_after_the_other(kit: Kit) -> None:
    for name in "abc":
        kit.disk.remove(kit.make(name))
    assert [kit.threads.run() for _ in range(4)] == [1, 1, 1, 0]
    assert len(kit.cut) == 3 * 3


def test_a_small_file_is_nobodys_work(kit: Kit) -> None:
    kit.disk.remove(kit.make("small", 1000))
    assert kit.threads.run() == 0


@pytest.mark.parametrize("is_closed", [True, False])
def test_what_a_response_still_reads_stays_whole(kit: Kit, is_closed: bool) -> None:
    before = open_descriptors()
    path = kit.make("large")
    file = kit.disk.open(path)
    read = file.slice(0, SIZE)
    if is_closed:
        file.close()
    kit.disk.remove(path)
    kit.threads.run()
    assert kit.cut == []
    assert read.read()[:6] == b"begins"
    read.release()
    if not is_closed:
        file.close()
    assert open_descriptors() == before


def test_once_it_was_read_to_its_end_it_goes_as_any_other(kit: Kit) -> None:
    path = kit.make("large")
    file = kit.disk.open(path)
    read = file.slice(0, 6)
    file.close()
    read.release()
    kit.disk.remove(path)
    kit.threads.run()
    assert len(kit.cut) == 3


def test_at_the_end_nothing_is_done_slowly(kit: Kit) -> None:
    before = open_descriptors()
    for name in "abc":
        kit.disk.remove(kit.make(name))
    kit.disk.hurry()
    kit.threads.run()
    assert kit.cut == []
    assert open_descriptors() == before


def test_a_disk_that_cannot_cut_is_left_to_the_kernel(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_descriptors()

    def fails(fd: int, size: int) -> None:
        raise OSError(5, "I/O error")

    monkeypatch.setattr(os, "ftruncate", fails)
    kit.disk.remove(kit.make("large"))
    kit.threads.run()
    assert open_descriptors() == before
