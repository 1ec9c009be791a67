"""All logs of a node: load, create, move, fail, close."""

import pytest

from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.log.config import LogConfig
from tests.log.machine import CONFIG, PAYMENTS, A, B, Machine, create, get
from tests.log.support import ORDERS, TOPIC_ID, append, offsets


@pytest.fixture
def machine() -> Machine:
    return Machine()


# -- lives


def test_after_a_clean_stop_everything_is_believed(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 5)
    log.advance_high_watermark(3)
    path = logs.path_of(log)
    machine.stop(logs)
    assert (
        machine.disk.read_file(f"{path}/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":7}'
    )
    assert machine.disk.read_file(f"{path}/recovery-point-offset-checkpoint") == (
        b"0\n1\norders 0 5\n"
    )
    again = machine.started()
    assert again.previous_broker_epoch == 7
    log = get(again)
    assert (log.log_end_offset, log.high_watermark) == (5, 3)
    assert log.recovered.checked_segments == 0
    assert not machine.disk.exists(f"{path}/.kafka_cleanshutdown")


def test_after_a_kill_logs_are_checked(machine: Machine) -> None:
    logs = machine.started()
    append(create(logs), 5)
    machine.kill()
    again = machine.started()
    assert again.previous_broker_epoch == -1
    assert offsets(get(again)) == [0, 1, 2, 3, 4]
    assert get(again).recovered.checked_segments == 1


def test_after_the_power_went_nothing_that_was_flushed_is_lost(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 5)
    log.flush(lambda _: None)
    machine.disk.crash(machine.rng)
    machine.clock.forget_all()
    assert offsets(get(machine.started())) == [0, 1, 2, 3, 4]


def test_the_recovery_point_of_a_clean_stop_does_not_outlive_it(machine: Machine) -> None:
    """It may be where a later segment begins; see PartitionLog.recovery_point."""
    logs = machine.started()
    append(create(logs), 5)
    path = logs.path_of(get(logs))
    machine.stop(logs)
    machine.started()
    checkpoint = machine.disk.read_file(f"{path}/recovery-point-offset-checkpoint")
    assert checkpoint == b"0\n1\norders 0 4\n"


@pytest.mark.parametrize("marker", [b"", b"nonsense", b"{}", b'{"version":0}', b"[]"])
def test_a_marker_that_cannot_be_read_still_means_a_clean_stop(
    machine: Machine, marker: bytes
) -> None:
    for path in (A, B):
        machine.disk.write_file(f"{path}/.kafka_cleanshutdown", marker)
    logs = machine.directories()
    assert logs.previous_broker_epoch == -1
    assert all(directory.was_clean for directory in logs._directories.values())


def test_directories_that_disagree_about_the_epoch_know_none(machine: Machine) -> None:
    machine.disk.write_file(f"{A}/.kafka_cleanshutdown", b'{"version":0,"brokerEpoch":7}')
    machine.disk.write_file(f"{B}/.kafka_cleanshutdown", b'{"version":0,"brokerEpoch":8}')
    assert machine.directories().previous_broker_epoch == -1


def test_the_log_start_survives_a_stop(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    append(log, 3)
    log.advance_high_watermark(6)
    log.advance_log_start_offset(4)
    path = logs.path_of(log)
    machine.stop(logs)
    assert machine.disk.read_file(f"{path}/log-start-offset-checkpoint") == b"0\n1\norders 0 4\n"
    assert get(machine.started()).log_start_offset == 4


def test_a_bad_checkpoint_takes_its_directory_offline_alone(machine: Machine) -> None:
    logs = machine.started()
    kept = next(tp for tp in (ORDERS, PAYMENTS) if logs.path_of(create(logs, tp)) == B)
    machine.kill()
    machine.disk.write_file(f"{A}/recovery-point-offset-checkpoint", b"garbage")
    again = machine.started()
    assert again.is_offline(A)
    assert not again.is_offline(B)
    assert again.get(kept) is not None


def test_other_things_in_a_directory_are_left_alone(machine: Machine) -> None:
    machine.disk.make_directory(f"{A}/lost+found")
    machine.disk.make_directory(f"{A}/__cluster_metadata-0")
    machine.disk.make_directory(f"{A}/remote-log-index-cache")
    machine.disk.make_directory(f"{A}/orders-0.{'0' * 32}-stray")
    machine.disk.write_file(f"{A}/meta.properties", b"")
    logs = machine.started()
    assert list(logs) == []
    assert machine.disk.exists(f"{A}/lost+found")
    assert [line.facts["path"] for line in machine.journal.said("not a partition, left alone")] == [
        f"{A}/lost+found"
    ]


# -- logs come and go


def test_new_logs_go_where_the_fewest_are(machine: Machine) -> None:
    logs = machine.started()
    paths = [logs.path_of(create(logs, TopicPartition("t", i))) for i in range(6)]
    assert sorted(paths) == [A, A, A, B, B, B]
    assert logs.directory_id_of(get(logs, TopicPartition("t", 0))) in machine.ids.values()
    assert len(logs.in_directory(A)) == 3


def test_the_same_log_is_there_only_once(machine: Machine) -> None:
    logs = machine.started()
    assert create(logs) is create(logs)
    with pytest.raises(Refused) as refused:
        logs.get_or_create(ORDERS, machine.rng.uuid(), CONFIG)
    assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_deleted_log_is_out_of_sight_at_once_and_removed_later(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 5)
    path = logs.path_of(log)
    logs.delete(ORDERS)
    assert logs.get(ORDERS) is None
    fresh = logs.get_or_create(ORDERS, machine.rng.uuid(), CONFIG, path=path)
    assert fresh.log_end_offset == 0
    assert [name for name in machine.disk.list(path) if name.endswith("-delete")]
    machine.clock.advance(1000)
    assert not [name for name in machine.disk.list(path) if name.endswith("-delete")]


def test_what_was_deleted_before_a_stop_is_removed_after_the_start(machine: Machine) -> None:
    logs = machine.started()
    create(logs)
    logs.delete(ORDERS)
    machine.kill()
    machine.started()
    machine.clock.advance(1000)
    assert not [name for path in (A, B) for name in machine.disk.list(path) if "-delete" in name]


def test_logs_the_metadata_does_not_know_are_put_aside(machine: Machine) -> None:
    logs = machine.started()
    append(create(logs), 5)
    create(logs, PAYMENTS)
    machine.stop(logs)
    again = machine.started(lambda topic_partition, topic_id: topic_partition == ORDERS)
    assert again.get(ORDERS) is None
    assert again.get(PAYMENTS) is not None
    assert [name for path in (A, B) for name in machine.disk.list(path) if "-stray" in name]
    assert len(machine.journal.said("stray log put aside")) == 1


def test_settings_change_in_place(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    changed = LogConfig(retention_ms=5)
    logs.reconfigure(ORDERS, changed)
    assert log.config is changed


# -- failure


def test_a_failed_directory_takes_its_logs_with_it(machine: Machine) -> None:
    logs = machine.started()
    create(logs, ORDERS)
    create(logs, PAYMENTS)
    path = logs.path_of(get(logs, ORDERS))
    assert logs.fail(DiskFailed(f"{path}/orders-0/x.log", "bad sector")) == path
    assert logs.fail(DiskFailed(f"{path}/orders-0/x.log", "bad sector")) is None
    assert logs.is_offline(ORDERS)
    assert logs.is_directory_offline(path)
    assert not logs.is_offline(PAYMENTS)
    assert logs.get(ORDERS) is None
    assert logs.get(PAYMENTS) is not None
    assert logs.in_directory(path) == []
    with pytest.raises(Refused) as refused:
        create(logs, ORDERS)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert logs.path_of(create(logs, TopicPartition("new", 0))) != path


def test_an_old_partition_that_may_be_offline_is_not_made_anew(machine: Machine) -> None:
    logs = machine.directories(**{"/gone": "cannot be read"})
    for _ in logs.load(lambda topic: CONFIG):
        pass
    logs.settle(lambda *_: False)
    assert logs.has_offline
    with pytest.raises(Refused):
        logs.get_or_create(ORDERS, TOPIC_ID, CONFIG, assigned=machine.rng.uuid())
    log = logs.get_or_create(ORDERS, TOPIC_ID, CONFIG, assigned=machine.ids[B])
    assert logs.path_of(log) == B
    with pytest.raises(Refused):
        logs.get_or_create(PAYMENTS, TOPIC_ID, CONFIG, may_be_old=True)
    assert logs.get_or_create(PAYMENTS, TOPIC_ID, CONFIG)


def test_a_new_topic_of_the_name_of_one_that_is_lost_is_made(machine: Machine) -> None:
    logs = machine.started()
    path = logs.path_of(create(logs, ORDERS))
    logs.fail(DiskFailed(f"{path}/orders-0/x.log", "bad sector"))
    other = logs.get_or_create(ORDERS, machine.rng.uuid(), CONFIG)
    assert logs.path_of(other) != path


def test_a_replica_whose_directory_was_replaced_is_made_anew(machine: Machine) -> None:
    logs = machine.started()
    assert logs.get_or_create(ORDERS, TOPIC_ID, CONFIG, assigned=machine.rng.uuid())


def test_what_fails_in_the_background_is_told(machine: Machine) -> None:
    logs = machine.started()
    told: list[DiskFailed] = []

    def failed(error: DiskFailed) -> None:
        told.append(error)
        logs.fail(error)

    logs.on_failed = failed
    log = create(logs)
    append(log)
    machine.disk.fail("flush", in_path=".log", cause="bad sector")
    log.roll()
    assert [error.cause for error in told] == ["bad sector"]
    assert logs.is_offline(ORDERS)


@pytest.mark.parametrize("is_copy", [False, True])
def test_a_disk_that_fails_while_strays_are_put_aside_takes_its_directory_offline(
    machine: Machine, is_copy: bool
) -> None:
    """Seed 147: the node died of it. What the other directories have is served."""
    logs = machine.started()
    append(create(logs, ORDERS))
    append(create(logs, PAYMENTS))
    path = logs.path_of(get(logs, ORDERS))
    machine.stop(logs)
    if is_copy:
        machine.disk.rename(f"{path}/orders-0", f"{path}/orders-0.{'0' * 32}-future")
    again = machine.directories()
    for _ in again.load(lambda topic: CONFIG):
        pass
    machine.disk.fail("rename", in_path="/orders-0", cause="bad sector")
    again.settle(lambda topic_partition, _: topic_partition == ORDERS and not is_copy)
    assert again.is_directory_offline(path)
    assert again.get(PAYMENTS) is not None


def test_a_failed_directory_gets_no_mark_at_the_stop(machine: Machine) -> None:
    logs = machine.started()
    for topic_partition in (ORDERS, PAYMENTS):
        append(create(logs, topic_partition))
    path = logs.path_of(get(logs, ORDERS))
    machine.disk.fail("flush", in_path=f"{path}/orders-0")
    machine.stop(logs)
    assert not machine.disk.exists(f"{path}/.kafka_cleanshutdown")
    other = B if path == A else A
    assert machine.disk.exists(f"{other}/.kafka_cleanshutdown")
    assert len(machine.journal.said("not closed cleanly")) == 1


def test_a_directory_that_fails_while_its_logs_are_closed_gets_no_mark(machine: Machine) -> None:
    """A turn may tell late that it lost the end of an index; all flushes then went well."""
    machine.disk.run_later = machine.clock.call_soon
    logs = machine.started()
    log = create(logs)
    append(log)
    path = logs.path_of(log)
    stopped: list[bool] = []
    logs.close(7, lambda: stopped.append(True))
    logs.fail(DiskFailed(f"{log.directory}/00000000000000000000.timeindex", "I/O error"))
    assert machine.clock.run_until(lambda: bool(stopped), 10_000)
    assert not machine.disk.exists(f"{path}/.kafka_cleanshutdown")
    assert machine.disk.exists(f"{B if path == A else A}/.kafka_cleanshutdown")


def test_with_all_directories_gone_nothing_can_be_made(machine: Machine) -> None:
    logs = machine.started()
    for path in (A, B):
        logs.fail(DiskFailed(path, "gone"))
    with pytest.raises(Refused) as refused:
        create(logs)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    machine.stop(logs)


# -- what is due


def test_checkpoints_are_written_when_they_are_due(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, 3)
    log.advance_high_watermark(3)
    path = logs.path_of(log)
    logs.start()
    machine.clock.advance(29_999)
    assert not machine.disk.exists(f"{path}/replication-offset-checkpoint")
    machine.clock.advance(1)
    assert machine.disk.read_file(f"{path}/replication-offset-checkpoint") == (
        b"0\n1\norders 0 3\n"
    )
    log.roll()
    machine.clock.advance(60_000)
    assert machine.disk.read_file(f"{path}/recovery-point-offset-checkpoint") == (
        b"0\n1\norders 0 3\n"
    )


def test_retention_is_applied_when_it_is_due(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, timestamp=1)
    log.advance_high_watermark(1)
    logs.reconfigure(ORDERS, LogConfig(retention_ms=1000))
    logs.start()
    machine.clock.advance(30_000)
    assert log.log_start_offset == 1


def test_a_disk_that_fails_in_a_task_takes_its_directory_offline(machine: Machine) -> None:
    logs = machine.started()
    log = create(logs)
    append(log, timestamp=1)
    log.advance_high_watermark(1)
    logs.reconfigure(ORDERS, LogConfig(retention_ms=1000))
    logs.start()
    machine.disk.fail("rename", in_path="orders-0")
    machine.clock.advance(30_000)
    assert logs.is_offline(ORDERS)
