from uuid import UUID

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.quorum.voters import (
    ReplicaKey,
    Voter,
    VoterAddress,
    VoterSet,
    parse_voters,
    voters_from,
)
from kafkapy.kraft.records.control import KRaftVoters
from tests.kraft import fixtures

HERE, THERE = UUID(int=1 << 70), UUID(int=2 << 70)
ADDRESS = VoterAddress("CONTROLLER", "localhost", 9093)


def test_directories_are_compared_only_where_both_are_known() -> None:
    assert ReplicaKey(1, HERE).matches(ReplicaKey(1))
    assert ReplicaKey(1).matches(ReplicaKey(1, HERE))
    assert not ReplicaKey(1, HERE).matches(ReplicaKey(1, THERE))
    assert not ReplicaKey(1).matches(ReplicaKey(2))


def test_a_vote_for_a_directory_is_for_no_other() -> None:
    assert ReplicaKey(1).is_met_by(ReplicaKey(1, HERE))
    assert not ReplicaKey(1, HERE).is_met_by(ReplicaKey(1))
    assert not ReplicaKey(1, HERE).is_met_by(ReplicaKey(1, THERE))


def test_voters_survive_the_log() -> None:
    (recorded,) = [
        one for one in fixtures.control_of("first-start.log") if isinstance(one, KRaftVoters)
    ]
    voters = voters_from(recorded)
    assert voters.ids == [1]
    assert voters.to_record() == recorded
    voter = voters.get(1)
    assert voter is not None
    assert voter.address("CONTROLLER") == VoterAddress("CONTROLLER", "127.0.0.1", 19093)
    assert voter.address("OTHER") is None


def test_sets_change_by_making_others() -> None:
    one = VoterSet([Voter(ReplicaKey(1, HERE), (ADDRESS,))])
    two = one.with_voter(Voter(ReplicaKey(2, THERE), (ADDRESS,)))
    assert (one.ids, two.ids, two.without(1).ids) == ([1], [1, 2], [2])
    assert one.is_only(ReplicaKey(1, HERE))
    assert not one.is_only(ReplicaKey(1, THERE))
    assert not two.is_only(ReplicaKey(1, HERE))
    assert one == two.without(2) != two


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int) -> None:
    assert VoterSet(Voter(ReplicaKey(n), ()) for n in range(count)).majority == majority


def test_a_configuration_names_voters_without_directories() -> None:
    voters = parse_voters("1@a:9093, 2@[::1]:9094,", "CONTROLLER")
    assert voters.ids == [1, 2]
    second = voters.get(2)
    assert second is not None
    assert second.endpoints == (VoterAddress("CONTROLLER", "::1", 9094),)
    assert second.key.directory_id is None
    assert not parse_voters("", "CONTROLLER").ids


@pytest.mark.parametrize("text", ["1", "1@a", "1@a:x", "x@a:1", "1@:1", "1@a:70000", "1@a:1,1@b:1"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(Corrupt):
        parse_voters(text, "CONTROLLER")
