"""What a node says of the controllers that it cannot reach, and what it concludes."""

from typing import Any, cast

import pytest

from kafkapy.broker.node.identity import CannotStart
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.broker.raft.watch import FIRST_AFTER_MS, QuorumWatch
from kafkapy.core.addresses import Address
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterSet
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings
from kafkapy.testing.node.shell import Heard
from tests.coordinator.fakes import FakeClock

REFUSED = CallFailed(Why.REFUSED, "nobody listens")
STRANGER = Refused(ErrorCode.INCONSISTENT_CLUSTER_ID)


def address_of(node_id: int) -> Address:
    return Address("127.0.0.1", 9000 + node_id)


class FakeQuorum:
    def __init__(self, own_id: int, voter_ids: range) -> None:
        self.leader_id: int | None = None
        self.voters = VoterSet(Voter(ReplicaKey(one), ()) for one in voter_ids)
        self.settings = MetadataQuorumSettings(cluster_id="ours", local=ReplicaKey(own_id))
        self.led: list[Any] = []
        self.fetches: dict[int, int] = {}

    def last_fetch_by(self, node_id: int) -> int:
        return self.fetches.get(node_id, -1)

    def when_led(self, then: Any) -> None:
        self.led.append(then)

    def elect(self, node_id: int | None) -> None:
        self.leader_id = node_id
        for then in self.led if node_id is not None else ():
            then()


class Watched:
    def __init__(self, own_id: int = 1, voter_ids: range = range(1, 4)) -> None:
        self.clock = FakeClock()
        self.heard = Heard()
        self.quorum = FakeQuorum(own_id, voter_ids)
        self.given_up: list[CannotStart] = []
        quorum = cast(MetadataQuorum, self.quorum)
        self.watch = QuorumWatch(quorum, self.clock, self.heard, address_of, self.given_up.append)
        self.watch.start()

    def note(self, node_id: int, failure: Exception | None) -> None:
        self.watch.note(address_of(node_id), failure)

    @property
    def told(self) -> list[str]:
        return [
            " ".join([event, *map(str, facts.values())]) for _, event, facts in self.heard.events
        ]


def test_who_waits_for_a_majority_says_for_whom_and_why_and_not_often() -> None:
    watched = Watched()
    watched.note(2, REFUSED)
    watched.note(3, CallFailed(Why.TIMED_OUT, "no answer"))
    watched.clock.advance(FIRST_AFTER_MS)
    assert watched.told == [
        "waiting for a majority of the quorum 2@127.0.0.1:9002 refused, 3@127.0.0.1:9003 timed out"
    ]
    watched.clock.advance(600_000)
    assert 9 < len(watched.told) < 15


def test_a_led_quorum_is_not_spoken_of() -> None:
    watched = Watched()
    watched.quorum.elect(2)
    watched.clock.advance(600_000)
    assert watched.told == []
    watched.quorum.elect(None)
    watched.clock.advance(FIRST_AFTER_MS)
    assert len(watched.told) == 1


def test_a_broker_waits_for_a_controller() -> None:
    watched = Watched(own_id=7)
    watched.clock.advance(FIRST_AFTER_MS)
    assert watched.told[0].startswith("waiting for a controller 1@127.0.0.1:9001 ")


def test_a_quorum_of_one_waits_for_nobody() -> None:
    watched = Watched(voter_ids=range(1, 2))
    watched.clock.advance(600_000)
    assert watched.told == []
    assert not watched.watch.majority_is_gone


def test_a_node_of_another_cluster_than_the_majority_ends() -> None:
    watched = Watched()
    watched.note(2, STRANGER)
    assert watched.given_up == []
    watched.note(3, STRANGER)
    assert "cluster ours" in str(watched.given_up[0])
    assert "2@127.0.0.1:9002 INCONSISTENT_CLUSTER_ID" in str(watched.given_up[0])


@pytest.mark.parametrize("has_leader", [True, False])
def test_one_stranger_does_not_end_the_others(has_leader: bool) -> None:
    """Nor do many, once there has been a leader."""
    watched = Watched()
    if has_leader:
        watched.quorum.elect(2)
        watched.note(2, STRANGER)
    watched.note(3, STRANGER)
    assert watched.given_up == []


def test_a_majority_is_gone_once_so_many_processes_are() -> None:
    watched = Watched()
    watched.note(2, REFUSED)
    watched.note(3, CallFailed(Why.BROKEN, "reset"))
    assert not watched.watch.majority_is_gone
    watched.note(3, REFUSED)
    assert watched.watch.majority_is_gone
    watched.note(2, None)
    assert not watched.watch.majority_is_gone


def test_who_was_gone_before_the_last_election_may_be_back() -> None:
    watched = Watched()
    watched.note(2, REFUSED)
    watched.quorum.elect(3)
    watched.note(3, REFUSED)
    assert not watched.watch.majority_is_gone


def test_who_fetches_from_this_leader_again_is_not_gone() -> None:
    """Restarted one after the other they all refused once, when they were told of the epoch; and
    nobody calls who fetches."""
    watched = Watched()
    watched.quorum.elect(1)
    for node_id in (2, 3):
        watched.note(node_id, REFUSED)
        watched.clock.advance(100)
        watched.quorum.fetches[node_id] = watched.clock.now()
    assert not watched.watch.majority_is_gone
    watched.clock.advance(100)
    watched.note(2, REFUSED)
    assert not watched.watch.majority_is_gone
    watched.note(3, REFUSED)
    assert watched.watch.majority_is_gone
