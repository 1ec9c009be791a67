"""What a share partition does with single records, said in sentences."""

from dataclasses import replace

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import NEVER, Instant
from kafkapy.share.coordinator.batches import MANY, combined
from kafkapy.share.partition import (
    BATCH_OPTIMIZED,
    FAR,
    RECORD_LIMIT,
    Acknowledgement,
    Asked,
    DeadLetter,
    ShareLimits,
    SharePartition,
    Span,
)
from kafkapy.share.states import RecordState, StateBatch
from kafkapy.share.window import Run, Window

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
LIMITS = ShareLimits(delivery_count_limit=3, record_lock_duration_ms=1_000, max_record_locks=100)
S = RecordState


def new(start: int = 0, *batches: StateBatch, limits: ShareLimits = LIMITS) -> SharePartition:
    return SharePartition(start, batches, limits=limits)


def acquire(
    share: SharePartition,
    member: str = "a",
    *,
    spans: tuple[tuple[int, int], ...] = ((0, 9),),
    most: int = 500,
    mode: int = 0,
    now: int = 0,
    until: int | None = None,
) -> list[tuple[int, int, int]]:
    offset = share.fetch_offset
    assert offset is not None
    end = max(last for _, last in spans) + 1 if until is None else until
    there = [Span(*span) for span in spans if span[1] >= offset]
    asked = Asked(member, most, mode)
    return [
        (first, last, count)
        for first, last, count in share.acquire(asked, offset, there, end, Instant(now))
    ]


def acknowledge(
    share: SharePartition, first: int, last: int, *types: int, member: str = "a", now: int = 0
) -> tuple[StateBatch, ...]:
    """Written at once."""
    given = [Acknowledgement(first, last, types)]
    change = share.acknowledge(member, given, Instant(now))
    if change is None:
        return ()
    batches = share.batches(change)
    share.changed(change)
    return batches


def test_what_is_acquired_is_nobody_elses() -> None:
    share = new()
    assert acquire(share, "a", spans=((0, 9), (10, 19))) == [(0, 9, 1), (10, 19, 1)]
    assert share.fetch_offset == 20
    assert acquire(share, "b", spans=((20, 24),)) == [(20, 24, 1)]


def test_whole_batches_are_taken_until_there_are_enough() -> None:
    share = new()
    assert acquire(share, spans=((0, 9), (10, 19), (20, 29)), most=15) == [(0, 9, 1), (10, 19, 1)]
    assert share.fetch_offset == 20


def test_with_a_record_limit_it_is_never_more() -> None:
    share = new()
    spans = ((0, 9), (10, 19))
    assert acquire(share, spans=spans, most=15, mode=RECORD_LIMIT) == [(0, 9, 1), (10, 14, 1)]
    assert share.fetch_offset == 15
    assert acquire(share, "b", spans=spans, most=15, mode=RECORD_LIMIT) == [(15, 19, 1)]


def test_the_start_moves_over_what_is_accepted_once_it_is_written() -> None:
    share = new()
    acquire(share)
    change = share.acknowledge("a", [Acknowledgement(0, 4, (ACCEPT,))], Instant(0))
    assert change is not None
    assert share.start_offset == 0
    share.changed(change)
    assert (share.start_offset, share.end_offset) == (5, 10)


def test_what_could_not_be_written_is_still_the_members() -> None:
    share = new()
    acquire(share)
    change = share.acknowledge("a", [Acknowledgement(0, 9, (ACCEPT,))], Instant(0))
    assert change is not None
    share.failed(change)
    assert share.start_offset == 0
    assert acknowledge(share, 0, 9, ACCEPT) == (StateBatch(0, 9, S.ACKNOWLEDGED, 1),)


def test_what_is_being_written_cannot_be_acknowledged_again() -> None:
    share = new()
    acquire(share)
    share.acknowledge("a", [Acknowledgement(0, 9, (ACCEPT,))], Instant(0))
    with pytest.raises(Refused, match="INVALID_RECORD_STATE"):
        share.acknowledge("a", [Acknowledgement(5, 5, (RELEASE,))], Instant(0))
    assert share.expire(Instant(5_000)) == ()


def test_types_record_by_record() -> None:
    share = new()
    acquire(share, spans=((0, 4),))
    written = acknowledge(share, 0, 4, ACCEPT, RELEASE, RELEASE, REJECT, 0)
    assert written == (
        StateBatch(0, 0, S.ACKNOWLEDGED, 1),
        StateBatch(1, 2, S.AVAILABLE, 1),
        StateBatch(3, 4, S.ARCHIVED, 1),
    )
    assert share.start_offset == 1
    assert acquire(share, "b", spans=((0, 4), (5, 6))) == [(1, 2, 2), (5, 6, 1)]


def test_a_record_that_comes_back_too_often_is_given_up() -> None:
    share = new()
    for count in (1, 2, 3):
        assert acquire(share, spans=((0, 0),)) == [(0, 0, count)]
        acknowledge(share, 0, 0, RELEASE)
    assert share.start_offset == share.end_offset == 1


def test_suspects_travel_in_halves_and_the_last_time_alone() -> None:
    """The records of the batch that is not to blame get through before it is given up."""
    share = new(limits=ShareLimits(delivery_count_limit=5))
    for _ in range(3):
        assert len(acquire(share, spans=((0, 7),))) == 1
        acknowledge(share, 0, 7, RELEASE)
    assert acquire(share, spans=((0, 7), (8, 9))) == [(0, 3, 4)]
    acknowledge(share, 0, 3, RELEASE)
    assert acquire(share, spans=((0, 7), (8, 9))) == [(0, 0, 5)]
    acknowledge(share, 0, 0, RELEASE)
    assert share.start_offset == 1


def test_a_lock_that_ends_lets_others_have_it() -> None:
    share = new()
    acquire(share, "a", now=0)
    assert share.next_expiry == 1_000
    assert share.expire(Instant(999)) == ()
    assert share.expire(Instant(1_000)) == (StateBatch(0, 9, S.AVAILABLE, 1),)
    assert share.next_expiry == NEVER
    with pytest.raises(Refused, match="INVALID_RECORD_STATE"):
        acknowledge(share, 0, 9, ACCEPT)
    assert acquire(share, "b", now=1_000) == [(0, 9, 2)]
    with pytest.raises(Refused, match="INVALID_RECORD_STATE"):
        acknowledge(share, 0, 9, ACCEPT, member="a")


def test_who_renews_keeps_it() -> None:
    share = new()
    acquire(share, now=0)
    assert acknowledge(share, 0, 4, RENEW, now=900) == ()
    assert share.expire(Instant(1_000)) == (StateBatch(5, 9, S.AVAILABLE, 1),)
    assert share.next_expiry == 1_900
    assert acknowledge(share, 0, 4, ACCEPT) == (StateBatch(0, 4, S.ACKNOWLEDGED, 1),)


def test_who_renews_in_the_moment_of_acquiring_keeps_it() -> None:
    """Nothing tells such a record from its neighbours but what is said of it."""
    share = new()
    acquire(share, now=0)
    written = acknowledge(share, 0, 3, RELEASE, RENEW, RELEASE, RENEW, now=0)
    assert written == (StateBatch(0, 0, S.AVAILABLE, 1), StateBatch(2, 2, S.AVAILABLE, 1))
    assert acknowledge(share, 1, 1, ACCEPT) == (StateBatch(1, 1, S.ACKNOWLEDGED, 1),)
    assert acknowledge(share, 3, 9, ACCEPT) == (StateBatch(3, 9, S.ACKNOWLEDGED, 1),)
    assert acquire(share, "b", spans=((0, 9),)) == [(0, 0, 2), (2, 2, 2)]


def test_where_renewing_is_not_allowed_it_is_refused() -> None:
    share = new(limits=ShareLimits(may_renew=False))
    acquire(share)
    with pytest.raises(Refused, match="INVALID_RECORD_STATE"):
        acknowledge(share, 0, 9, RENEW)


def test_one_mistake_undoes_the_whole_list() -> None:
    share = new()
    acquire(share, spans=((0, 9),))
    given = [Acknowledgement(0, 4, (ACCEPT,)), Acknowledgement(8, 12, (ACCEPT,))]
    with pytest.raises(Refused) as refused:
        share.acknowledge("a", given, Instant(0))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert acknowledge(share, 0, 9, ACCEPT) == (StateBatch(0, 9, S.ACKNOWLEDGED, 1),)


def test_what_is_over_may_be_acknowledged_and_nothing_happens() -> None:
    share = new()
    acquire(share)
    acknowledge(share, 0, 9, ACCEPT)
    acquire(share, spans=((10, 19),))
    assert acknowledge(share, 0, 9, ACCEPT) == ()
    assert acknowledge(share, 5, 14, ACCEPT) == (StateBatch(10, 14, S.ACKNOWLEDGED, 1),)


def test_who_goes_leaves_what_it_had() -> None:
    share = new()
    acquire(share, "a", spans=((0, 9),))
    acquire(share, "b", spans=((10, 19),))
    change = share.release("a")
    assert change is not None
    assert share.batches(change) == (StateBatch(0, 9, S.AVAILABLE, 1),)
    share.changed(change)
    assert acquire(share, "c", spans=((0, 9), (10, 19))) == [(0, 9, 2)]
    assert share.release("nobody") is None


def test_no_more_is_under_way_than_may_be() -> None:
    share = new(limits=ShareLimits(max_record_locks=15))
    assert acquire(share, spans=((0, 9), (10, 19), (20, 29))) == [(0, 9, 1), (10, 19, 1)]
    assert share.fetch_offset is None
    acknowledge(share, 0, 9, ACCEPT)
    assert share.fetch_offset == 20


@pytest.mark.parametrize("mode", [BATCH_OPTIMIZED, RECORD_LIMIT])
def test_what_no_lock_was_left_for_comes_later_though_a_gap_follows(mode: int) -> None:
    """The gap is what compaction left, or a marker: what lies before it was not handed out."""
    spans = ((0, 149), (151, 200))
    share = new()
    came: list[int] = []
    for _ in range(3):
        for first, last, _ in acquire(share, spans=spans, mode=mode):
            came += range(first, last + 1)
            acknowledge(share, first, last, ACCEPT)
    assert came == [*range(150), *range(151, 201)]


def test_locks_that_are_all_given_leave_what_is_behind_them_untouched() -> None:
    """One record came back, and there is room for none besides it."""
    share = new(limits=replace(LIMITS, max_record_locks=10))
    acquire(share, "a", spans=((0, 9),))
    acknowledge(share, 4, 4, RELEASE)
    assert acquire(share, "b", spans=((0, 9), (10, 14), (16, 19)), mode=RECORD_LIMIT) == [(4, 4, 2)]
    assert share.end_offset == 10
    acknowledge(share, 4, 4, ACCEPT, member="b")
    acknowledge(share, 0, 3, ACCEPT)
    acknowledge(share, 5, 9, ACCEPT)
    found = acquire(share, spans=((10, 14), (16, 19)), mode=RECORD_LIMIT, until=21)
    assert found == [(10, 14, 1), (16, 19, 1)]
    assert share.end_offset == 21


def test_a_marker_behind_what_was_not_taken_is_not_over_before_it() -> None:
    share = new(limits=replace(LIMITS, max_record_locks=3))
    assert acquire(share, spans=((0, 4),), mode=RECORD_LIMIT, until=6) == [(0, 2, 1)]
    acknowledge(share, 0, 2, ACCEPT)
    assert acquire(share, spans=((0, 4),), mode=RECORD_LIMIT, until=6) == [(3, 4, 1)]
    acknowledge(share, 3, 4, ACCEPT)
    assert share.start_offset == 6


def test_what_the_log_does_not_have_any_more_is_over() -> None:
    """Compacted away between two batches, at the end, and what was available before."""
    share = new(0, StateBatch(0, 9, S.AVAILABLE, 1))
    assert acquire(share, spans=((5, 7), (20, 24)), until=30) == [(5, 7, 2), (20, 24, 1)]
    assert (share.start_offset, share.end_offset) == (5, 30)
    acknowledge(share, 5, 7, ACCEPT)
    assert share.start_offset == 20
    acknowledge(share, 20, 24, ACCEPT)
    assert share.start_offset == share.end_offset == 30


def test_what_is_gone_from_the_log_is_gone_whoever_has_it() -> None:
    share = new()
    acquire(share, spans=((0, 9), (10, 19)))
    assert share.log_begins_at(15)
    assert not share.log_begins_at(10)
    assert share.start_offset == 15
    assert acknowledge(share, 0, 19, ACCEPT) == (StateBatch(15, 19, S.ACKNOWLEDGED, 1),)
    assert share.log_begins_at(40)
    assert share.start_offset == share.end_offset == 40


def test_it_goes_on_where_another_leader_was() -> None:
    share = new(
        10,
        StateBatch(10, 11, S.AVAILABLE, 2),
        StateBatch(14, 15, S.ACKNOWLEDGED, 1),
        StateBatch(16, 16, S.ARCHIVING, 3),
    )
    assert share.delivery_complete_count == 2
    assert share.dead_letters()[0][0] == DeadLetter(16, 16, 3, is_rejected=False)
    assert acquire(share, spans=((10, 19),)) == [(10, 10, 3)], "its last delivery: alone"
    acknowledge(share, 10, 10, ACCEPT)
    assert acquire(share, spans=((10, 19),)) == [(11, 11, 3)]
    acknowledge(share, 11, 11, ACCEPT)
    assert acquire(share, spans=((10, 19),)) == [(12, 13, 1), (17, 19, 1)]


def test_a_dead_letter_is_told_once_and_over_when_it_is_buried() -> None:
    share = new(limits=replace(LIMITS, has_dead_letters=True))
    acquire(share)
    assert acknowledge(share, 0, 3, REJECT, ACCEPT, 0, REJECT) == (
        StateBatch(0, 0, S.ARCHIVING, 1),
        StateBatch(1, 1, S.ACKNOWLEDGED, 1),
        StateBatch(2, 2, S.ARCHIVED, 1),
        StateBatch(3, 3, S.ARCHIVING, 1),
    )
    assert (share.start_offset, share.delivery_complete_count) == (0, 2)
    (first, change), (other, _) = share.dead_letters()
    assert first == DeadLetter(0, 0, 1, is_rejected=True)
    assert other == DeadLetter(3, 3, 1, is_rejected=True)
    assert share.dead_letters() == []
    assert share.buried(change) == (StateBatch(0, 0, S.ARCHIVED, 1),)
    assert share.start_offset == 3


def test_nothing_acquired_is_nothing_to_write() -> None:
    share = new()
    assert share.acquire(Asked("a", 10), 0, [], 0, Instant(0)) == []
    assert share.acknowledge("a", [], Instant(0)) is None


def test_what_is_over_behind_one_that_takes_long_is_one_run() -> None:
    """However differently it came to be so: nothing grows while somebody goes on renewing."""
    share = SharePartition(0, limits=ShareLimits())
    acquire(share, "slow", spans=((0, 0),))
    for offset in range(1, 200):
        acquire(share, spans=((offset, offset),))
        acknowledge(share, offset, offset, 1 + 2 * (offset % 2))
    assert len(share.window) == 2
    assert share.delivery_complete_count == 199
    acknowledge(share, 0, 0, 1, member="slow")
    assert share.start_offset == 200


def test_a_type_for_each_of_very_many_cuts_them_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, each cut would move all that lies behind it."""
    cuts: list[int] = []
    monkeypatch.setattr(Window, "_cut_before", lambda _, offset: cuts.append(offset))
    share = SharePartition(0, limits=ShareLimits())
    share.window.append(999, RecordState.AVAILABLE)
    acquire(share, spans=((0, 999),))
    cuts.clear()
    batches = acknowledge(share, 0, 999, *([1, 2] * 500))
    assert len(batches) == 1_000
    assert cuts == []


def test_a_type_for_each_of_very_many_is_looked_up_in_one_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind a record that takes long as well, where the gaps before them are told along."""
    share = SharePartition(0, limits=replace(LIMITS, max_record_locks=100_000))
    acquire(share, "slow", spans=((0, 0),))
    acquire(share, spans=((1, 20_000),), most=20_000)
    looks: list[int] = []
    between = Window.between

    def counted(window: Window, first: int, last: int) -> list[Run]:
        looks.append(first)
        return between(window, first, last)

    monkeypatch.setattr(Window, "between", counted)
    batches = acknowledge(share, 1, 20_000, *([ACCEPT, RELEASE] * 10_000))
    assert len(looks) < 10
    assert [one.first_offset for one in batches] == list(range(1, 20_001))
    assert {one.state for one in batches[::2]} == {S.ACKNOWLEDGED}
    assert {one.state for one in batches[1::2]} == {S.AVAILABLE}


def test_what_is_said_of_some_of_a_run_leaves_the_rest() -> None:
    share = new()
    acquire(share, spans=((0, 9), (10, 19)))
    given = [
        Acknowledgement(2, 4, (ACCEPT, RELEASE, RELEASE)),
        Acknowledgement(8, 11, (REJECT,)),
        Acknowledgement(15, 15, (RENEW,)),
    ]
    change = share.acknowledge("a", given, Instant(500))
    assert change is not None
    assert [(one.first_offset, one.last_offset, one.state) for one in share.batches(change)] == [
        (2, 2, S.ACKNOWLEDGED),
        (3, 4, S.AVAILABLE),
        (8, 11, S.ARCHIVED),
    ]
    share.changed(change)
    assert [one.locked_until for one in share.window if one.first == 15] == [1_500]
    assert share.fetch_offset == 3


def test_a_state_that_no_leader_writes_is_available() -> None:
    """Or it would be held by nobody, for ever."""
    batch = StateBatch(0, 9, RecordState.ACQUIRED, 2)
    share = SharePartition(0, (batch,), limits=ShareLimits())
    assert acquire(share) == [(0, 9, 3)]


def test_counts_stay_within_their_fields() -> None:
    far = 2**40
    batches = (
        StateBatch(0, 0, RecordState.AVAILABLE, 2**15 - 1),
        StateBatch(1, far, RecordState.ACKNOWLEDGED, 1),
    )
    share = SharePartition(0, batches, limits=ShareLimits(delivery_count_limit=10))
    assert share.delivery_complete_count == 2**31 - 1
    assert acquire(share, spans=((0, 0),)) == [(0, 0, 2**15 - 1)]


def test_gaps_behind_a_record_that_takes_long_do_not_keep_batches_apart() -> None:
    """As markers are, between transactions of one record: each would be a batch for ever."""
    share = SharePartition(0, limits=ShareLimits())
    acquire(share, "slow", spans=((0, 0),))
    written: tuple[StateBatch, ...] = ()
    for offset in range(1, 4 * FAR, 2):
        acquire(share, spans=((offset, offset),), until=offset + 2)
        written = combined(written, acknowledge(share, offset, offset, ACCEPT), 0)
    assert len(share.window) == 2
    assert len(written) <= MANY + FAR // 2
    again = SharePartition(0, written, limits=ShareLimits())
    assert acquire(again, spans=((0, 4 * FAR),))[0] == (0, 0, 1)
    assert again.delivery_complete_count > 3 * FAR


def test_batches_that_no_leader_writes_are_put_in_order() -> None:
    """Apache Kafka's coordinator keeps those that end before they begin."""
    batches = (StateBatch(5, 2, S.AVAILABLE, 1), StateBatch(0, 3, S.ACKNOWLEDGED, 1))
    assert SharePartition(0, batches, limits=ShareLimits()).start_offset == 4
