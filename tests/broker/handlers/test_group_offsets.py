"""OffsetCommit, OffsetFetch and OffsetDelete in all versions."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.handlers import offset_commit, offset_delete, offset_fetch
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.group_node import GroupNode
from tests.broker.handlers.test_group_membership import member

COMMIT, FETCH, DELETE = 8, 9, 47
E = ErrorCode
NOBODYS = UUID(int=0xDEAD)


@pytest.fixture
def node() -> GroupNode:
    return GroupNode()


def named(node: GroupNode, version: int, name: str) -> dict[str, Any]:
    if version < 10:
        return {"name": name}
    return {"topic_id": node.topic_id(name) if name != "nope" else NOBODYS}


def commit(node: GroupNode, version: int, offset: int = 7, **more: Any) -> list[int]:
    """Commit for orders-0, orders-1 and a topic nobody has; the errors in that order."""

    def one(index: int) -> dict[str, Any]:
        row = {"partition_index": index, "committed_offset": offset, "committed_metadata": "note"}
        return row | ({"committed_leader_epoch": 3} if version >= 6 else {})

    body: dict[str, Any] = {
        "group_id": "g",
        "topics": [
            {**named(node, version, "orders"), "partitions": [one(0), one(1)]},
            {**named(node, version, "nope"), "partitions": [one(0)]},
        ],
    }
    body |= {"retention_time": -1} if version < 5 else {}
    answer = node.request(offset_commit, COMMIT, version, **{**body, **more})
    return [one.error_code for topic in answer.topics for one in topic.partitions]


def fetch(node: GroupNode, version: int, *names: str, group: str = "g", **more: Any) -> Any:
    """The answer's part for the one group that is asked about."""
    topics: Any = [
        {**named(node, version, name), "partition_indexes": [0, 2]} for name in names
    ] or None
    if version >= 8:
        groups = [{"group_id": group, "topics": topics, **more}]
        return node.request(offset_fetch, FETCH, version, groups=groups).groups[0]
    return node.request(offset_fetch, FETCH, version, group_id=group, topics=topics)


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_in_every_version(node: GroupNode, version: int) -> None:
    unknown = E.UNKNOWN_TOPIC_ID if version >= 10 else E.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(node, version) == [E.NONE, E.NONE, unknown]
    fetched = fetch(node, 9, "orders").topics[0].partitions[0]
    assert (fetched.committed_offset, fetched.metadata) == (7, "note")
    assert fetched.committed_leader_epoch == (3 if version >= 6 else -1)


@pytest.mark.parametrize("version", range(1, 11))
def test_fetches_in_every_version(node: GroupNode, version: int) -> None:
    commit(node, 9)
    (topic,) = fetch(node, version, "orders").topics
    first, second = topic.partitions
    assert (first.committed_offset, first.metadata, first.error_code) == (7, "note", E.NONE)
    assert (second.committed_offset, second.metadata, second.error_code) == (-1, "", E.NONE)
    if version >= 5:
        assert (first.committed_leader_epoch, second.committed_leader_epoch) == (3, -1)


@pytest.mark.parametrize("version", range(2, 11))
def test_all_topics_of_a_group(node: GroupNode, version: int) -> None:
    commit(node, 9)
    (topic,) = fetch(node, version).topics
    assert [one.partition_index for one in topic.partitions] == [0, 1]
    assert fetch(node, version, group="nobody").topics == ()


def test_a_topic_id_nobody_has(node: GroupNode) -> None:
    (topic,) = fetch(node, 10, "nope").topics
    assert topic.topic_id == NOBODYS
    assert {one.error_code for one in topic.partitions} == {E.UNKNOWN_TOPIC_ID}


def test_offsets_of_a_topic_that_is_gone_have_no_id_to_be_told_by(node: GroupNode) -> None:
    commit(node, 9)
    node.world.topics.delete("orders")
    assert fetch(node, 10).topics == ()
    assert [topic.name for topic in fetch(node, 9).topics] == ["orders"]


def test_many_groups_in_one_request(node: GroupNode) -> None:
    commit(node, 9)
    groups = [{"group_id": name, "topics": None} for name in ("g", "nobody")]
    answer = node.request(offset_fetch, FETCH, 8, groups=groups)
    assert [(one.group_id, len(one.topics)) for one in answer.groups] == [("g", 1), ("nobody", 0)]
    assert node.request(offset_fetch, FETCH, 8, groups=[]).groups == ()


@pytest.mark.parametrize("version", [1, 2, 7, 8, 10])
def test_where_the_groups_error_stands(version: int) -> None:
    node = GroupNode(leads=False)
    answer = fetch(node, version, "orders")
    if version == 1:
        codes = {one.error_code for topic in answer.topics for one in topic.partitions}
        assert codes == {E.NOT_COORDINATOR}
    else:
        assert (answer.error_code, answer.topics) == (E.NOT_COORDINATOR, ())


def test_a_group_may_have_an_empty_name_for_offsets(node: GroupNode) -> None:
    assert commit(node, 9, group_id="")[0] == E.NONE
    assert fetch(node, 9, "orders", group="").topics[0].partitions[0].committed_offset == 7


def test_a_members_generation_travels(node: GroupNode) -> None:
    me = member(node)
    mine: dict[str, Any] = {"member_id": me.member_id, "generation_id_or_member_epoch": 1}
    assert commit(node, 9, **mine)[0] == E.NONE
    mine["generation_id_or_member_epoch"] = 2
    assert commit(node, 9, **mine)[:2] == [E.ILLEGAL_GENERATION] * 2


def test_a_missing_group_has_its_own_error_since_version_9(node: GroupNode) -> None:
    stale: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 2}
    assert commit(node, 8, **stale)[0] == E.ILLEGAL_GENERATION
    assert commit(node, 9, **stale)[0] == E.GROUP_ID_NOT_FOUND


def test_a_retention_time_of_old_clients_is_kept(node: GroupNode) -> None:
    commit(node, 4, retention_time=60_000)
    machine: Any = node.groups.shard_of("g").machine
    (one, _) = machine.state.offsets.of_group("g").values()
    assert one.expire_timestamp == node.clock.now() + 60_000


def test_a_partition_that_is_not_there_is_answered_for_itself(node: GroupNode) -> None:
    rows = [
        {"partition_index": index, "committed_offset": 1, "committed_metadata": None}
        for index in (99, 1)
    ]
    topics = [{"name": "orders", "partitions": rows}]
    answer = node.request(offset_commit, COMMIT, 9, group_id="g", topics=topics)
    errors = [one.error_code for one in answer.topics[0].partitions]
    assert errors == [E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]


def test_only_unknown_topics_ask_nobody(node: GroupNode) -> None:
    row = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    topics = [{"name": "nope", "partitions": [row]}]
    answer = node.request(offset_commit, COMMIT, 9, group_id="g", topics=topics)
    assert answer.topics[0].partitions[0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION


def test_offsets_are_deleted(node: GroupNode) -> None:
    commit(node, 9)
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("orders", "nope")]
    answer = node.request(offset_delete, DELETE, 0, group_id="g", topics=topics)
    codes = [one.error_code for topic in answer.topics for one in topic.partitions]
    assert (answer.error_code, codes) == (E.NONE, [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION])
    assert fetch(node, 9, "orders").topics[0].partitions[0].committed_offset == -1
    missing = node.request(offset_delete, DELETE, 0, group_id="nobody", topics=topics)
    assert (missing.error_code, missing.topics) == (E.GROUP_ID_NOT_FOUND, ())
