"""What counts as committed, and who is in sync, as a leader knows it."""

import pytest

from kafkapy.broker.replication.followers import Followers
from kafkapy.core.errors import Refused
from kafkapy.core.time import Instant

LAG_MS = 1000
START = Instant(1_000_000)


class Kit:
    def __init__(self, isr: tuple[int, ...] = (1, 2, 3)) -> None:
        self.dead: set[int] = set()
        self.now = START
        self.end = 10
        self.followers = Followers(
            1,
            (1, 2, 3),
            isr,
            now=START,
            max_lag_ms=LAG_MS,
            is_eligible=lambda broker, epoch: broker not in self.dead,
        )

    def fetched(self, replica: int, offset: int, epoch: int = 5) -> None:
        self.followers.fetched(replica, offset, 0, self.end, epoch, self.now)

    def committed(self) -> int:
        return self.followers.committed_end(self.end, self.now)

    def later(self, by_ms: int) -> None:
        self.now = Instant(self.now + by_ms)


def test_nothing_is_committed_before_all_in_sync_have_said_how_far_they_are() -> None:
    kit = Kit()
    kit.fetched(2, 10)
    assert kit.committed() == -1
    kit.fetched(3, 7)
    assert kit.committed() == 7


def test_who_is_not_in_sync_holds_nothing_back() -> None:
    kit = Kit(isr=(1, 2))
    kit.fetched(2, 10)
    kit.fetched(3, 1)
    assert kit.committed() == 10


def test_who_is_about_to_join_does() -> None:
    """Else the watermark would run away from it for ever."""
    kit = Kit(isr=(1, 2))
    kit.fetched(2, 10)
    kit.fetched(3, 10)
    kit.end = 12
    kit.fetched(2, 12)
    assert kit.committed() == 10
    kit.dead.add(3)
    assert kit.committed() == 12


def test_a_proposal_counts_both_ways_until_it_is_settled() -> None:
    kit = Kit(isr=(1, 2))
    kit.fetched(2, 10)
    kit.fetched(3, 8)
    kit.dead.add(3)  # so that it is not merely about to join
    assert kit.committed() == 10
    kit.followers.propose((1, 2, 3))
    assert kit.committed() == 8
    kit.followers.refused()
    assert kit.committed() == 10
    kit.followers.propose((1,))
    kit.end = 12
    assert kit.committed() == 10  # who is to leave still counts
    kit.dead.add(2)
    kit.followers.settled((1, 2, 3), (1,))
    assert kit.committed() == 12


def test_a_fetch_of_an_earlier_life_or_of_a_stranger_is_refused() -> None:
    kit = Kit()
    kit.fetched(2, 5, epoch=9)
    with pytest.raises(Refused):
        kit.fetched(2, 10, epoch=8)
    with pytest.raises(Refused):
        kit.fetched(4, 10)


def test_who_falls_behind_for_longer_than_a_lag_lags() -> None:
    kit = Kit()
    kit.later(LAG_MS)
    assert kit.followers.lagging(kit.end, kit.now) == []
    kit.later(1)
    assert kit.followers.lagging(kit.end, kit.now) == [2, 3]
    kit.fetched(2, 10)
    assert kit.followers.lagging(kit.end, kit.now) == [3]


def test_who_keeps_pace_with_a_busy_leader_is_caught_up_though_never_at_its_end() -> None:
    kit = Kit()
    for _ in range(10):
        kit.later(LAG_MS // 2)
        before = kit.end
        kit.end += 100
        kit.fetched(2, before)
    assert 2 not in kit.followers.lagging(kit.end, kit.now)
    for _ in range(10):
        kit.later(LAG_MS // 2)
        kit.end += 100
        kit.fetched(2, before)
    assert 2 in kit.followers.lagging(kit.end, kit.now)


def test_who_joins_has_all_that_is_committed_and_the_beginning_of_the_epoch() -> None:
    kit = Kit(isr=(1, 2))
    kit.fetched(3, 6)
    assert not kit.followers.joining(3, high_watermark=7, epoch_start=0)
    assert not kit.followers.joining(3, high_watermark=5, epoch_start=8)
    assert kit.followers.joining(3, high_watermark=6, epoch_start=6)
    assert not kit.followers.joining(2, high_watermark=-1, epoch_start=-1)  # it is one
    kit.dead.add(3)
    assert not kit.followers.joining(3, high_watermark=6, epoch_start=6)


def test_what_is_known_of_a_replica_stays_when_the_metadata_changes() -> None:
    kit = Kit()
    kit.fetched(2, 10)
    kit.followers.settled((1, 2, 4), (1, 2))
    assert set(kit.followers.progress) == {2, 4}
    assert kit.followers.progress[2].log_end_offset == 10
    assert kit.committed() == 10


def test_who_left_those_in_sync_joins_again_once_it_was_heard() -> None:
    """It has all there is, as far as this leader knows: so it did when its broker died."""
    kit = Kit()
    for replica in (2, 3):
        kit.fetched(replica, 10)
    assert kit.followers.settled((1, 2, 3), (1, 2)) == [3]
    assert not kit.followers.joining(3, 10, 0)
    kit.end = 12
    kit.fetched(2, 12)
    assert kit.committed() == 12, "it is not waited for either"
    kit.fetched(3, 12)
    assert kit.followers.joining(3, 12, 0)


def test_who_fetches_on_and_has_nothing_to_say_lives() -> None:
    kit = Kit()
    kit.fetched(3, 10)
    kit.followers.settled((1, 2, 3), (1, 2))
    kit.followers.lives(3, 4)
    assert not kit.followers.joining(3, 10, 0), "that was another life of it"
    kit.followers.lives(3, 5)
    assert kit.followers.joining(3, 10, 0)


def test_who_was_refused_is_heard_before_it_is_proposed_again() -> None:
    kit = Kit(isr=(1, 2))
    kit.fetched(3, 10)
    kit.followers.propose((1, 2, 3))
    assert kit.followers.refused() == [3]
    assert not kit.followers.joining(3, 10, 0)
    kit.fetched(3, 10)
    assert kit.followers.joining(3, 10, 0)
