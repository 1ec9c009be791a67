"""The operating system's disk: descriptors, threads, failures."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Bytes
from kafkapy.core.turn import Turn
from kafkapy.server.disk import files, write_behind
from kafkapy.server.disk.real_disk import DirectoryLocked, RealDisk
from kafkapy.server.disk.write_behind import LONGEST_BYTES, PACE_SECONDS, STRETCH_BYTES
from tests.sim.world.disk_conformance import Answers, DiskConformance, TurnConformance, begun


class Threads:
    """Worker threads that run when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def __call__(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        self.waiting.append((work, then))

    def run(self) -> int:
        waiting, self.waiting = self.waiting, []
        for work, then in waiting:
            work()
            then()
        return len(waiting)


class Under:
    """The operating system, as another process sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self.writes: list[int] = []
        monkeypatch.setattr(os, "pwritev", self._pwritev)

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def _pwritev(self, fd: int, buffers: Sequence[Bytes], position: int) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        data = b"".join(buffers)
        self.writes.append(len(data))
        return os.pwrite(fd, data, position)


class TestRealDisk(DiskConformance, TurnConformance):
    @pytest.fixture
    def disk(self, turn: Turn) -> RealDisk:
        return RealDisk(turn=turn)

    @pytest.fixture
    def under(self, monkeypatch: pytest.MonkeyPatch) -> Under:
        return Under(monkeypatch)

    @pytest.fixture
    def home(self, tmp_path: Path) -> str:
        return str(tmp_path)


class TestRealDiskWithOneDescriptor(TestRealDisk):
    """The same promises while files are evicted all the time."""

    @pytest.fixture
    def disk(self, turn: Turn) -> RealDisk:
        return RealDisk(max_open_files=1, turn=turn)


class TestRealDiskInATurn(TestRealDisk):
    """The same promises in the middle of a turn that never ends."""

    @pytest.fixture
    def turn(self) -> Turn:
        return begun(Turn())


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_no_more_files_stay_open_than_allowed(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=10)
    before = open_descriptors()
    all_files = [disk.open(f"{tmp_path}/{i}", create=True) for i in range(100)]
    for i, file in enumerate(all_files):
        file.append([b"%d" % i])
    for i, file in enumerate(all_files):
        assert file.read(0, 10) == b"%d" % i
    assert disk.open_file_count == 10
    assert open_descriptors() <= before + 10
    for file in all_files:
        file.close()
    assert open_descriptors() == before


def test_a_file_in_use_stays_open_though_it_is_its_turn(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=2)
    first = disk.open(f"{tmp_path}/first", create=True)
    first.append([b"kept"])
    kept = first.slice(0, 4)
    for i in range(10):
        disk.open(f"{tmp_path}/{i}", create=True)
    assert os.pread(kept.pin(), 4, 0) == b"kept"
    kept.release()
    with pytest.raises(AssertionError, match="released"):
        kept.pin()


def test_everything_in_use_opens_more_than_allowed(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=1)
    slices = []
    for i in range(5):
        file = disk.open(f"{tmp_path}/{i}", create=True)
        file.append([b"x"])
        slices.append(file.slice(0, 1))
    assert [one.read() for one in slices] == [b"x"] * 5
    assert disk.open_file_count == 5


def test_the_descriptor_of_a_deleted_file_goes_with_its_last_slice(tmp_path: Path) -> None:
    disk = RealDisk()
    before = open_descriptors()
    file = disk.open(f"{tmp_path}/a", create=True)
    file.append([b"0123"])
    kept = file.slice(0, 4)
    file.close()
    disk.remove(f"{tmp_path}/a")
    assert open_descriptors() == before + 1
    assert kept.read() == b"0123"
    kept.release()
    assert open_descriptors() == before


def test_flushes_asked_for_during_one_share_the_next(tmp_path: Path) -> None:
    threads, answers = Threads(), Answers()
    disk = RealDisk(threads)
    file = disk.open(f"{tmp_path}/a", create=True)
    file.flush(answers)
    file.flush(answers)
    file.flush(answers)
    assert threads.run() == 1
    assert answers.errors == [None]
    assert threads.run() == 1
    assert answers.errors == [None, None, None]
    assert threads.run() == 0


def test_a_flush_that_waits_is_done_though_the_file_is_closed_meanwhile(tmp_path: Path) -> None:
    threads, answers = Threads(), Answers()
    disk = RealDisk(threads)
    before = open_descriptors()
    file = disk.open(f"{tmp_path}/a", create=True)
    file.flush(answers)
    file.flush(answers)
    file.close()
    assert threads.run() == 1
    assert threads.run() == 1
    assert answers.errors == [None, None]
    assert open_descriptors() == before


@pytest.mark.interpreted
def test_a_flush_that_fails_says_which_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    disk, answers = RealDisk(), Answers()
    file = disk.open(f"{tmp_path}/a", create=True)
    monkeypatch.setattr(files, "_sync_data", failing)
    file.flush(answers)
    assert isinstance(answers.errors[0], DiskFailed)
    assert answers.errors[0].path == f"{tmp_path}/a"
    with pytest.raises(DiskFailed):
        file.flush_now()


@pytest.mark.interpreted
def test_a_flush_makes_new_names_durable_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(files, "flush_directory", flushed.append)
    disk = RealDisk()
    disk.make_directory(f"{tmp_path}/t-0")
    file = disk.open(f"{tmp_path}/t-0/a", create=True)
    file.flush_now()
    assert flushed == [f"{tmp_path}/t-0", str(tmp_path)]
    file.append([b"x"])
    file.flush(Answers())
    assert len(flushed) == 2
    disk.rename(f"{tmp_path}/t-0/a", f"{tmp_path}/t-0/b")
    file.flush(Answers())
    assert flushed[2:] == [f"{tmp_path}/t-0"]


@pytest.mark.interpreted
def test_a_flush_makes_names_durable_that_a_killed_process_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "a").write_bytes(b"x")
    flushed: list[str] = []
    monkeypatch.setattr(files, "flush_directory", flushed.append)
    file = RealDisk().open(f"{tmp_path}/t-0/a")
    file.flush_now()
    assert flushed == [f"{tmp_path}/t-0", str(tmp_path)]
    file.flush_now()
    assert len(flushed) == 2


def test_an_append_that_is_written_in_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system writes one or two bytes at a time."""
    real = os.pwritev

    def stingy(fd: int, buffers: list[bytes], position: int) -> int:
        first = next(buffer for buffer in buffers if len(buffer))
        return real(fd, [first[:2]], position)

    monkeypatch.setattr(os, "pwritev", stingy)
    file = RealDisk().open(f"{tmp_path}/a", create=True)
    file.append([b"", b"abc", b"", memoryview(b"defgh"), b"i"])
    assert (file.size, file.read(0, 20)) == (9, b"abcdefghi")


def test_an_append_that_fails_half_way_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwritev
    calls = 0

    def full(fd: int, buffers: list[bytes], position: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, [buffers[0][:2]], position)

    disk = RealDisk()
    file = disk.open(f"{tmp_path}/a", create=True)
    file.append([b"ok"])
    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(DiskFailed, match="No space left"):
        file.append([b"abc", b"def"])
    assert file.size == 2
    assert (tmp_path / "a").read_bytes() == b"ok"


def test_a_replaced_file_is_not_confused_with_the_new_one(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=1)
    old = disk.open(f"{tmp_path}/old", create=True)
    old.append([b"old"])
    new = disk.open(f"{tmp_path}/new", create=True)
    new.append([b"new"])
    disk.rename(f"{tmp_path}/new", f"{tmp_path}/old")
    assert disk.open(f"{tmp_path}/old").read(0, 3) == b"new"
    with pytest.raises(DiskFailed, match="deleted or replaced"):
        old.read(0, 3)


def test_the_blocks_of_a_large_file_are_freed_on_a_thread(tmp_path: Path) -> None:
    threads = Threads()
    disk = RealDisk(threads)
    with open(f"{tmp_path}/large", "wb") as large:
        large.truncate(64 * 1024 * 1024)
    disk.remove(f"{tmp_path}/large")
    assert not disk.exists(f"{tmp_path}/large")
    assert threads.run() == 1


class Begun:
    """What a disk was told to begin to write: (position, length); and a clock."""

    def __init__(self, disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stretches: list[tuple[int, int]] = []
        self.now = 100.0
        monkeypatch.setattr(write_behind, "_sync_file_range", self._begin)
        disk.write_behind = write_behind.WriteBehind(disk.run_in_thread, lambda: self.now)

    def _begin(self, fd: int, position: int, length: int, flags: int) -> None:
        os.fstat(fd)  # it is open
        self.stretches.append((position, length))


def test_the_disk_begins_to_write_a_stretch_of_one_file_at_a_time_without_what_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = Threads()
    disk = RealDisk(threads)
    begun = Begun(disk, monkeypatch)
    one, other = (disk.open(f"{tmp_path}/{name}", create=True) for name in "ab")
    half = bytes(STRETCH_BYTES // 2)
    for file in (one, one, one, other, other, other):
        file.append([half])
    begun.now += PACE_SECONDS
    other.append([half])
    assert threads.run() == 1
    assert begun.stretches == [(0, STRETCH_BYTES)]
    other.append([b"more"])
    one.close()
    other.close()
    assert threads.run() == 1
    assert begun.stretches[1:] == [(0, 2 * STRETCH_BYTES)]


def test_of_a_burst_the_disk_is_told_to_write_only_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk()
    begun = Begun(disk, monkeypatch)
    file = disk.open(f"{tmp_path}/a", create=True)
    for _ in range(5):
        file.append([bytes(STRETCH_BYTES)])
    begun.now += PACE_SECONDS
    file.append([b"more"])
    file.close()
    assert begun.stretches == [(0, STRETCH_BYTES), (3 * STRETCH_BYTES, LONGEST_BYTES)]


def test_what_was_cut_off_and_written_again_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk()
    begun = Begun(disk, monkeypatch)
    file = disk.open(f"{tmp_path}/a", create=True)
    for _ in range(2):
        file.append([bytes(STRETCH_BYTES)])
        file.append([b"more"])
        file.truncate(0)
        begun.now += PACE_SECONDS
    file.close()
    assert begun.stretches == [(0, STRETCH_BYTES)] * 2


def test_the_system_knows_how_to_begin_writing(tmp_path: Path) -> None:
    """Nothing is said of it but that it holds up nobody."""
    file = RealDisk().open(f"{tmp_path}/a", create=True)
    for _ in range(2):
        file.append([bytes(STRETCH_BYTES)])
    file.flush_now()
    file.close()


def test_small_files_written_later_are_written_in_order(tmp_path: Path) -> None:
    threads, answers = Threads(), Answers()
    disk = RealDisk(threads)
    path = f"{tmp_path}/a"
    disk.write_file_later(path, b"1", answers)
    disk.write_file_later(path, b"2", answers)
    disk.write_file_later(path, b"3", answers)
    assert threads.run() == 1
    assert (disk.read_file(path), answers.errors) == (b"1", [None])
    assert threads.run() == 1
    assert (disk.read_file(path), answers.errors) == (b"3", [None] * 3)


def test_a_write_now_overtakes_those_that_wait_for_a_thread(tmp_path: Path) -> None:
    threads, answers = Threads(), Answers()
    disk = RealDisk(threads)
    path = f"{tmp_path}/a"
    disk.write_file_later(path, b"1", answers)
    disk.write_file_later(path, b"2", answers)
    disk.write_file(path, b"now")
    disk.write_file_later(path, b"after", answers)
    assert disk.read_file(path) == b"now"
    threads.run()
    threads.run()
    assert disk.read_file(path) == b"after"
    assert answers.errors == [None] * 3


def test_a_directory_where_none_can_be_made_is_a_failure_of_the_disk() -> None:
    with pytest.raises(DiskFailed, match="/proc/kafkapy"):
        RealDisk().make_directory("/proc/kafkapy")


def test_a_locked_directory_refuses_this_process_and_others(tmp_path: Path) -> None:
    unlock = RealDisk().lock(str(tmp_path))
    with pytest.raises(DirectoryLocked):
        RealDisk().lock(str(tmp_path))
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1] + '/.lock', 'r+')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0
    unlock()
    unlock()
    assert subprocess.run(command, check=False).returncode == 0


def test_a_closed_disk_holds_no_descriptor_but_those_in_use(tmp_path: Path) -> None:
    disk = RealDisk()
    before = len(os.listdir("/proc/self/fd"))
    first, second = (disk.open(f"{tmp_path}/{name}", create=True) for name in "ab")
    first.append([b"abc"])
    second.append([b"def"])
    sent = first.slice(0, 3)
    for _ in range(2):
        disk.close()
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert sent.read() == b"abc"
    sent.release()
    assert len(os.listdir("/proc/self/fd")) == before
    assert second.read(0, 3) == b"def"  # whoever goes on finds its file
    disk.close()
