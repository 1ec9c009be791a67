"""Logs that move between the directories of a node."""

from dataclasses import replace

import pytest

from kafkapy.core.seams import Callback
from kafkapy.log.directories.all_logs import AllLogs
from kafkapy.log.directories.partition_metadata import encode_partition_metadata
from kafkapy.log.partition_log import PartitionLog
from tests.log.machine import CONFIG, PAYMENTS, A, B, Machine, create, get
from tests.log.support import ORDERS, TOPIC_ID, append, batch, offsets


@pytest.fixture
def machine() -> Machine:
    return Machine()


# -- moving


def _other(logs: AllLogs, log: PartitionLog) -> str:
    return B if logs.path_of(log) == A else A


def test_a_move_copies_all_and_takes_over(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    for epoch in range(5):
        append(log, 3, leader_epoch=epoch)
    log.advance_high_watermark(12)
    log.advance_log_start_offset(4)
    source, target = logs.path_of(log), _other(logs, log)
    moved: list[PartitionLog] = []
    logs.on_moved = lambda _, new: moved.append(new)
    logs.move(ORDERS, target)
    assert [is_future for _, is_future in logs.in_directory(target)] == [True]
    assert get(logs) is log
    machine.clock.settle()
    new = get(logs)
    assert moved == [new]
    assert logs.path_of(new) == target
    assert (new.log_start_offset, new.log_end_offset, new.high_watermark) == (4, 15, 12)
    assert list(new.epochs) == list(log.epochs)
    assert offsets(new) == offsets_from(4, 15)
    assert machine.disk.exists(f"{target}/orders-0")
    assert not machine.disk.exists(f"{source}/orders-0")
    append(new, 2, leader_epoch=5)
    machine.stop(logs)
    assert offsets(get(machine.started()))[-1] == 16


def offsets_from(start: int, end: int) -> list[int]:
    """The batch of three that holds `start` is read whole."""
    return list(range(start - start % 3, end))


def test_a_move_keeps_up_with_appends_and_truncations(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    for _ in range(4):
        append(log, 3)

    def appended(count: int, leader_epoch: int = 0) -> None:
        append(log, count, leader_epoch=leader_epoch)

    steps: list[Callback] = [
        lambda: appended(3),
        lambda: log.truncate_to(6),
        lambda: appended(3, leader_epoch=3),
        lambda: log.truncate_to(3),
        lambda: appended(3, leader_epoch=4),
    ]
    logs.move(ORDERS, _other(logs, log))
    for step in steps:
        step()
        machine.clock.step(machine.clock.now())
        if get(logs) is not log:
            break
    machine.clock.settle()
    new = get(logs)
    assert new is not log
    assert offsets(new) == list(range(new.log_end_offset))


def test_a_move_is_taken_up_again_after_a_stop(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    target = _other(logs, log)
    logs.move(ORDERS, target)
    machine.kill()
    again = machine.started()
    machine.clock.settle()
    assert again.path_of(get(again)) == target
    assert offsets(get(again)) == [0, 1, 2]


def _cut_off_in_a_move(machine: Machine) -> tuple[str, str]:
    """Killed while "orders" moves; the copy's directory, and where it was going."""
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    target = _other(logs, log)
    logs.move(ORDERS, target)
    ((future, _),) = logs.in_directory(target)
    machine.kill()
    return future.directory, target


def test_a_copy_that_does_not_know_whose_it_is_starts_over(machine: Machine) -> None:
    copy, target = _cut_off_in_a_move(machine)
    machine.disk.write_file(f"{copy}/00000000000000000000.log", batch(9).tobytes())
    if machine.disk.exists(f"{copy}/partition.metadata"):
        machine.disk.remove(f"{copy}/partition.metadata")
    again = machine.started()
    machine.clock.settle()
    assert again.path_of(get(again)) == target
    assert get(again).topic_id == TOPIC_ID
    assert offsets(get(again)) == [0, 1, 2]


def test_a_copy_of_an_older_topic_of_that_name_is_dropped(machine: Machine) -> None:
    copy, target = _cut_off_in_a_move(machine)
    machine.disk.write_file(
        f"{copy}/partition.metadata", encode_partition_metadata(machine.rng.uuid())
    )
    again = machine.started()
    machine.clock.settle()
    assert again.path_of(get(again)) != target
    assert again.in_directory(target) == []
    assert offsets(get(again)) == [0, 1, 2]


def test_records_that_a_copy_lost_are_copied_again(machine: Machine) -> None:
    """A hole between two segments of a compacted copy: the cleaner's, or a power cut took
    the end of the first one. The original knows."""
    compacted = replace(CONFIG, cleanup_policy=frozenset({"compact"}))
    logs = machine.started(config=compacted)
    log = logs.get_or_create(ORDERS, TOPIC_ID, compacted)
    for _ in range(3):
        append(log)
    first = machine.disk.read_file(f"{log.directory}/00000000000000000000.log")[: log.size // 3]
    target = _other(logs, log)
    logs.move(ORDERS, target)
    ((future, _),) = logs.in_directory(target)
    machine.kill()
    machine.disk.write_file(f"{future.directory}/00000000000000000000.log", first)
    machine.disk.write_file(f"{future.directory}/00000000000000000003.log", b"")
    machine.disk.write_file(
        f"{future.directory}/partition.metadata", encode_partition_metadata(TOPIC_ID)
    )
    again = machine.started(config=compacted)
    machine.clock.settle()
    assert again.path_of(get(again)) == target
    assert offsets(get(again)) == [0, 1, 2]


def test_a_move_back_home_ends_the_move(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    source, target = logs.path_of(log), _other(logs, log)
    logs.move(ORDERS, target)
    logs.move(ORDERS, target)
    logs.move(ORDERS, source)
    machine.clock.settle()
    assert get(logs) is log
    assert logs.in_directory(target) == []


def test_a_partition_that_is_not_here_yet_is_created_where_it_is_wanted(machine: Machine) -> None:
    logs = machine.started()
    logs.move(ORDERS, B)
    logs.move(PAYMENTS, B)
    assert logs.path_of(create(logs, ORDERS)) == B
    assert logs.path_of(create(logs, PAYMENTS)) == B


def test_a_deleted_log_takes_its_copy_along(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    target = _other(logs, log)
    logs.move(ORDERS, target)
    logs.delete(ORDERS)
    machine.clock.settle()
    assert logs.get(ORDERS) is None
    assert logs.in_directory(target) == []


def test_a_crash_between_the_two_renames_leaves_the_copy(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    source = logs.path_of(log)
    machine.disk.fail("rename", in_path=f"{source}/orders-0")
    logs.move(ORDERS, _other(logs, log))
    machine.clock.settle()
    assert logs.is_offline(source)
    machine.kill()
    again = machine.started()
    assert offsets(get(again)) == [0, 1, 2]
    assert len(machine.journal.said("stray log put aside")) == 1


def test_a_copy_without_an_original_becomes_the_log(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    source, target = logs.path_of(log), _other(logs, log)
    logs.move(ORDERS, target)
    machine.clock.step(machine.clock.now())
    machine.kill()
    machine.disk.remove_tree(f"{source}/orders-0")
    again = machine.started()
    assert again.path_of(get(again)) == target


def test_the_copy_of_a_deleted_topic_is_put_aside_as_its_original_is(machine: Machine) -> None:
    """A node dies while it moves a partition; meanwhile the topic is deleted."""
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    logs.move(ORDERS, _other(logs, log))
    machine.kill()
    again = machine.started(lambda topic_partition, topic_id: topic_id == TOPIC_ID)
    assert again.get(ORDERS) is None
    assert len(machine.journal.said("stray log put aside")) == 2
    assert again.get_or_create(ORDERS, machine.rng.uuid(), CONFIG)  # a new topic of that name
