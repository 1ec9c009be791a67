"""Where each leader epoch began."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.seams import Callback
from kafkapy.log.leader_epochs import UNDEFINED, LeaderEpochs
from kafkapy.sim.world.disk import SimDisk
from tests.log.support import Answers

END = 500


@pytest.fixture
def disk() -> SimDisk:
    disk = SimDisk()
    disk.make_directory("/d")
    return disk


@pytest.fixture
def epochs(disk: SimDisk) -> LeaderEpochs:
    epochs = LeaderEpochs(disk, "/d")
    for epoch, start_offset in ((0, 0), (3, 120), (4, 300)):
        assert epochs.assign(epoch, start_offset)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (4, (4, END)),
        (3, (3, 300)),
        (0, (0, 120)),
        (1, (0, 120)),
        (2, (0, 120)),
        (5, UNDEFINED),
        (-1, UNDEFINED),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(
    epochs: LeaderEpochs, asked: int, answer: tuple[int, int]
) -> None:
    assert epochs.end_offset_for(asked, END) == answer


def test_an_epoch_before_all_known_ones_ends_where_they_begin(disk: SimDisk) -> None:
    epochs = LeaderEpochs(disk, "/d")
    assert epochs.end_offset_for(0, END) == UNDEFINED
    epochs.assign(5, 40)
    assert epochs.end_offset_for(2, END) == (2, 40)


def test_the_epoch_of_an_offset_is_the_one_that_went_on_there(epochs: LeaderEpochs) -> None:
    assert [epochs.epoch_at(offset) for offset in (0, 119, 120, 299, 300, 999)] == [
        0,
        0,
        3,
        3,
        4,
        4,
    ]


def test_assigning_what_is_known_is_nothing_new(epochs: LeaderEpochs) -> None:
    assert not epochs.assign(4, 300)
    assert not epochs.assign(4, 350)
    assert list(epochs) == [(0, 0), (3, 120), (4, 300)]


def test_a_new_epoch_replaces_what_contradicts_it(epochs: LeaderEpochs) -> None:
    assert epochs.assign(5, 200)
    assert list(epochs) == [(0, 0), (3, 120), (5, 200)]
    assert epochs.assign(4, 400)
    assert list(epochs) == [(0, 0), (3, 120), (4, 400)]


def test_truncation_forgets_epochs_that_began_there_or_later(epochs: LeaderEpochs) -> None:
    epochs.truncate_from_end(301)
    assert epochs.latest == 4
    epochs.truncate_from_end(300)
    assert list(epochs) == [(0, 0), (3, 120)]
    assert epochs.latest == 3
    epochs.truncate_from_end(0)
    assert epochs.latest == -1


def test_the_log_start_moves_the_epoch_that_was_going_on(epochs: LeaderEpochs) -> None:
    epochs.truncate_from_start(200)
    assert list(epochs) == [(3, 200), (4, 300)]
    epochs.truncate_from_start(300)
    assert list(epochs) == [(4, 300)]
    epochs.truncate_from_start(100)
    assert list(epochs) == [(4, 300)]


def test_they_are_read_back_once_saved(disk: SimDisk, epochs: LeaderEpochs) -> None:
    answers = Answers()
    epochs.save(answers)
    assert epochs.is_saved
    assert disk.read_file("/d/leader-epoch-checkpoint") == b"0\n3\n0 0\n3 120\n4 300\n"
    assert list(LeaderEpochs(disk, "/d")) == list(epochs)
    epochs.save(answers)
    assert answers.errors == [None, None]


def test_what_is_assigned_during_a_save_is_not_saved_by_it() -> None:
    waiting: list[Callback] = []
    disk = SimDisk(run_later=waiting.append)
    disk.make_directory("/d")
    epochs, answers = LeaderEpochs(disk, "/d"), Answers()
    epochs.assign(0, 0)
    epochs.save(answers)
    epochs.assign(1, 10)
    waiting.pop()()
    assert answers.errors == [None]
    assert not epochs.is_saved


def test_a_save_that_fails_leaves_them_unsaved(disk: SimDisk, epochs: LeaderEpochs) -> None:
    disk.fail("write_file", in_path="leader-epoch")
    answers = Answers()
    epochs.save(answers)
    assert answers.errors[0] is not None
    assert not epochs.is_saved


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50)), max_size=30))
def test_both_columns_always_ascend(assignments: list[tuple[int, int]]) -> None:
    disk = SimDisk()
    disk.make_directory("/d")
    epochs = LeaderEpochs(disk, "/d")
    for epoch, start_offset in assignments:
        epochs.assign(epoch, start_offset)
        entries = list(epochs)
        assert entries == sorted(set(entries))
        assert [start for _, start in entries] == sorted({start for _, start in entries})
        assert epochs.latest == entries[-1][0]
