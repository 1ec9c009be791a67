from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.quorum.state_file import (
    ElectionState,
    parse_quorum_state,
    read_quorum_state,
    render_quorum_state,
)
from kafkapy.kraft.quorum.voters import ReplicaKey
from kafkapy.sim.world.disk import SimDisk
from tests.kraft import fixtures

DIR = UUID(int=1 << 90)


def test_kafkas_file_is_read_and_written_the_same_again() -> None:
    theirs = fixtures.read("every-record/quorum-state")
    state = parse_quorum_state(theirs)
    assert state == ElectionState(1, 1, None)
    assert render_quorum_state(state, kraft_version=1, voter_ids=[1]) == theirs


def test_a_static_quorum_writes_version_0_with_its_voters() -> None:
    text = render_quorum_state(ElectionState(5, 1), kraft_version=0, voter_ids=[1, 2])
    assert text == (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":5,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert parse_quorum_state(text) == ElectionState(5, 1)


@given(
    st.builds(
        ElectionState,
        st.integers(0, 2**31 - 1),
        st.none() | st.integers(0, 100),
        st.none() | st.builds(ReplicaKey, st.integers(0, 100), st.none() | st.just(DIR)),
    )
)
def test_what_is_written_is_read(state: ElectionState) -> None:
    text = render_quorum_state(state, kraft_version=1, voter_ids=[])
    assert parse_quorum_state(text) == state


def test_without_a_file_nothing_has_happened() -> None:
    assert read_quorum_state(SimDisk(), "/quorum-state") == ElectionState(0, None, None)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"data_version":2,"leaderEpoch":1}',
        b'{"data_version":0,"leaderEpoch":"1"}',
        b'{"data_version":1,"leaderEpoch":1}',
        b'{"data_version":1,"leaderEpoch":1,"votedId":1,"votedDirectoryId":"x"}',
        b'{"data_version":1,"leaderEpoch":1,"votedId":1,"votedDirectoryId":5}',
    ],
)
def test_what_cannot_be_understood_is_corrupt(text: bytes) -> None:
    with pytest.raises(Corrupt):
        parse_quorum_state(text)
