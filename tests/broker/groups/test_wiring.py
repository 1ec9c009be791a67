"""Groups of a whole node: what the metadata decides about them, and what the node knows."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.world.world import World

GROUP_RESOURCE = 32
JOIN = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "rebalance_timeout": 60_000,
    "subscribed_topic_names": ["orders"],
    "topic_partitions": [],
}


@pytest.fixture
def world() -> Iterator[World]:
    made = World(1, {"offsets.topic.num.partitions": "1"})
    made.start()
    topic = {"name": "orders", "num_partitions": 2, "replication_factor": 1}
    made.ask(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 30_000}, version=5)
    find = {"key_type": 0, "coordinator_keys": ["g"]}
    while made.ask(ApiKey.FIND_COORDINATOR, find, version=4).coordinators[0].error_code:
        made.clock.advance(100)
    yield made
    made.kill()


def alter(world: World, name: str, value: str) -> Any:
    config = {"name": name, "config_operation": 0, "value": value}
    resource = {"resource_type": GROUP_RESOURCE, "resource_name": "g", "configs": [config]}
    body = {"resources": [resource], "validate_only": False}
    return world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body, version=1).responses[0]


def join(world: World) -> Any:
    return world.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, JOIN, version=1)


def state(world: World) -> str:
    body = {"group_ids": ["g"], "include_authorized_operations": False}
    return str(world.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body).groups[0].group_state)


def test_a_groups_own_settings_count_at_once(world: World) -> None:
    assert join(world).heartbeat_interval.total_seconds() == 5
    assert alter(world, "consumer.heartbeat.interval.ms", "7000").error_code == 0
    assert alter(world, "consumer.session.timeout.ms", "50000").error_code == 0
    assert join(world).heartbeat_interval.total_seconds() == 7
    world.clock.advance(49_000)
    assert state(world) == "Stable"
    world.clock.advance(2_000)
    assert state(world) == "Empty"


def test_a_groups_settings_are_held_in_the_brokers_bounds(world: World) -> None:
    refused = alter(world, "consumer.session.timeout.ms", "1000")
    assert refused.error_code is ErrorCode.INVALID_CONFIG
    assert "group.consumer.min.session.timeout.ms" in refused.error_message
    assert alter(world, "consumer.bogus", "1").error_code is ErrorCode.INVALID_CONFIG


def test_without_the_feature_nobody_speaks_the_consumer_protocol(world: World) -> None:
    update = {"feature": "group.version", "max_version_level": 0, "upgrade_type": 3}
    body = {"timeout": 1_000, "feature_updates": [update], "validate_only": False}
    assert world.ask(ApiKey.UPDATE_FEATURES, body, version=1).error_code == 0
    assert join(world).error_code is ErrorCode.UNSUPPORTED_VERSION


def test_the_node_knows_how_far_each_group_is_behind(world: World) -> None:
    batch = build_batch([NewRecord(value=b"v", timestamp=world.clock.now())] * 5)
    partition = {"index": 1, "records": batch}
    data = [{"name": "orders", "partition_data": [partition]}]
    body = {"transactional_id": None, "acks": -1, "timeout": 1_000, "topic_data": data}
    world.ask(ApiKey.PRODUCE, body, version=9)
    joined = join(world)
    offset = {"partition_index": 1, "committed_offset": 2}
    commit = {
        "group_id": "g",
        "generation_id_or_member_epoch": joined.member_epoch,
        "member_id": "m",
        "topics": [{"name": "orders", "partitions": [offset]}],
    }
    world.ask(ApiKey.OFFSET_COMMIT, commit, version=9)
    found = {figure.partition.partition: figure for figure in world.broker.group_lag()}
    assert (found[1].committed_offset, found[1].end_offset, found[1].lag) == (2, 5, 3)
    assert (found[0].committed_offset, found[0].lag) == (None, None)
    assert {figure.member_id for figure in found.values()} == {"m"}


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_coordinator_whose_disk_fails_is_one_no_more(world: World, by_itself: bool) -> None:
    """It writes for a member, or for a timer of its own: neither is a bug of the node."""
    assert join(world).error_code == 0
    world.disk.fail("append", in_path=CONSUMER_OFFSETS)
    if by_itself:
        world.clock.advance(200_000)
    else:
        body = JOIN | {"member_id": "another"}
        refused = world.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, body, version=1)
        assert ErrorCode(refused.error_code) is ErrorCode.NOT_COORDINATOR
    again = join(world)
    assert (again.error_code, again.error_message) == (ErrorCode.NOT_COORDINATOR, None)
