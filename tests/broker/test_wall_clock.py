"""Somebody sets the wall clock of a serving node: what waits goes on, what is written follows.

A session that was renewed lives, one that was not ends in its time, whichever way the wall
went; timestamps are the wall's, and so is what is held against them.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from kafkapy.protocol.schemas.schema import milliseconds
from kafkapy.sim.world.world import World

HOUR_MS = 3_600_000
SESSION_MS = 45_000
JOIN = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "rebalance_timeout": 60_000,
    "subscribed_topic_names": ["orders"],
    "topic_partitions": [],
}

both_ways = pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS], ids=["back", "forth"])


@pytest.fixture
def world() -> Iterator[World]:
    made = World(1, {"offsets.topic.num.partitions": "1"})
    made.start()
    create(made, "orders")
    find = {"key_type": 0, "coordinator_keys": ["g"]}
    while made.ask(ApiKey.FIND_COORDINATOR, find, version=4).coordinators[0].error_code:
        made.clock.advance(100)
    yield made
    made.kill()


def create(world: World, name: str, **configs: str) -> None:
    topic = {
        "name": name,
        "num_partitions": 1,
        "replication_factor": 1,
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }
    answer = world.ask(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 30_000}, version=5)
    assert answer.topics[0].error_code == 0


def heartbeat(world: World, epoch: int) -> Any:
    body = {**JOIN, "member_epoch": epoch}
    if epoch:
        body["subscribed_topic_names"] = body["topic_partitions"] = None
    return world.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, body, version=1)


def group_state(world: World) -> str:
    body = {"group_ids": ["g"], "include_authorized_operations": False}
    return str(world.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body).groups[0].group_state)


def produce(world: World, topic: str, timestamp: int) -> int:
    """The timestamp that the log gave the record, or -1: the producer's own."""
    batch = build_batch([NewRecord(value=b"v", timestamp=timestamp)])
    partition = {"index": 0, "records": batch}
    body = {
        "transactional_id": None,
        "acks": -1,
        "timeout": 30_000,
        "topic_data": [{"name": topic, "partition_data": [partition]}],
    }
    answer = world.ask(ApiKey.PRODUCE, body, version=9).responses[0].partition_responses[0]
    assert answer.error_code == 0
    return milliseconds(answer.log_append_time)


@both_ways
def test_a_session_that_is_renewed_lives_and_one_that_is_not_ends_in_its_time(
    world: World, by_ms: int
) -> None:
    epoch = heartbeat(world, 0).member_epoch
    world.clock.advance(SESSION_MS // 2)
    world.clock.step_wall(by_ms)
    world.clock.advance(SESSION_MS // 2 - 1_000)
    assert group_state(world) == "Stable"
    assert heartbeat(world, epoch).error_code == 0
    world.clock.advance(SESSION_MS - 1_000)
    assert group_state(world) == "Stable"
    world.clock.advance(2_000)
    assert group_state(world) == "Empty"


@both_ways
def test_a_broker_stays_registered_and_unfenced(world: World, by_ms: int) -> None:
    world.clock.advance(1_000)
    world.clock.step_wall(by_ms)
    world.clock.advance(60_000)
    (broker,) = world.ask(ApiKey.DESCRIBE_CLUSTER, {"include_fenced_brokers": True}).brokers
    assert not broker.is_fenced


@both_ways
def test_a_parked_fetch_is_answered_when_its_patience_ends(world: World, by_ms: int) -> None:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    body = {
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 1000,
        "session_epoch": -1,
        "topics": [{"topic": "orders", "partitions": [partition]}],
    }
    pending = world.send(ApiKey.FETCH, body, version=12)
    world.clock.advance(250)
    world.clock.step_wall(by_ms)
    world.clock.advance(240)
    assert not pending.is_answered
    world.clock.advance(20)
    assert pending.is_answered


@both_ways
def test_what_the_log_stamps_follows_the_wall(world: World, by_ms: int) -> None:
    create(world, "stamped", **{"message.timestamp.type": "LogAppendTime"})
    before = produce(world, "stamped", 1)
    world.clock.step_wall(by_ms)
    assert abs(produce(world, "stamped", 1) - before - by_ms) < 10_000
    produce(world, "orders", world.clock.wall())


@both_ways
def test_commits_say_the_wall(world: World, by_ms: int) -> None:
    world.clock.step_wall(by_ms)
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    body = {
        "group_id": "other",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "orders", "partitions": [partition]}],
    }
    answer = world.ask(ApiKey.OFFSET_COMMIT, body, version=9)
    assert answer.topics[0].partitions[0].error_code == 0
    log = world.broker.partitions.hosted("__consumer_offsets", None, 0).log
    found = log.read(log.log_end_offset - 1, 10_000, upper=log.log_end_offset)
    header = read_header(b"".join(part.read() for part in found.slices))
    for part in found.slices:
        part.release()
    assert abs(header.max_timestamp - world.clock.wall()) < 10_000


def test_retention_counts_by_the_wall(world: World) -> None:
    create(world, "short", **{"retention.ms": "1800000"})
    produce(world, "short", world.clock.wall())
    earliest = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [{"name": "short", "partitions": [{"partition_index": 0, "timestamp": -2}]}],
    }

    def first() -> int:
        answer = world.ask(ApiKey.LIST_OFFSETS, earliest, version=7)
        return int(answer.topics[0].partitions[0].offset)

    world.clock.step_wall(-HOUR_MS)
    world.clock.advance(600_000)
    assert first() == 0
    world.clock.step_wall(2 * HOUR_MS)
    world.clock.advance(600_000)
    assert first() == 1
