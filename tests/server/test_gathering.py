"""Small appends of a round: one write, in order with all else that happens on the disk, and
none of it promised to anybody before."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Bytes
from kafkapy.server.disk import RealDisk
from kafkapy.server.files import RealFile
from kafkapy.server.gathering import SMALL_BYTES, Gathering


class Kit:
    """Two files on a disk in the middle of a round, and the writes that reach the system."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.gathering = Gathering()
        self.failures: list[DiskFailed] = []
        self.gathering.failed = self.failures.append
        self.disk = RealDisk(gathering=self.gathering)
        self.a, self.b = self.open("a"), self.open("b")
        self.written: list[bytes] = []
        self.is_full = False
        self.gathering.is_on = True

    def open(self, name: str) -> RealFile:
        return self.disk.open(f"{self.home}/{name}", create=True)

    def on_disk(self, name: str) -> bytes:
        return (self.home / name).read_bytes()

    def pwritev(self, fd: int, buffers: Sequence[Bytes], position: int) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        data = b"".join(buffers)
        self.written.append(data)
        return os.pwrite(fd, data, position)


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    kit = Kit(tmp_path)
    monkeypatch.setattr(os, "pwritev", kit.pwritev)
    yield kit
    kit.disk.close()


def test_appends_to_one_file_are_one_write_once_answers_are_to_leave(kit: Kit) -> None:
    for n in range(100):
        kit.a.append([b"%03d" % n, b" "])
    assert (kit.a.size, kit.written, kit.on_disk("a")) == (400, [], b"")
    kit.gathering.write()
    assert kit.written == [kit.on_disk("a")] == [b"".join(b"%03d " % n for n in range(100))]
    kit.gathering.write()
    assert len(kit.written) == 1


def test_outside_of_a_round_nothing_is_kept(kit: Kit) -> None:
    kit.gathering.is_on = False
    kit.a.append([b"1"])
    assert kit.written == [b"1"]


def test_what_is_large_is_written_at_once_behind_what_came_before(kit: Kit) -> None:
    large = b"x" * (SMALL_BYTES + 1)
    kit.a.append([b"1"])
    kit.a.append([large])
    assert kit.written == [b"1", large]
    kit.a.append([b"2"])
    kit.gathering.write()
    assert kit.on_disk("a") == b"1" + large + b"2"


def test_files_are_written_in_the_order_of_their_appends(kit: Kit) -> None:
    """A process that is killed leaves what was there at some moment."""
    for file, data in ((kit.a, b"1"), (kit.a, b"2"), (kit.b, b"3"), (kit.a, b"4")):
        file.append([data])
    kit.gathering.write()
    assert kit.written == [b"12", b"3", b"4"]


@pytest.mark.parametrize(
    "happen",
    [
        lambda kit: kit.a.read(0, 1),
        lambda kit: kit.a.slice(0, 1).release(),
        lambda kit: kit.a.flush(lambda _: None),
        lambda kit: kit.a.flush_now(),
        lambda kit: kit.a.close(),
        lambda kit: kit.b.truncate(0),
        lambda kit: kit.b.append([b"x" * (SMALL_BYTES + 1)]),
        lambda kit: kit.open("new"),
        lambda kit: kit.disk.write_file(f"{kit.home}/new", b""),
        lambda kit: kit.disk.write_file_later(f"{kit.home}/new", b"", lambda _: None),
        lambda kit: kit.disk.make_directory(f"{kit.home}/new"),
        lambda kit: kit.disk.rename(f"{kit.home}/b", f"{kit.home}/new"),
        lambda kit: kit.disk.remove(f"{kit.home}/b"),
        lambda kit: kit.disk.read_file(f"{kit.home}/a"),
        lambda kit: kit.disk.size(f"{kit.home}/a"),
    ],
)
def test_whatever_else_happens_on_the_disk_comes_after_it(
    kit: Kit, happen: Callable[[Kit], object]
) -> None:
    kit.a.append([b"first"])
    happen(kit)
    assert kit.written[0] == b"first"
    assert kit.on_disk("a") == b"first"


def test_a_file_that_is_cut_has_what_was_appended_before_and_not_after(kit: Kit) -> None:
    kit.a.append([b"12345"])
    kit.a.truncate(3)
    kit.a.append([b"six"])
    kit.gathering.write()
    assert kit.on_disk("a") == b"123six"


def test_a_write_that_fails_is_told_before_answers_leave_and_only_once(kit: Kit) -> None:
    kit.a.append([b"kept"])
    kit.gathering.write()
    kit.is_full = True
    kit.a.append([b"lost"])
    kit.a.append([b"too"])
    kit.gathering.write()
    assert [failure.path for failure in kit.failures] == [f"{kit.home}/a"]
    assert (kit.a.size, kit.on_disk("a")) == (4, b"kept")
    kit.is_full = False
    kit.gathering.write()
    kit.a.append([b"more"])
    kit.gathering.write()
    assert (len(kit.failures), kit.on_disk("a")) == (1, b"keptmore")


@pytest.mark.parametrize(
    "look",
    [
        lambda kit: kit.a.read(0, 1),
        lambda kit: kit.a.slice(0, 1),
        lambda kit: kit.a.truncate(0),
        lambda kit: kit.a.append([b"x" * (SMALL_BYTES + 1)]),
    ],
)
def test_who_looks_hears_of_it_and_so_does_whoever_was_promised(
    kit: Kit, look: Callable[[Kit], object]
) -> None:
    kit.a.append([b"lost"])
    kit.is_full = True
    with pytest.raises(DiskFailed, match="No space left"):
        look(kit)
    assert kit.failures == []
    kit.gathering.write()
    assert len(kit.failures) == 1


def test_who_looks_for_what_was_lost_before_hears_of_it(kit: Kit) -> None:
    """Another file's append had it written; whoever appended knows where it should be."""
    kit.a.append([b"lost"])
    kit.is_full = True
    kit.b.append([b"x"])
    with pytest.raises(DiskFailed, match="could not be written"):
        kit.a.slice(0, 4)


def test_a_flush_of_what_could_not_be_written_fails(kit: Kit) -> None:
    answers: list[DiskFailed | None] = []
    kit.a.append([b"lost"])
    kit.is_full = True
    kit.a.flush(answers.append)
    kit.gathering.write()
    assert [answer is not None for answer in answers] == [True]
    assert len(kit.failures) == 1


def test_another_file_does_not_suffer_from_it(kit: Kit) -> None:
    kit.a.append([b"lost"])
    kit.is_full = True
    kit.b.append([b"fine"])
    kit.is_full = False
    kit.gathering.write()
    assert (kit.on_disk("a"), kit.on_disk("b")) == (b"", b"fine")
    assert [failure.path for failure in kit.failures] == [f"{kit.home}/a"]


def test_a_failure_that_nobody_is_there_to_hear_is_not_swallowed(kit: Kit) -> None:
    gathering = Gathering()
    gathering.is_on = True
    file = RealDisk(gathering=gathering).open(f"{kit.home}/c", create=True)
    file.append([b"lost"])
    kit.is_full = True
    with pytest.raises(DiskFailed):
        gathering.write()
