from kafkapy.kraft.quorum.epoch_start import first_records
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.quorum.voters import VoterSet
from kafkapy.kraft.records.control import KRaftVersion, LeaderChange
from tests.kraft import fixtures
from tests.kraft.quorum.machine import address, key, voters


def history(offset: int, kraft_version: int = 1) -> VoterHistory:
    made = VoterHistory(VoterSet())
    made.note(offset, KRaftVersion(k_raft_version=kraft_version))
    made.note(offset, voters(1, 2).to_record())
    return made


def kinds(of: VoterHistory, port_of: int = 1) -> list[str]:
    return [type(one).__name__ for one in first_records(key(1), address(port_of), (1, 2), of)]


def test_the_first_leader_of_all_writes_down_the_voters() -> None:
    assert kinds(history(-1)) == ["LeaderChange", "KRaftVersion", "KRaftVoters"]


def test_later_leaders_say_only_that_they_lead() -> None:
    assert kinds(history(5)) == ["LeaderChange"]


def test_a_leader_that_moved_says_where_it_is() -> None:
    made = first_records(key(1), address(9), (1,), history(5))
    expected = voters(1, 2).to_record().voters
    assert made[2] != voters(1, 2).to_record()
    assert made[2].voters[1] == expected[1]  # type: ignore[union-attr]  # KRaftVoters
    assert kinds(history(5), port_of=9) == ["LeaderChange", "KRaftVersion", "KRaftVoters"]


def test_who_does_not_say_where_it_is_changes_nothing() -> None:
    assert len(first_records(key(1), (), (1,), history(5))) == 1


def test_a_static_quorum_keeps_its_voters_in_the_configuration() -> None:
    made = VoterHistory(voters(1, 2))
    assert kinds(made) == ["LeaderChange"]


def test_the_leader_change_names_voters_and_who_granted() -> None:
    change = first_records(key(1), address(1), (2, 1), history(5))[0]
    assert isinstance(change, LeaderChange)
    assert [one.voter_id for one in change.voters] == [1, 2]
    assert [one.voter_id for one in change.granting_voters] == [2, 1]
    assert isinstance(fixtures.control_of("first-start.log")[0], LeaderChange)
