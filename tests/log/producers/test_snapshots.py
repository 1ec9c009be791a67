"""Producer snapshots: taken at rolls, loaded at starts."""

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.log.names import SNAPSHOT, offset_file
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.producers.snapshots import ProducerSnapshots, replay
from tests.log.support import ORDERS, Home, append

NOW = Instant(2000)


def _producing(home: Home) -> PartitionLog:
    """Batches of producer 7, a roll after each."""
    log = home.open(LogConfig(retention_ms=-1))
    for sequence in range(5):
        append(log, producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.roll()
    return log


def _last_sequence(states: ProducerStates) -> int | None:
    entry = states.get(7)
    return None if entry is None else entry.last_sequence


def test_the_latest_one_not_above_the_offset_is_loaded() -> None:
    log = _producing(Home())
    states = ProducerStates(ORDERS)
    assert log.snapshots.load(states, 3, 0, NOW)
    assert (_last_sequence(states), states.end_offset) == (2, 3)
    assert not log.snapshots.load(states, 3, 3, NOW)


def test_the_rest_is_replayed() -> None:
    log = _producing(Home())
    states = ProducerStates(ORDERS)
    log.snapshots.load(states, 2, 0, NOW)
    replay(states, log.segments, 4)
    assert (_last_sequence(states), states.end_offset) == (3, 4)
    replay(states, log.segments, 4)
    assert _last_sequence(states) == 3


def test_a_damaged_one_is_removed_and_the_one_before_is_taken() -> None:
    home = Home()
    log = _producing(home)
    home.disk.write_file(f"{home.path}/{offset_file(3, SNAPSHOT)}", b"torn")
    home.disk.remove(f"{home.path}/{offset_file(4, SNAPSHOT)}")
    states = ProducerStates(ORDERS)
    assert log.snapshots.load(states, 4, 0, NOW)
    assert states.end_offset == 2
    assert log.snapshots.offsets == [1, 2, 5]


def test_strays_go_but_not_the_latest() -> None:
    home = Home()
    log = _producing(home)
    snapshots = ProducerSnapshots(home.disk, home.path, log.snapshots.offsets)
    snapshots.remove_strays([2])
    assert snapshots.offsets == [2, 5]
    assert [name for name in home.disk.list(home.path) if name.endswith(SNAPSHOT)] == [
        offset_file(2, SNAPSHOT),
        offset_file(5, SNAPSHOT),
    ]


def test_an_older_one_is_not_taken_again() -> None:
    log = _producing(Home())
    states = ProducerStates(ORDERS)
    log.snapshots.take(states, 3)
    assert log.snapshots.load(states, 3, 0, NOW)
    assert _last_sequence(states) == 2


def test_truncation_removes_those_above() -> None:
    home = Home()
    log = _producing(home)
    log.snapshots.remove_above(3)
    assert log.snapshots.offsets == [1, 2, 3]
    log.snapshots.remove(2)
    log.snapshots.remove(2)
    assert log.snapshots.offsets == [1, 3]
