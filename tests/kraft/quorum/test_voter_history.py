from kafkapy.kraft.quorum.voter_history import BEFORE_THE_LOG, VoterHistory
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterSet
from kafkapy.kraft.records.control import KRaftVersion, SnapshotFooter


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(node_id), ()) for node_id in ids)


def history() -> VoterHistory:
    made = VoterHistory(voters(9))
    made.note(4, KRaftVersion(k_raft_version=1))
    made.note(5, voters(1).to_record())
    made.note(8, voters(1, 2).to_record())
    return made


def test_the_configuration_holds_until_the_log_knows_better() -> None:
    made = VoterHistory(voters(9))
    made.note(3, SnapshotFooter())
    assert (made.voters.ids, made.voters_offset, made.kraft_version) == ([9], BEFORE_THE_LOG, 0)


def test_the_last_set_in_the_log_counts_committed_or_not() -> None:
    made = history()
    assert (made.voters.ids, made.voters_offset, made.kraft_version) == ([1, 2], 8, 1)


def test_a_snapshot_gets_what_held_before_its_end() -> None:
    made = history()
    assert [made.at(end)[0] for end in (4, 5, 9)] == [0, 1, 1]
    assert [made.at(end)[1].ids for end in (5, 6, 8, 9)] == [[9], [1], [1], [1, 2]]


def test_truncation_brings_back_the_set_before() -> None:
    made = history()
    made.truncate_to(8)
    assert made.voters.ids == [1]
    made.truncate_to(4)
    assert (made.voters.ids, made.kraft_version) == ([9], 0)


def test_what_held_at_the_new_beginning_is_kept() -> None:
    made = history()
    made.forget_before(7)
    assert made.at(7)[1].ids == [1]
    assert made.voters.ids == [1, 2]
    made.forget_before(100)
    assert made.voters.ids == [1, 2]
    made.truncate_to(50)
    assert made.kraft_version == 1
