"""Which log is cleaned next: dirty shares, lags, checkpoints that are no longer true."""

from kafkapy.log.cleaning.candidates import Candidate, filthiest, first_dirty_offset
from tests.log.cleaning.kit import START, Partition, config

DAY = 86_400_000


def written(partition: Partition, segments: int) -> Partition:
    """Sealed segments of three offsets and equal size each, and an empty active one."""
    for number in range(segments):
        partition.write((f"a{number}", "x" * 50), (f"b{number}", "y"), (f"c{number}", "z"))
        partition.roll()
    return partition


def bounds(candidate: Candidate) -> tuple[int, int]:
    return candidate.first_dirty_offset, candidate.first_uncleanable_offset


def test_everything_but_the_active_segment_is_cleanable_at_first() -> None:
    partition = written(Partition(), 4)
    partition.write(("active", "1"))
    candidate = partition.assess()
    assert bounds(candidate) == (0, 12)
    assert candidate.clean_bytes == 0
    assert candidate.cleanable_ratio == 1.0
    assert candidate.is_due


def test_the_share_of_dirty_bytes_decides() -> None:
    partition = written(Partition(config(min_cleanable_dirty_ratio=0.5)), 4)
    half = partition.assess(6)
    assert half.cleanable_bytes == half.clean_bytes
    assert not half.is_due  # more than the ratio, not just as much
    assert partition.assess(3).is_due
    assert not partition.assess(12).is_due


def test_a_log_without_sealed_segments_is_never_due() -> None:
    partition = Partition()
    partition.write(("a", "1"))
    candidate = partition.assess()
    assert candidate.total_bytes == 0
    assert candidate.cleanable_ratio == 0.0
    assert not candidate.is_due


def test_what_is_too_young_is_left() -> None:
    partition = Partition(config(min_compaction_lag_ms=1000))
    for number in range(4):
        partition.write((f"a{number}", "1"), timestamp=START + number * 500)
        partition.roll()
    partition.clock.time = START + 1500
    assert bounds(partition.assess()) == (0, 2)
    partition.clock.time = START + 500
    assert bounds(partition.assess()) == (0, 0)
    assert not partition.assess().is_due
    partition.clock.time = START + 9000
    assert bounds(partition.assess()) == (0, 4)


def test_an_open_transaction_ends_it_at_the_segment_it_is_in() -> None:
    partition = written(Partition(), 2)
    partition.write(("d", "1"))
    partition.write(("e", "1"), pid=7, transactional=True)
    partition.roll()
    assert bounds(partition.assess()) == (0, 6)
    partition.end(7, commit=True)
    partition.roll()
    assert bounds(partition.assess()) == (0, 9)


def test_a_log_that_must_be_compacted_by_now_is_due_at_any_share() -> None:
    partition = written(
        Partition(config(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=DAY)), 3
    )
    partition.clock.time = START + DAY
    assert not partition.assess(6).is_due
    partition.clock.time += 1
    assert partition.assess(6).is_due
    assert not partition.assess(9).is_due  # nothing dirty


def test_a_checkpoint_outside_the_log_starts_over() -> None:
    partition = written(Partition(), 3)
    assert first_dirty_offset(partition.log, 4) == 4
    assert first_dirty_offset(partition.log, 10) == 0
    partition.log.advance_log_start_offset(5)
    assert first_dirty_offset(partition.log, 4) == 5


def test_the_filthiest_goes_first_if_it_is_due() -> None:
    partition = written(Partition(config(min_cleanable_dirty_ratio=0.4)), 4)
    clean, dirty, filthy = partition.assess(9), partition.assess(6), partition.assess(3)
    assert filthiest([clean, dirty, filthy]) is filthy
    assert filthiest([dirty, clean]) is dirty
    assert filthiest([clean]) is None
    assert filthiest([]) is None
