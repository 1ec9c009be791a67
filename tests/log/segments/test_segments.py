"""The segments of a log, in order."""

import pytest

from kafkapy.core.time import Instant
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments
from kafkapy.sim.world.disk import SimDisk


def _segment(base_offset: int, size: int = 0) -> Segment:
    return Segment(
        SimDisk(), "/d", base_offset, size=size, created=Instant(0), has_transaction_index=False
    )


@pytest.fixture
def segments() -> Segments:
    return Segments([_segment(0, 10), _segment(100, 20), _segment(200, 5)])


def _bases(segments: Segments) -> list[int]:
    return [segment.base_offset for segment in segments]


def test_an_offset_belongs_to_the_last_segment_that_begins_at_or_before_it(
    segments: Segments,
) -> None:
    found = [segments.at(segments.floor_index(at)).base_offset for at in (-1, 0, 99, 100, 200, 999)]
    assert found == [0, 0, 0, 100, 200, 200]
    assert [one.base_offset for one in segments.starting_at(150)] == [100, 200]


def test_a_segment_ends_where_the_next_begins(segments: Segments) -> None:
    assert [segments.end_of(index) for index in range(3)] == [100, 200, None]


def test_the_last_one_is_active(segments: Segments) -> None:
    assert segments.active.base_offset == 200
    segments.add(_segment(300))
    assert segments.active.base_offset == 300
    assert [one.base_offset for one in segments.sealed] == [0, 100, 200]
    with pytest.raises(AssertionError):
        segments.add(_segment(300))


def test_its_size_is_that_of_all(segments: Segments) -> None:
    assert segments.size == 35
    assert len(segments) == 3
    assert segments.first.base_offset == 0


def test_some_are_replaced_by_others(segments: Segments) -> None:
    old = list(segments)[:2]
    segments.replace([_segment(0, 7)], old)
    assert (_bases(segments), segments.size) == ([0, 200], 12)
    segments.replace([], [segments.active])
    assert segments.active.base_offset == 0


def test_what_is_not_there_cannot_be_replaced(segments: Segments) -> None:
    with pytest.raises(AssertionError):
        segments.replace([], [_segment(0)])
    with pytest.raises(AssertionError):
        segments.replace([], list(segments))
