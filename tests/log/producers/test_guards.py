"""Verification entries: guards by identity, the lowest sequence, what a marker leaves."""

from kafkapy.core.time import Instant
from kafkapy.log.producers.guards import VerificationGuard, Verifications

NOW = Instant(1000)


def test_a_guard_matches_only_its_own_entry() -> None:
    verifications = Verifications()
    guard = verifications.begin(1, 0, 5, False, NOW)
    assert verifications.matches(1, guard)
    assert not verifications.matches(2, guard)
    assert not verifications.matches(1, VerificationGuard())
    assert not verifications.matches(1, None)
    assert not verifications.matches(2, None)


def test_a_second_question_shares_the_guard_and_lowers_the_sequence() -> None:
    verifications = Verifications()
    guard = verifications.begin(1, 0, 5, False, NOW)
    for sequence, lowest in ((7, 5), (3, 3), (4, 3)):
        assert verifications.begin(1, 0, sequence, False, NOW) is guard
        entry = verifications.get(1)
        assert entry is not None
        assert entry.lowest_sequence == lowest


def test_a_newer_epoch_begins_its_own_sequences_and_an_older_says_nothing() -> None:
    verifications = Verifications()
    verifications.begin(1, 3, 5, False, NOW)
    verifications.begin(1, 4, 9, False, NOW)
    verifications.begin(1, 2, 0, False, NOW)
    entry = verifications.get(1)
    assert entry is not None
    assert (entry.producer_epoch, entry.lowest_sequence) == (4, 9)


def test_a_marker_voids_the_guard_unless_it_is_for_the_next_transaction() -> None:
    verifications = Verifications()
    for supports_epoch_bump, marker_epoch, stays in (
        (False, 0, False),
        (True, 1, False),
        (True, 0, True),
    ):
        guard = verifications.begin(1, 0, 0, supports_epoch_bump, NOW)
        verifications.marker_written(1, marker_epoch)
        assert verifications.matches(1, guard) is stays
    verifications.marker_written(9, 0)


def test_entries_expire() -> None:
    verifications = Verifications()
    verifications.begin(1, 0, 0, False, NOW)
    verifications.begin(2, 0, 0, False, Instant(NOW + 1))
    verifications.expire(Instant(NOW + 50), 50)
    assert len(verifications) == 1
    verifications.remove(2)
    verifications.remove(2)
    assert len(verifications) == 0
