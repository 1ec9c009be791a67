"""Streams groups that Apache Kafka wrote: read, written back byte for byte, and served further."""

from pathlib import Path

import pytest

from kafkapy.coordinator.registry import Registry
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.records import KEY_CLASSES, Pair, written_version
from kafkapy.group.streams import stored
from kafkapy.group.streams.group import StreamsGroup, StreamsGroupState
from kafkapy.group.streams.member import MemberState, Target
from kafkapy.protocol.batches.batch import batches, records
from tests.group.streams.client import StreamsClient, active, settle
from tests.group.world import World

KAFKAS = Path(__file__).parent.parent.parent / "fixtures" / "groups" / "streams_groups.log"
FIRST, SECOND = "first", "second"


@pytest.fixture
def loaded() -> World:
    """`app-1` has the partitions that it had; so have the internal topics."""
    world = World(streams_initial_rebalance_delay_ms=0)
    for name, partitions in (("app-1", 4), ("counting-store-changelog", 4), ("counting-again", 2)):
        world.topics.create(name, partitions)
    world.log.batches = []
    data = KAFKAS.read_bytes()
    for position, header in batches(data):
        world.log.batches.append(data[position : position + header.size])
        world.log.end_offset = header.next_offset
    world.restart()
    return world


def decoded() -> list[Pair]:
    codec = Registry(KEY_CLASSES, written_version)
    data = KAFKAS.read_bytes()
    found = []
    for position, header in batches(data):
        for record in records(data[position : position + header.size]):
            assert record.key is not None
            pair = codec.decode(record.key, record.value)
            assert pair is not None
            assert codec.encode(pair) == (record.key, record.value)
            found.append(pair)
    return found


def test_every_record_is_written_back_as_it_was() -> None:
    assert {type(key).__record_type__ for key, _ in decoded()} == {1, 17, 19, 20, 21, 22, 23}


def test_every_value_is_written_as_apache_kafka_writes_it() -> None:
    """From the values that they mean, not from the record."""
    for key, value in decoded():
        if value is None:
            continue
        match type(key).__record_type__:
            case 19:
                profile = stored.profile_from(key.member_id, value)
                assert stored.profile_record(key.group_id, profile) == (key, value)
            case 21:
                target = stored.target_from(value)
                assert stored.target_record(key.group_id, key.member_id, target) == (key, value)
            case 22:
                holding = stored.holding_from(value)
                assert stored.holding_record(key.group_id, key.member_id, holding) == (key, value)


def test_the_groups_mean_what_they_meant(loaded: World) -> None:
    assert set(loaded.state.groups) == {"counting", "emptied"}
    counting = loaded.group("counting")
    assert isinstance(counting, StreamsGroup)
    assert counting.state() is StreamsGroupState.RECONCILING
    assert (counting.epoch, counting.assignment_epoch) == (4, 4)
    assert counting.profiles[FIRST].user_endpoint == ("here", 60_000)
    assert counting.profiles[FIRST].client_tags == (("zone", "a"),)
    first, second = counting.holding(FIRST), counting.holding(SECOND)
    assert first.state is MemberState.UNREVOKED_TASKS
    assert second.state is MemberState.UNRELEASED_TASKS
    assert second.assigned.standby == {"0": frozenset({0, 1})}
    emptied = loaded.group("emptied")
    assert isinstance(emptied, StreamsGroup)
    assert emptied.state() is StreamsGroupState.EMPTY
    assert emptied.topology is not None
    assert emptied.topology.epoch == 7
    committed = loaded.state.offsets.of_group("counting")
    assert {where: one.offset for where, one in committed.items()} == {
        TopicPartition("app-1", 0): 3
    }


def test_members_go_on_where_they_were(loaded: World) -> None:
    loaded.configure(groups={"counting": {"streams.num.standby.replicas": "1"}})
    assigned = loaded.group("counting").holding(FIRST).assigned
    kept = Target({one: frozenset(epochs) for one, epochs in assigned.active.items()})
    first = StreamsClient(loaded, FIRST, "of first", group_id="counting", epoch=3, told=kept)
    second = StreamsClient(loaded, SECOND, "of second", group_id="counting", epoch=4)
    assert first.beat().error is ErrorCode.NONE
    settle(loaded, [first, second])
    assert loaded.group("counting").state() is StreamsGroupState.STABLE
    assert len(active(first.told) | active(second.told)) == 8
    assert not active(first.told) & active(second.told)
