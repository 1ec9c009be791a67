"""What every Disk promises (core/seams.py), as one class of tests.

`tests/sim/world/test_disk.py` and `tests/server/test_disk.py` inherit it, each with its own disk.
"""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk
from kafkapy.core.time import Instant


class Answers:
    """A `Flushed` callback that remembers."""

    def __init__(self) -> None:
        self.errors: list[DiskFailed | None] = []

    def __call__(self, error: DiskFailed | None) -> None:
        self.errors.append(error)


class DiskConformance:
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
