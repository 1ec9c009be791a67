"""What tools see, and how groups are deleted."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.admin import DeleteGroup, DescribeConsumerGroup, DescribeGroup, ListGroups
from kafkapy.group.records import ConsumerGroupMetadataKey, OffsetCommitKey
from kafkapy.group.records.share import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from kafkapy.group.records.streams import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from kafkapy.group.streams.group import StreamsGroup
from tests.group.world import GROUP, ClassicClient, ConsumerClient, World, settle, stable_group

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    made = World()
    made.topics.create("orders", 4)
    return made


def share_group(world: World, group_id: str, *, with_member: bool) -> None:
    world.state.apply(
        (
            ShareGroupMetadataKey(group_id=group_id),
            ShareGroupMetadataValue(epoch=1, metadata_hash=0),
        )
    )
    if with_member:
        key = ShareGroupMemberMetadataKey(group_id=group_id, member_id="m")
        value = ShareGroupMemberMetadataValue(
            rack_id=None, client_id="c", client_host="h", subscribed_topic_names=("orders",)
        )
        world.state.apply((key, value))


def listed(world: World, **filters: Any) -> list[tuple[str, str, str, str]]:
    return sorted(tuple(one) for one in world.ask(ListGroups(**filters)).reply.groups)


def test_groups_are_listed_by_state_and_type(world: World) -> None:
    stable_group(world, 1, group_id="classic")
    ConsumerClient(world, group_id="consumer").beat()
    world.commit("orders", 0, 1, group="simple")
    share_group(world, "share", with_member=True)
    assert listed(world) == [
        ("classic", "consumer", "Stable", "classic"),
        ("consumer", "consumer", "Stable", "consumer"),
        ("share", "share", "Stable", "share"),
        ("simple", "", "Empty", "classic"),
    ]
    empty = listed(world, states=frozenset({"empty"}))
    assert [group[0] for group in empty] == ["simple"]
    both = frozenset({"stable"}), frozenset({"consumer"})
    assert [group[0] for group in listed(world, states=both[0], types=both[1])] == ["consumer"]


def test_a_stable_classic_group_is_described_with_what_was_agreed_on(world: World) -> None:
    (client,) = stable_group(world, 1)
    described = world.ask(DescribeGroup(GROUP)).reply
    assert (described.state, described.protocol_type, described.protocol) == (
        "Stable",
        "consumer",
        "range",
    )
    (member,) = described.members
    assert (member.member_id, member.client_host) == (client.member_id, "/127.0.0.1")
    assert member.metadata
    assert member.assignment == f"for {client.member_id}".encode()


def test_a_rebalancing_group_has_no_protocol_to_show(world: World) -> None:
    stable_group(world, 1)
    ClassicClient(world).start()
    described = world.ask(DescribeGroup(GROUP)).reply
    assert (described.state, described.protocol) == ("PreparingRebalance", "")
    assert {member.metadata for member in described.members} == {b""}


def test_a_consumer_group_is_described_with_targets_and_assignments(world: World) -> None:
    first, second = ConsumerClient(world), ConsumerClient(world, instance_id="b", rack="r1")
    settle(world, [first, second])
    described = world.ask(DescribeConsumerGroup(GROUP)).reply
    assert (described.state, described.epoch, described.assignment_epoch) == ("Stable", 3, 3)
    assert described.assignor == "uniform"
    found = {member.profile.member_id: member for member in described.members}
    for client in (first, second):
        (assigned,) = found[client.member_id].assignment
        assert assigned.topic == "orders"
        assert set(assigned.partitions) == client.partitions()
        assert found[client.member_id].target == found[client.member_id].assignment
    assert found[second.member_id].profile.rack_id == "r1"


def test_each_kind_is_described_by_its_own_request(world: World) -> None:
    not_found = ErrorCode.GROUP_ID_NOT_FOUND
    stable_group(world, 1, group_id="classic")
    ConsumerClient(world, group_id="consumer").beat()
    assert world.ask(DescribeGroup("consumer")).error is not_found
    assert world.ask(DescribeConsumerGroup("classic")).error is not_found
    assert world.ask(DescribeGroup("nobody")).error is not_found


def test_an_active_group_is_not_deleted(world: World) -> None:
    stable_group(world, 1, group_id="classic")
    ConsumerClient(world, group_id="consumer").beat()
    share_group(world, "share", with_member=True)
    for group_id in ("classic", "consumer", "share"):
        assert world.ask(DeleteGroup(group_id)).error is ErrorCode.NON_EMPTY_GROUP
    assert world.ask(DeleteGroup("nobody")).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_deleting_leaves_nothing_in_the_log_that_comes_back(world: World) -> None:
    (client,) = stable_group(world, 1, group_id="classic")
    client.commit("orders", 0, 1)
    client.leave()
    consumer = ConsumerClient(world, group_id="consumer", topics=None, regex="ord.*")
    consumer.beat()
    consumer.commit("orders", 0, 1)
    consumer.leave()
    world.commit("orders", 0, 1, group="simple")
    for group_id in ("classic", "consumer", "simple"):
        assert world.ask(DeleteGroup(group_id)).error is NONE
    assert world.state.groups == {}
    assert world.state.offsets.count() == 0
    assert world.replayed().groups == {}


def test_the_tombstones_of_a_consumer_group_end_with_its_epoch(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    client.commit("orders", 0, 1)
    client.leave()
    seen: list[Any] = []
    apply = world.machine.apply

    def overheard(record: Any) -> None:
        seen.append(record)
        apply(record)

    world.machine.apply = overheard  # type: ignore[method-assign]  # what is applied is noted
    world.ask(DeleteGroup(GROUP))
    keys = [record[0] for record in seen]
    assert isinstance(keys[0], OffsetCommitKey)
    assert isinstance(keys[-1], ConsumerGroupMetadataKey)


def test_groups_of_other_kinds_are_kept_and_not_mistaken(world: World) -> None:
    share_group(world, "share", with_member=False)
    world.state.apply(
        (
            StreamsGroupMetadataKey(group_id="streams"),
            StreamsGroupMetadataValue(epoch=1, metadata_hash=0),
        )
    )
    member = StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="h",
        topology_epoch=0,
        process_id="p",
        user_endpoint=None,
        client_tags=(),
    )
    world.state.apply((StreamsGroupMemberMetadataKey(group_id="streams", member_id="m"), member))
    assert isinstance(world.group("streams"), StreamsGroup)
    for group_id in ("share", "streams"):
        consumer = ConsumerClient(world, group_id=group_id)
        assert consumer.beat().error is ErrorCode.GROUP_ID_NOT_FOUND
        classic = ClassicClient(world, group_id=group_id)
        assert classic.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert classic.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.ask(DeleteGroup("share")).error is NONE
    assert "share" not in world.state.groups


def test_a_described_member_of_a_deleted_topic_shows_no_partitions_of_it(world: World) -> None:
    client = ConsumerClient(world)
    client.beat()
    world.topics.delete("orders")
    described = world.ask(DescribeConsumerGroup(GROUP)).reply
    assert described.members[0].assignment == ()
    assert isinstance(next(iter(world.group().owners))[0], UUID)
