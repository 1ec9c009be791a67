import pytest

from kafkapy.kraft.quorum.votes import Votes
from tests.kraft.quorum.machine import voters


def test_the_only_voter_has_won_at_once() -> None:
    assert Votes(voters(1), 1).is_won


def test_a_majority_wins() -> None:
    votes = Votes(voters(1, 2, 3, 4, 5), 1)
    votes.grant(2)
    assert not votes.is_won
    votes.grant(3)
    assert votes.is_won
    assert votes.asked == [4, 5]


def test_an_election_is_lost_once_a_majority_cannot_come() -> None:
    votes = Votes(voters(1, 2, 3), 1)
    votes.refuse(2)
    assert not votes.is_lost
    votes.refuse(3)
    assert votes.is_lost


def test_a_granted_vote_is_not_taken_back_and_strangers_do_not_count() -> None:
    votes = Votes(voters(1, 2, 3), 1)
    votes.grant(9)
    votes.refuse(9)
    votes.grant(2)
    votes.refuse(2)
    assert votes.is_won
    assert not votes.refused


def test_a_refusal_may_become_a_grant() -> None:
    votes = Votes(voters(1, 2, 3), 1)
    votes.refuse(2)
    votes.grant(2)
    assert votes.is_won


def test_who_does_not_vote_has_no_votes() -> None:
    with pytest.raises(AssertionError):
        Votes(voters(2, 3), 1)
