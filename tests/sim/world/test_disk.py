"""The simulated disk: a Disk, and what it forgets."""

from collections.abc import Callable
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback
from kafkapy.core.turn import Turn
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.file import Interrupted
from tests.sim.world.disk_conformance import Answers, DiskConformance, TurnConformance, begun

SEEDS = st.integers(0, 2**32)


class Dice:
    """An Rng out of the standard library's."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128))


class Never:
    """Every throw is a zero: of what was not flushed nothing survives."""

    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> UUID:
        return UUID(int=0)


class Under:
    """The volatile image: what the operating system has."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk
        self.writes: list[int] = []
        disk.on_write = self._on_write

    @property
    def is_full(self) -> bool:
        return self._disk.capacity == 0

    @is_full.setter
    def is_full(self, is_full: bool) -> None:
        self._disk.capacity = 0 if is_full else 2**40

    def read(self, path: str) -> bytes:
        return self._disk.contents(path)

    def _on_write(self, kind: str, path: str, size: int) -> None:
        if kind == "append":
            self.writes.append(size)


class TestSimDisk(DiskConformance, TurnConformance):
    @pytest.fixture
    def disk(self, turn: Turn) -> SimDisk:
        disk = SimDisk()
        disk.turn = turn
        disk.make_directory("/data/home")
        return disk

    @pytest.fixture
    def under(self, disk: SimDisk) -> Under:
        return Under(disk)

    @pytest.fixture
    def home(self) -> str:
        return "/data/home"


class TestSimDiskInATurn(TestSimDisk):
    """The same promises in the middle of a turn that never ends."""

    @pytest.fixture
    def turn(self) -> Turn:
        return begun(Turn())


def _disk() -> SimDisk:
    disk = SimDisk()
    disk.make_directory("/d")
    disk.flush_directory("/")
    return disk


@given(SEEDS)
def test_what_was_flushed_survives_a_crash_and_the_rest_is_a_prefix_or_zeros(seed: int) -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"flushed"])
    file.flush_now()
    file.append([b"-and-not"])
    disk.crash(Dice(seed))
    data = disk.read_file("/d/a")
    assert data.startswith(b"flushed")
    assert b"flushed-and-not".startswith(data.rstrip(b"\0"))


def test_a_crash_tears_at_any_byte() -> None:
    seen = set()
    for seed in range(200):
        disk = _disk()
        file = disk.open("/d/a", create=True)
        file.flush_now()
        file.append([b"0123456789"])
        disk.crash(Dice(seed))
        seen.add(disk.read_file("/d/a"))
    assert {b"0123456789"[:size] for size in range(11)} <= seen
    assert any(data.endswith(b"\0") for data in seen)


@given(SEEDS)
def test_a_cut_that_was_not_flushed_may_not_have_happened(seed: int) -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"0123456789"])
    file.flush_now()
    file.truncate(3)
    file.append([b"abc"])
    disk.crash(Dice(seed))
    data = disk.read_file("/d/a")
    assert data[:3] == b"012"
    assert data == b"0123456789" or b"012abc".startswith(data.rstrip(b"\0"))


@given(SEEDS)
def test_names_survive_in_the_order_they_were_made(seed: int) -> None:
    disk = _disk()
    disk.open("/d/a", create=True)
    disk.rename("/d/a", "/d/b")
    disk.open("/d/c", create=True)
    disk.crash(Dice(seed))
    assert disk.list("/d") in ([], ["a"], ["b"], ["b", "c"])


def test_flushing_a_file_keeps_its_name_and_its_directory() -> None:
    for seed in range(20):
        disk = _disk()
        disk.make_directory("/d/new")
        disk.open("/d/new/a", create=True).flush_now()
        disk.crash(Dice(seed))
        assert disk.list("/d/new") == ["a"]


def test_a_flush_under_way_when_the_power_goes_never_answers() -> None:
    waiting: list[Callback] = []
    disk = SimDisk(run_later=waiting.append)
    disk.make_directory("/d")
    answers = Answers()
    file = disk.open("/d/a", create=True)
    file.flush(answers)
    disk.write_file_later("/d/b", b"x", answers)
    disk.crash(Dice(1))
    for late in waiting:
        late()
    assert answers.errors == []


def test_of_several_writes_of_one_file_the_last_one_wins_whatever_finishes_first() -> None:
    waiting: list[Callback] = []
    disk = SimDisk(run_later=waiting.append)
    disk.make_directory("/d")
    answers = Answers()
    disk.write_file_later("/d/a", b"old", answers)
    disk.write_file_later("/d/a", b"new", answers)
    for late in reversed(waiting):
        late()
    assert disk.read_file("/d/a") == b"new"
    assert answers.errors == [None, None]


def test_a_write_now_overtakes_those_asked_for_earlier() -> None:
    waiting: list[Callback] = []
    disk = SimDisk(run_later=waiting.append)
    disk.make_directory("/d")
    answers = Answers()
    disk.write_file_later("/d/a", b"old", answers)
    disk.write_file("/d/a", b"new")
    for late in waiting:
        late()
    assert disk.read_file("/d/a") == b"new"
    assert answers.errors == [None]


def test_the_nth_write_fails_once_and_leaves_nothing() -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    disk.fail("append", in_path="/d/a", nth=2, cause="bad sector")
    file.append([b"one"])
    with pytest.raises(DiskFailed, match="bad sector"):
        file.append([b"two"])
    file.append([b"three"])
    assert disk.read_file("/d/a") == b"onethree"


def test_a_flush_that_fails_keeps_nothing() -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"one"])
    disk.fail("flush")
    answers = Answers()
    file.flush(answers)
    assert isinstance(answers.errors[0], DiskFailed)
    disk.crash(Dice(0))
    assert not disk.exists("/d/a") or disk.read_file("/d/a") in (b"", b"o", b"on", b"one")


def test_files_opened_before_a_crash_are_dead() -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"one"])
    disk.crash(Dice(3))
    with pytest.raises(AssertionError, match="before the crash"):
        file.read(0, 1)


def test_a_full_disk_refuses_what_does_not_fit() -> None:
    disk = SimDisk(capacity=10)
    disk.make_directory("/d")
    file = disk.open("/d/a", create=True)
    file.append([b"12345678"])
    with pytest.raises(DiskFailed, match="No space left"):
        file.append([b"abc"])
    assert disk.space("/d") == (10, 2)
    file.append([b"90"])


def test_every_change_can_be_watched_and_stopped() -> None:
    disk = _disk()
    seen: list[tuple[str, str]] = []
    disk.on_write = lambda kind, path, _: seen.append((kind, path))
    file = disk.open("/d/a", create=True)
    file.append([b"x"])
    file.flush_now()
    file.truncate(0)
    disk.write_file("/d/b", b"")
    disk.rename("/d/b", "/d/c")
    disk.remove("/d/c")
    assert [kind for kind, _ in seen] == [
        "create",
        "append",
        "flush",
        "truncate",
        "write_file",
        "rename",
        "remove",
    ]


def test_a_process_that_dies_in_an_append_leaves_the_first_of_its_bytes() -> None:
    disk = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"kept"])

    def die(kind: str, path: str, size: int) -> None:
        raise Interrupted(path, appended=2)

    disk.on_write = die
    with pytest.raises(Interrupted):
        file.append([b"lost"])
    disk.on_write = None
    disk.kill()
    assert disk.read_file("/d/a") == b"keptlo"


def test_a_killed_process_loses_nothing_it_wrote_until_the_power_goes() -> None:
    disk = _disk()
    disk.open("/d/a", create=True).append([b"written"])
    disk.kill()
    assert disk.read_file("/d/a") == b"written"
    disk.crash(Never())
    assert not disk.exists("/d/a")


def test_a_tree_may_be_left_half_removed() -> None:
    disk = _disk()
    disk.make_directory("/d/t")
    for name in "abc":
        disk.open(f"/d/t/{name}", create=True)

    def die_at_b(kind: str, path: str, size: int) -> None:
        if path.endswith("b"):
            raise Interrupted(path)

    disk.on_write = die_at_b
    with pytest.raises(Interrupted):
        disk.remove_tree("/d/t")
    assert disk.list("/d/t") == ["b", "c"]


def test_a_flush_that_ends_late_takes_nothing_back() -> None:
    later: list[Callable[[], None]] = []
    disk = SimDisk(run_later=later.append)
    disk.make_directory("/d")
    file = disk.open("/d/a", create=True)
    file.append([b"a"])
    file.flush(lambda _: None)
    file.append([b"b"])
    file.flush_now()
    later.pop()()
    disk.crash(Never())
    assert disk.read_file("/d/a") == b"ab"


def test_a_directory_is_locked_once() -> None:
    disk = _disk()
    unlock = disk.lock("/d")
    with pytest.raises(DiskFailed):
        disk.lock("/d")
    unlock()
    disk.lock("/d")
