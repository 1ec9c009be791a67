"""FindCoordinator, ListGroups, DescribeGroups, DeleteGroups, ConsumerGroupDescribe."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.broker.handlers import (
    consumer_group_describe,
    delete_groups,
    describe_groups,
    find_coordinator,
    list_groups,
    offset_commit,
    offset_delete,
)
from kafkapy.broker.metadata.authorized_operations import NOT_ASKED, bits, sensible_on
from kafkapy.broker.requests.request import Hangup
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.group import ClassicGroupStands, empty_group
from kafkapy.group.machine import GroupMachine
from kafkapy.kraft.acls import ResourceType
from tests.broker.handlers.group_node import GroupNode
from tests.broker.handlers.test_group_membership import consumer, member
from tests.broker.handlers.test_group_offsets import commit

FIND, DESCRIBE, LIST, DELETE, OFFSET_DELETE, CONSUMER_DESCRIBE = 10, 15, 16, 42, 47, 69
E = ErrorCode


_ON_GROUP = bits(sensible_on(ResourceType.GROUP))


@pytest.fixture
def node() -> GroupNode:
    made = GroupNode()
    member(made)
    consumer(made)
    return made


class FindingNode(GroupNode):
    """Whose image has the internal topics; partition 0 is led by `leader`."""

    leader = 1

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.leaders_in_doubt = SimpleNamespace(asked=[])
        self.leaders_in_doubt.when_sure = lambda *asked: self.leaders_in_doubt.asked.append(asked)

    @property
    def image(self) -> Any:
        topic = SimpleNamespace(partitions={0: SimpleNamespace(leader=self.leader)})
        return SimpleNamespace(
            topics_by_name={"__consumer_offsets": topic, "__transaction_state": topic}
        )


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("key_type", [0, 1])
def test_the_coordinator_is_the_leader_of_the_keys_partition(version: int, key_type: int) -> None:
    if version == 0 and key_type == 1:
        return
    node = FindingNode()
    kind = {} if version == 0 else {"key_type": key_type}
    if version < 4:
        found = node.request(find_coordinator, FIND, version, key="g", **kind)
        assert found.error_code == E.NONE
    else:
        answer = node.request(find_coordinator, FIND, version, coordinator_keys=["g", "h"], **kind)
        assert [one.key for one in answer.coordinators] == ["g", "h"]
        found = answer.coordinators[0]
        assert found.error_code == E.NONE
    assert (found.node_id, found.host, found.port) == (1, "broker", 9092)


@pytest.mark.parametrize(("version", "key_type"), [(0, 0), (3, 1), (6, 0), (6, 1)])
def test_a_coordinator_is_named_once_it_answers(version: int, key_type: int) -> None:
    """Between the image, which names the leader, and the shard, which loads, lies some time."""
    node = FindingNode(leads=False)
    asked: dict[str, Any] = {} if version == 0 else {"key_type": key_type}
    asked |= {"key": "g"} if version < 4 else {"coordinator_keys": ["g", "h"]}
    told = node.send(find_coordinator, FIND, version, **asked)
    assert told.is_waiting
    node.groups.lead(0, 0, node.log)
    node.clock.advance(0)
    assert not told.is_waiting
    found = told.answer if version < 4 else told.answer.coordinators[1]
    assert (found.error_code, found.node_id) == (E.NONE, 1)
    assert node.groups.is_active(0)
    node.clock.advance(find_coordinator.PATIENCE_MS)  # nothing is answered twice


def test_a_coordinator_that_loads_for_long_is_named_after_a_second() -> None:
    node = FindingNode(leads=False)
    told = node.send(find_coordinator, FIND, 4, key_type=0, coordinator_keys=["g"])
    node.clock.advance(find_coordinator.PATIENCE_MS - 1)
    assert told.is_waiting
    node.clock.advance(1)
    assert told.answer.coordinators[0].node_id == 1
    node.groups.lead(0, 0, node.log)
    node.clock.advance(0)


def test_another_nodes_coordinator_is_named_once_that_node_shows_life() -> None:
    """What is loaded here does not matter. It is looked up anew then."""
    node = FindingNode(leads=False)
    node.leader = 2
    node.brokers += [SimpleNamespace(node_id=n, host="other", port=9092) for n in (2, 3)]
    told = node.send(find_coordinator, FIND, 4, key_type=0, coordinator_keys=["g"])
    assert told.is_waiting
    (leaders, then) = node.leaders_in_doubt.asked.pop()
    assert leaders() == {2}
    node.leader = 3
    then()
    assert told.answer.coordinators[0].node_id == 3


def test_a_missing_internal_topic_is_created_on_the_way() -> None:
    node = GroupNode()
    for key_type, name in ((0, "__consumer_offsets"), (1, "__transaction_state")):
        answer = node.request(
            find_coordinator, FIND, 4, key_type=key_type, coordinator_keys=["g"]
        ).coordinators[0]
        assert (answer.error_code, answer.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)
        assert node.created[-1] == name


def test_a_coordinator_nobody_can_reach_is_not_available() -> None:
    node = FindingNode()
    node.leader = 7
    found = node.request(find_coordinator, FIND, 3, key="g", key_type=0)
    assert (found.error_code, found.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)
    assert found.error_message


@pytest.mark.parametrize(
    ("version", "key_type", "key"),
    [(6, 9, "g"), (6, 2, "g"), (6, 2, "g:id:x"), (6, 2, ":id:0"), (5, 2, "g:id:0")],
)
def test_other_kinds_of_keys_are_invalid(version: int, key_type: int, key: str) -> None:
    answer = FindingNode().request(
        find_coordinator, FIND, version, key_type=key_type, coordinator_keys=[key]
    )
    assert answer.coordinators[0].error_code == E.INVALID_REQUEST
    assert bool(answer.coordinators[0].error_message) == (key_type == 9)


def test_share_partitions_have_keys_of_their_own() -> None:
    node = GroupNode()
    answer = node.request(find_coordinator, FIND, 6, key_type=2, coordinator_keys=["g:id:0"])
    assert answer.coordinators[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert node.created == ["__share_group_state"]


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_in_every_version(node: GroupNode, version: int) -> None:
    answer = node.request(list_groups, LIST, version)
    assert answer.error_code == E.NONE
    found = {one.group_id: one for one in answer.groups}
    assert set(found) == {"g", "c"}
    if version >= 4:
        assert found["g"].group_state == "Stable"
    if version >= 5:
        assert (found["g"].group_type, found["c"].group_type) == ("classic", "consumer")


def test_groups_are_filtered_whatever_the_case(node: GroupNode) -> None:
    commit(node, 9, group_id="simple")
    by_state = node.request(list_groups, LIST, 5, states_filter=["EMPTY"])
    assert [one.group_id for one in by_state.groups] == ["simple"]
    by_type = node.request(list_groups, LIST, 5, types_filter=["Consumer"])
    assert [one.group_id for one in by_type.groups] == ["c"]


def test_many_groups_are_listed_in_slices_between_which_others_are_served(node: GroupNode) -> None:
    names = {f"group-{number}" for number in range(2_000)}
    for name in names:
        commit(node, 9, group_id=name)
    told = node.send(list_groups, LIST, 5)
    simple = node.send(list_groups, LIST, 5, states_filter=["empty"])
    assert told.is_waiting
    commit(node, 9, group_id="late")
    assert told.is_waiting
    node.clock.advance(1)
    found = [one.group_id for one in told.answer.groups]
    assert len(found) == len(set(found))
    assert set(found) - {"late"} == {*names, "g", "c"}
    assert names <= {one.group_id for one in simple.answer.groups} <= {*names, "late"}


def test_a_name_that_no_answer_can_hold_stops_nobody_else(node: GroupNode) -> None:
    machine = node.groups.shards[0].machine
    assert isinstance(machine, GroupMachine)
    for name in ("a", "b" * 40_000):
        machine.apply(ClassicGroupStands(empty_group(name, node.clock.now())))
    with pytest.raises(Hangup):
        node.request(list_groups, LIST, 2)
    assert len(node.request(list_groups, LIST, 5).groups) == 4


def test_a_shard_lost_during_a_listing_is_another_nodes_to_list(node: GroupNode) -> None:
    for number in range(2_000):
        commit(node, 9, group_id=f"group-{number}")
    told = node.send(list_groups, LIST, 5)
    node.groups.resign(0)
    node.clock.advance(1)
    assert told.answer.error_code == E.NONE
    assert 0 < len(told.answer.groups) < 2_000


def test_listing_waits_for_groups_that_load(node: GroupNode) -> None:
    node.log.batches *= 200
    node.groups.lead(0, 1, node.log)
    answer = node.request(list_groups, LIST, 5)
    assert (answer.error_code, answer.groups) == (E.COORDINATOR_LOAD_IN_PROGRESS, ())
    node.groups.resign(0)
    assert node.request(list_groups, LIST, 5).error_code == E.NONE


@pytest.mark.parametrize("version", range(7))
def test_classic_groups_are_described_in_every_version(node: GroupNode, version: int) -> None:
    more = {"include_authorized_operations": True} if version >= 3 else {}
    answer = node.request(describe_groups, DESCRIBE, version, groups=["g", "none"], **more)
    found, missing = answer.groups
    assert (found.group_state, found.protocol_type, found.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    assert found.members[0].member_assignment == b"yours"
    assert missing.group_state == "Dead"
    assert missing.error_code == (E.GROUP_ID_NOT_FOUND if version >= 6 else E.NONE)
    if version >= 3:
        assert found.authorized_operations == _ON_GROUP
        assert missing.authorized_operations == (NOT_ASKED if version >= 6 else _ON_GROUP)
        unasked = node.request(describe_groups, DESCRIBE, version, groups=["g"])
        assert unasked.groups[0].authorized_operations == NOT_ASKED


def test_describing_elsewhere_is_an_error() -> None:
    answer = GroupNode(leads=False).request(describe_groups, DESCRIBE, 6, groups=["g"])
    assert (answer.groups[0].error_code, answer.groups[0].group_state) == (E.NOT_COORDINATOR, "")
    assert GroupNode().request(describe_groups, DESCRIBE, 6, groups=[]).groups == ()


@pytest.mark.parametrize("version", [0, 1])
def test_consumer_groups_are_described_in_both_versions(node: GroupNode, version: int) -> None:
    answer = node.request(
        consumer_group_describe,
        CONSUMER_DESCRIBE,
        version,
        group_ids=["c", "", "g"],
        include_authorized_operations=True,
    )
    nameless, found, classic = answer.groups
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Stable", 2, 2)
    assert (found.assignor_name, found.authorized_operations) == ("uniform", _ON_GROUP)
    (one,) = found.members
    assert (one.member_id, one.member_epoch, one.subscribed_topic_names) == ("me", 2, ("orders",))
    assert one.assignment == one.target_assignment
    (topic,) = one.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("orders", (0, 1, 2, 3))
    if version >= 1:
        assert one.member_type == 1
    assert one.subscribed_topic_regex == ""
    assert nameless.error_code == E.INVALID_GROUP_ID
    assert classic.error_code == E.GROUP_ID_NOT_FOUND
    assert classic.error_message


@pytest.mark.parametrize("version", range(3))
def test_groups_are_deleted_in_every_version(node: GroupNode, version: int) -> None:
    commit(node, 9, group_id="simple")
    names = ["simple", "g", "none"]
    answer = node.request(delete_groups, DELETE, version, groups_names=names)
    assert [one.error_code for one in answer.results] == [
        E.NONE,
        E.NON_EMPTY_GROUP,
        E.GROUP_ID_NOT_FOUND,
    ]


def test_deleting_offsets_of_no_group_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        GroupNode().request(offset_delete, OFFSET_DELETE, 0, group_id="", topics=[])
    assert refused.value.code is E.INVALID_GROUP_ID


def test_a_group_of_thousands_of_offsets_is_deleted_by_one_request(node: GroupNode) -> None:
    node.world.topics.create("wide", 2_100)
    body = {
        "group_id": "wide",
        "topics": [
            {
                "name": "wide",
                "partitions": [
                    {"partition_index": number, "committed_offset": 1} for number in range(2_100)
                ],
            }
        ],
        "generation_id_or_member_epoch": -1,
        "member_id": "",
    }
    node.request(offset_commit, 8, 9, **body)
    answer = node.request(delete_groups, DELETE, 2, groups_names=["wide"])
    assert [row.error_code for row in answer.results] == [E.NONE]
    listed = node.request(list_groups, LIST, 5)
    assert "wide" not in [row.group_id for row in listed.groups]
