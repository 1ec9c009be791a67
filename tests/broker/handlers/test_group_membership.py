"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and ConsumerGroupHeartbeat in all versions."""

from typing import Any

import pytest

from kafkapy.broker.handlers import (
    consumer_group_heartbeat,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    sync_group,
)
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.group_node import GroupNode, Told
from tests.coordinator.fakes import MemoryLog
from tests.group.world import subscription

JOIN, HEARTBEAT, LEAVE, SYNC, CONSUMER = 11, 12, 13, 14, 68
E = ErrorCode
NAMES = {"protocol_type": "consumer", "protocol_name": "range"}


@pytest.fixture
def node() -> GroupNode:
    return GroupNode()


def join(node: GroupNode, version: int, member_id: str = "", **more: Any) -> Told:
    body: dict[str, Any] = {
        "group_id": "g",
        "session_timeout": 10_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription("orders")}],
    }
    if version >= 1:
        body["rebalance_timeout"] = 30_000
    return node.send(join_group, JOIN, version, **{**body, **more})


def member(node: GroupNode, version: int = 9) -> Any:
    """Somebody who joined alone and has its assignment."""
    told = join(node, version)
    if told.answer is not None:
        assert told.answer.error_code == E.MEMBER_ID_REQUIRED
        told = join(node, version, told.answer.member_id)
    node.clock.advance(0)
    answer = told.answer
    assert answer.error_code == E.NONE
    synced = node.request(
        sync_group,
        SYNC,
        min(version, 5),
        group_id="g",
        generation_id=answer.generation_id,
        member_id=answer.member_id,
        assignments=[{"member_id": answer.member_id, "assignment": b"yours"}],
        **(NAMES if version >= 5 else {}),
    )
    assert synced.assignment == b"yours"
    return answer


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_in_every_version(node: GroupNode, version: int) -> None:
    answer = member(node, version)
    assert answer.member_id.startswith("test-")
    assert (answer.generation_id, answer.leader) == (1, answer.member_id)
    assert answer.protocol_name == "range"
    assert [one.member_id for one in answer.members] == [answer.member_id]
    found = node.groups.shard_of("g").machine
    (standing,) = found.state.groups["g"].members.values()  # type: ignore[attr-defined]
    expected = 10_000 if version == 0 else 30_000
    assert standing.rebalance_timeout_ms == expected
    assert standing.client_host == "/127.0.0.1"


@pytest.mark.parametrize("version", range(4, 10))
def test_a_member_without_an_id_is_given_one(node: GroupNode, version: int) -> None:
    answer = join(node, version).answer
    assert answer.error_code == E.MEMBER_ID_REQUIRED
    assert answer.member_id == "test-00000000-0000-0000-0000-000000000001"
    assert answer.protocol_name == (None if version >= 7 else "")


def test_a_refused_join_names_the_member_that_asked(node: GroupNode) -> None:
    answer = join(node, 9, "stranger").answer
    assert (answer.error_code, answer.member_id) == (E.UNKNOWN_MEMBER_ID, "stranger")
    assert (answer.generation_id, answer.leader, answer.members) == (-1, "", ())


def test_a_static_member_is_named_after_its_instance(node: GroupNode) -> None:
    told = join(node, 9, group_instance_id="inst")
    node.clock.advance(0)
    assert told.answer.member_id.startswith("inst-")


@pytest.mark.parametrize("version", range(6))
def test_sync_is_refused_in_every_version(node: GroupNode, version: int) -> None:
    body = {"group_id": "g", "generation_id": 1, "member_id": "x", "assignments": []}
    names = NAMES if version >= 5 else {}
    answer = node.request(sync_group, SYNC, version, **body, **names)
    assert (answer.error_code, answer.assignment) == (E.UNKNOWN_MEMBER_ID, b"")
    if version >= 5:
        nameless = node.request(sync_group, SYNC, version, **body)
        assert nameless.error_code == E.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(5))
def test_heartbeats_in_every_version(node: GroupNode, version: int) -> None:
    me = member(node)

    def beat(generation: int) -> int:
        answer = node.request(
            heartbeat,
            HEARTBEAT,
            version,
            group_id="g",
            generation_id=generation,
            member_id=me.member_id,
        )
        code: int = answer.error_code
        return code

    assert beat(1) == E.NONE
    assert beat(2) == E.ILLEGAL_GENERATION


def test_a_heartbeat_while_the_group_loads_is_fine(node: GroupNode) -> None:
    """Who heard otherwise would rejoin a group that is there in a moment."""
    me = member(node)
    node.log.batches *= 200
    node.groups.lead(0, 1, node.log)
    beat = {"group_id": "g", "generation_id": 1, "member_id": me.member_id}
    assert node.request(heartbeat, HEARTBEAT, 4, **beat).error_code == E.NONE
    loading = join(node, 9).answer
    assert loading.error_code == E.COORDINATOR_LOAD_IN_PROGRESS


def test_a_heartbeat_without_a_group_is_refused_even_if_there_is_a_nameless_group(
    node: GroupNode,
) -> None:
    row = {"partition_index": 0, "committed_offset": 5, "committed_metadata": None}
    commit = {"group_id": "", "generation_id_or_member_epoch": -1, "member_id": ""}
    topics = [{"name": "orders", "partitions": [row]}]
    done = node.request(offset_commit, 8, 8, **commit, topics=topics)
    assert done.topics[0].partitions[0].error_code == E.NONE
    beat = {"group_id": "", "generation_id": 1, "member_id": "stranger"}
    assert node.request(heartbeat, HEARTBEAT, 4, **beat).error_code == E.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(6))
def test_leaving_in_every_version(node: GroupNode, version: int) -> None:
    me = member(node)
    if version < 3:
        answer = node.request(leave_group, LEAVE, version, group_id="g", member_id=me.member_id)
        assert answer.error_code == E.NONE
        again = node.request(leave_group, LEAVE, version, group_id="g", member_id=me.member_id)
        assert again.error_code == E.UNKNOWN_MEMBER_ID
        return
    members = [{"member_id": "x"}, {"member_id": me.member_id}]
    answer = node.request(leave_group, LEAVE, version, group_id="g", members=members)
    assert answer.error_code == E.NONE
    assert [one.error_code for one in answer.members] == [E.UNKNOWN_MEMBER_ID, E.NONE]


@pytest.mark.parametrize("version", range(6))
def test_leaving_a_group_that_is_not_there(node: GroupNode, version: int) -> None:
    who: dict[str, Any] = {"member_id": "x"}
    body = who if version < 3 else {"members": [who]}
    answer = node.request(leave_group, LEAVE, version, group_id="none", **body)
    if version < 3:
        assert answer.error_code == E.UNKNOWN_MEMBER_ID
    else:
        assert answer.error_code == E.NONE
        assert answer.members[0].error_code == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("partitions", [1, None])
def test_who_asks_the_wrong_node_is_told(partitions: int | None) -> None:
    """Also where the topic of the coordinators is not made yet."""
    error = E.NOT_COORDINATOR
    node = GroupNode(leads=False)
    node.groups.partition_count = partitions
    assert join(node, 9).answer.error_code == error
    beat = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    assert node.request(heartbeat, HEARTBEAT, 4, **beat).error_code == error
    answer = node.request(leave_group, LEAVE, 5, group_id="g", members=[{"member_id": "m"}])
    assert answer.error_code == error


def test_a_parked_member_is_told_when_the_node_stops_leading(node: GroupNode) -> None:
    member(node)
    waiting = join(node, 3)
    assert waiting.is_waiting
    node.groups.resign(0)
    assert waiting.answer.error_code == E.NOT_COORDINATOR


def consumer(node: GroupNode, version: int = 1, **more: Any) -> Any:
    body: dict[str, Any] = {
        "group_id": "c",
        "member_id": "me",
        "member_epoch": 0,
        "rebalance_timeout": 30_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    return node.request(consumer_group_heartbeat, CONSUMER, version, **{**body, **more})


@pytest.mark.parametrize("version", [0, 1])
def test_consumers_join_in_both_versions(node: GroupNode, version: int) -> None:
    answer = consumer(node, version)
    assert (answer.error_code, answer.member_epoch, answer.member_id) == (E.NONE, 2, "me")
    (topic,) = answer.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (node.topic_id("orders"), (0, 1, 2, 3))
    owned = [{"topic_id": topic.topic_id, "partitions": [0, 1, 2, 3]}]
    again = node.request(
        consumer_group_heartbeat,
        CONSUMER,
        version,
        group_id="c",
        member_id="me",
        member_epoch=2,
        rebalance_timeout=-1,
        topic_partitions=owned,
    )
    assert (again.error_code, again.assignment) == (E.NONE, None)
    left = consumer(node, version, member_epoch=-1)
    assert (left.error_code, left.member_epoch) == (E.NONE, -1)


def test_old_consumers_are_given_an_id_and_new_ones_bring_theirs(node: GroupNode) -> None:
    assert consumer(node, 0, member_id="").member_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    refused = consumer(node, 1, member_id="")
    assert refused.error_code == E.INVALID_REQUEST
    assert refused.error_message == "MemberId can't be empty."


def test_a_pattern_is_part_of_version_1(node: GroupNode) -> None:
    answer = consumer(node, subscribed_topic_names=None, subscribed_topic_regex="ret.*")
    (topic,) = answer.assignment.topic_partitions
    assert topic.topic_id == node.topic_id("returns")


def test_every_refusal_of_a_consumer_has_a_sentence(node: GroupNode) -> None:
    answer = consumer(node, member_epoch=5, topic_partitions=None)
    assert answer.error_code == E.GROUP_ID_NOT_FOUND
    assert answer.error_message
    assert (answer.member_id, answer.assignment) == (None, None)


def test_a_coordinator_that_lost_its_log_says_so() -> None:
    node = GroupNode()
    node.log = MemoryLog(commits_at_once=False)
    node.groups.lead(0, 1, node.log)
    told = node.send(
        consumer_group_heartbeat,
        CONSUMER,
        1,
        group_id="c",
        member_id="me",
        member_epoch=0,
        rebalance_timeout=1,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert told.is_waiting
    node.log.lose(E.NOT_LEADER_OR_FOLLOWER)
    assert told.answer.error_code == E.NOT_COORDINATOR
