"""What every Disk promises (core/seams.py), as one class of tests.

`tests/sim/world/test_disk.py`, `tests/server/disk/test_disk.py` and
`tests/testing/node/test_memory_disk.py` inherit `DiskConformance`, each with its own disk. Those
whose files let a turn keep what is appended (core/turn.py) inherit `TurnConformance` too.
"""

from collections.abc import Callable
from typing import Protocol

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk, File
from kafkapy.core.time import Instant
from kafkapy.core.turn import SMALL_BYTES, Turn


class Answers:
    """A `Flushed` callback that remembers."""

    def __init__(self) -> None:
        self.errors: list[DiskFailed | None] = []

    def __call__(self, error: DiskFailed | None) -> None:
        self.errors.append(error)


def begun(turn: Turn) -> Turn:
    if not turn.is_on:
        turn.begin()
    return turn


class FileSystem(Protocol):
    """What is under a disk: what another process sees, and whether there is room."""

    is_full: bool

    @property
    def writes(self) -> list[int]:
        """The sizes of what was written to files."""

    def read(self, path: str) -> bytes: ...


class DiskConformance:
    @pytest.fixture
    def turn(self) -> Turn:
        """For the disk that the inheriting class makes."""
        return Turn()

    @pytest.fixture
    def under(self) -> FileSystem:
        raise AssertionError("the inheriting class has a disk of its own")

    @pytest.fixture
    def disk(self) -> Disk:
        raise AssertionError("the inheriting class has a disk of its own")

    @pytest.fixture
    def home(self) -> str:
        raise AssertionError("the inheriting class has a directory to work in")

    def test_what_is_appended_is_read_at_its_position(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"hello ", memoryview(b"wor"), bytearray(b"ld")])
        assert file.size == 11
        assert file.read(0, 5) == b"hello"
        assert file.read(6, 100) == b"world"
        assert file.read(11, 10) == file.read(100, 10) == b""

    def test_more_buffers_than_one_writev_takes_are_all_written(
        self, disk: Disk, home: str
    ) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([bytes([i % 256]) * 3 for i in range(3000)])
        assert file.read(0, 9000) == b"".join(bytes([i % 256]) * 3 for i in range(3000))

    def test_a_file_cannot_be_made_where_no_directory_is(self, disk: Disk, home: str) -> None:
        """What is missing is not the file: nobody takes this for an empty log."""
        with pytest.raises(DiskFailed):
            disk.open(f"{home}/missing/a", create=True)

    def test_a_missing_file_is_not_a_failed_disk(self, disk: Disk, home: str) -> None:
        for attempt in (disk.open, disk.read_file, disk.size, disk.modified_ms, disk.remove):
            with pytest.raises(FileNotFoundError):
                attempt(f"{home}/missing")
        with pytest.raises(FileNotFoundError):
            disk.list(f"{home}/missing")
        with pytest.raises(FileNotFoundError):
            disk.rename(f"{home}/missing", f"{home}/b")
        assert not disk.exists(f"{home}/missing")
        assert not disk.is_directory(f"{home}/missing")

    def test_a_file_keeps_its_contents_between_openings(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"one"])
        file.close()
        again = disk.open(f"{home}/a", create=True)
        again.append([b"two"])
        assert disk.read_file(f"{home}/a") == b"onetwo"
        assert disk.size(f"{home}/a") == 6

    def test_opened_twice_it_is_the_same_file(self, disk: Disk, home: str) -> None:
        first = disk.open(f"{home}/a", create=True)
        second = disk.open(f"{home}/a")
        first.append([b"one"])
        first.close()
        second.append([b"two"])
        assert second.read(0, 10) == b"onetwo"

    def test_appends_continue_where_the_file_was_cut(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"0123456789"])
        file.truncate(4)
        file.append([b"x"])
        assert file.size == 5
        assert disk.read_file(f"{home}/a") == b"0123x"

    def test_a_slice_outlives_closing_and_deleting(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"0123456789"])
        kept = file.slice(2, 5)
        file.close()
        disk.remove(f"{home}/a")
        assert kept.length == 5
        assert kept.read() == b"23456"
        kept.release()
        kept.release()
        assert not disk.exists(f"{home}/a")

    def test_an_open_file_follows_its_name(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"one"])
        disk.rename(f"{home}/a", f"{home}/b")
        file.append([b"two"])
        assert file.path == f"{home}/b"
        assert disk.read_file(f"{home}/b") == b"onetwo"
        assert disk.open(f"{home}/b").size == 6

    def test_an_open_file_follows_its_directory(self, disk: Disk, home: str) -> None:
        disk.make_directory(f"{home}/old")
        file = disk.open(f"{home}/old/a", create=True)
        file.append([b"one"])
        disk.rename(f"{home}/old", f"{home}/new")
        file.append([b"two"])
        file.flush_now()
        assert file.path == f"{home}/new/a"
        assert disk.read_file(f"{home}/new/a") == b"onetwo"
        assert not disk.exists(f"{home}/old")

    def test_flushing_answers_once_each(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"one"])
        answers = Answers()
        file.flush(answers)
        file.flush(answers)
        assert answers.errors == [None, None]

    def test_a_small_file_is_replaced_whole(self, disk: Disk, home: str) -> None:
        disk.write_file(f"{home}/a", b"first")
        disk.write_file(f"{home}/a", b"2")
        assert disk.read_file(f"{home}/a") == b"2"
        answers = Answers()
        disk.write_file_later(f"{home}/a", b"third", answers)
        assert answers.errors == [None]
        assert disk.read_file(f"{home}/a") == b"third"
        assert disk.list(home) == ["a"]

    def test_writing_into_a_directory_that_is_gone_fails_later(self, disk: Disk, home: str) -> None:
        answers = Answers()
        disk.write_file_later(f"{home}/gone/a", b"x", answers)
        assert isinstance(answers.errors[0], DiskFailed)

    def test_directories_list_sorted_names(self, disk: Disk, home: str) -> None:
        disk.make_directory(f"{home}/d/deep")
        disk.write_file(f"{home}/d/b", b"")
        disk.write_file(f"{home}/d/a", b"")
        assert disk.list(f"{home}/d") == ["a", "b", "deep"]
        assert disk.is_directory(f"{home}/d/deep")
        assert not disk.is_directory(f"{home}/d/a")
        disk.make_directory(f"{home}/d/deep")
        disk.flush_directory(f"{home}/d")
        disk.remove_tree(f"{home}/d")
        assert disk.list(home) == []

    def test_the_time_of_a_file_can_be_set(self, disk: Disk, home: str) -> None:
        disk.write_file(f"{home}/a", b"")
        disk.set_modified_ms(f"{home}/a", Instant(1_700_000_000_123))
        assert disk.modified_ms(f"{home}/a") == 1_700_000_000_123

    def test_a_volume_has_a_size(self, disk: Disk, home: str) -> None:
        total, usable = disk.space(home)
        assert 0 < usable <= total

    def test_a_removed_file_that_is_open_needs_no_flush(self, disk: Disk, home: str) -> None:
        file = disk.open(f"{home}/a", create=True)
        file.append([b"one"])
        disk.remove(f"{home}/a")
        answers = Answers()
        file.flush(answers)
        file.close()
        assert answers.errors == [None]

    def test_what_a_turn_appended_is_read_at_once_and_there_before_its_answers_leave(
        self, disk: Disk, home: str, turn: Turn, under: FileSystem
    ) -> None:
        file = disk.open(f"{home}/a", create=True)
        there: list[bytes] = []
        begun(turn)
        for number in range(10):
            file.append([b"%d" % number, b" "])
            turn.answer(lambda: there.append(under.read(f"{home}/a")))
        assert (file.size, file.read(16, 9)) == (20, b"8 9 ")
        assert disk.open(f"{home}/a").slice(0, 2).read() == b"0 "
        file.append([b"and more"])
        turn.end()
        assert there == [b"0 1 2 3 4 5 6 7 8 9 and more"] * 10

    def test_outside_of_a_turn_an_append_is_there_when_it_returns(
        self, disk: Disk, home: str, turn: Turn, under: FileSystem
    ) -> None:
        file = disk.open(f"{home}/a", create=True)
        begun(turn)
        turn.end()
        file.append([b"one"])
        assert under.read(f"{home}/a") == b"one"

    def test_of_what_could_not_be_written_nobody_is_told(
        self, disk: Disk, home: str, turn: Turn, under: FileSystem
    ) -> None:
        file = disk.open(f"{home}/a", create=True)
        failures: list[DiskFailed] = []
        answers: list[str] = []
        turn.failed = failures.append
        begun(turn)
        file.append([b"kept"])
        turn.write_and_answer()
        under.is_full = True
        try:
            file.append([b"lost"])
            turn.answer(lambda: answers.append("appended"))
        except DiskFailed as failure:
            failures.append(failure)
        turn.end()
        assert [failure.path for failure in failures] == [f"{home}/a"]
        assert answers == []
        assert (file.size, under.read(f"{home}/a")) == (4, b"kept")


class Kit:
    """Two files on a disk in the middle of a turn."""

    def __init__(self, disk: Disk, home: str, turn: Turn, under: FileSystem) -> None:
        self.disk, self.home, self.turn, self.under = disk, home, turn, under
        self.failures: list[DiskFailed] = []
        turn.failed = self.failures.append
        self.a, self.b = self.open("a"), self.open("b")
        begun(turn)

    def open(self, name: str) -> File:
        return self.disk.open(f"{self.home}/{name}", create=True)

    def written(self, name: str) -> bytes:
        return self.under.read(f"{self.home}/{name}")


Happen = Callable[[Kit], object]


class TurnConformance:
    @pytest.fixture
    def kit(self, disk: Disk, home: str, turn: Turn, under: FileSystem) -> Kit:
        return Kit(disk, home, turn, under)

    def test_appends_to_one_file_are_one_write_once_answers_are_to_leave(self, kit: Kit) -> None:
        for n in range(100):
            kit.a.append([b"%03d" % n, b" "])
        assert (kit.a.size, kit.under.writes, kit.written("a")) == (400, [], b"")
        kit.turn.write_and_answer()
        assert kit.under.writes == [400]
        assert kit.written("a") == b"".join(b"%03d " % n for n in range(100))
        kit.turn.end()
        assert kit.under.writes == [400]

    def test_what_is_large_is_written_at_once_behind_what_came_before(self, kit: Kit) -> None:
        large = b"x" * (SMALL_BYTES + 1)
        kit.a.append([b"1"])
        kit.a.append([large])
        assert kit.under.writes == [1, len(large)]
        kit.a.append([b"2"])
        kit.turn.end()
        assert kit.written("a") == b"1" + large + b"2"

    def test_files_are_written_in_the_order_of_their_appends(self, kit: Kit) -> None:
        """A process that is killed leaves what was there at some moment."""
        for file, data in ((kit.a, b"1"), (kit.a, b"2"), (kit.b, b"345"), (kit.a, b"4")):
            file.append([data])
        kit.turn.end()
        assert kit.under.writes == [2, 3, 1]

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
        self, kit: Kit, happen: Happen
    ) -> None:
        kit.a.append([b"first"])
        happen(kit)
        assert kit.under.writes[0] == 5
        assert kit.written("a") == b"first"

    def test_a_file_that_is_cut_has_what_was_appended_before_and_not_after(self, kit: Kit) -> None:
        kit.a.append([b"12345"])
        kit.a.truncate(3)
        kit.a.append([b"six"])
        kit.turn.end()
        assert kit.written("a") == b"123six"

    def test_a_write_that_fails_is_told_once(self, kit: Kit) -> None:
        kit.a.append([b"kept"])
        kit.turn.write_and_answer()
        kit.under.is_full = True
        kit.a.append([b"lost"])
        kit.a.append([b"too"])
        kit.turn.write_and_answer()
        assert [failure.path for failure in kit.failures] == [f"{kit.home}/a"]
        kit.under.is_full = False
        kit.turn.end()
        assert (len(kit.failures), kit.written("a")) == (1, b"kept")

    @pytest.mark.parametrize(
        "look",
        [
            lambda kit: kit.a.read(0, 1),
            lambda kit: kit.a.slice(0, 1),
            lambda kit: kit.a.truncate(0),
            lambda kit: kit.a.append([b"x" * (SMALL_BYTES + 1)]),
            lambda kit: kit.a.flush_now(),
        ],
    )
    def test_who_looks_hears_of_it_and_so_does_whoever_was_promised(
        self, kit: Kit, look: Happen
    ) -> None:
        kit.a.append([b"lost"])
        kit.under.is_full = True
        with pytest.raises(DiskFailed, match="No space left"):
            look(kit)
        assert kit.failures == []
        kit.turn.end()
        assert len(kit.failures) == 1

    @pytest.mark.parametrize(
        "look",
        [
            lambda kit: kit.a.read(0, 1),
            lambda kit: kit.a.slice(0, 4),
            lambda kit: kit.a.truncate(0),
            lambda kit: kit.a.append([b"more"]),
            lambda kit: kit.a.append([b"x" * (SMALL_BYTES + 1)]),
            lambda kit: kit.a.flush_now(),
        ],
    )
    def test_who_counts_on_what_was_lost_hears_of_it_ever_after(
        self, kit: Kit, look: Happen
    ) -> None:
        """Another file's append had it written; there is room again, and a gap in the log."""
        kit.a.append([b"lost"])
        kit.under.is_full = True
        kit.b.append([b"x"])
        kit.under.is_full = False
        for _ in range(2):
            with pytest.raises(DiskFailed, match="No space left"):
                look(kit)
            kit.turn.write_and_answer()
        assert kit.written("a") == b""

    def test_a_flush_of_what_could_not_be_written_fails(self, kit: Kit) -> None:
        answers = Answers()
        kit.a.append([b"lost"])
        kit.under.is_full = True
        kit.a.flush(answers)
        kit.a.flush(answers)
        kit.turn.end()
        assert [answer is not None for answer in answers.errors] == [True, True]
        assert len(kit.failures) == 1

    def test_another_file_does_not_suffer_from_it(self, kit: Kit) -> None:
        kit.a.append([b"lost"])
        kit.under.is_full = True
        kit.b.append([b"fine"])
        kit.under.is_full = False
        kit.turn.end()
        assert (kit.written("a"), kit.written("b")) == (b"", b"fine")
        assert [failure.path for failure in kit.failures] == [f"{kit.home}/a"]
