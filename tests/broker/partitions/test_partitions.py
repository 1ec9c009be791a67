"""Thousands of partitions that come or go together are followed some at a time."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.world.frames import Pending
from kafkapy.sim.world.world import World

MANY = 60


class Kit:
    def __init__(self) -> None:
        self.world = World(1)
        self.world.start()
        self.world.reactor.busy_percent = 0  # all slices of long work are in one millisecond

    @property
    def node(self) -> BrokerRole:
        return self.world.broker

    def create(self, name: str, partitions: int = MANY) -> Pending:
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1}
        return self.world.send(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})

    def delete(self, name: str) -> Pending:
        body = {"topics": [{"name": name, "topic_id": None}], "timeout": 10_000}
        return self.world.send(ApiKey.DELETE_TOPICS, body)

    def finish(self, pending: Pending) -> Any:
        assert self.world.clock.run_until(lambda: pending.is_answered, 10_000)
        return pending.answer

    def until_some_are_there(self) -> None:
        partitions = self.node.partitions
        assert self.world.clock.run_until(lambda: 0 < len(partitions) < MANY, 10_000)

    def directories(self, name: str) -> list[str]:
        """Of its partitions, those put aside not counted."""
        return [
            one
            for path in self.node.config.data_directories
            for one in self.node.disk.list(path)
            if one.startswith(f"{name}-") and not one.endswith("-delete")
        ]


@pytest.fixture
def kit() -> Iterator[Kit]:
    kit = Kit()
    yield kit
    kit.world.stop()


def _offset_code(kit: Kit, name: str, index: int) -> ErrorCode:
    body = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [{"name": name, "partitions": [{"partition_index": index, "timestamp": -1}]}],
    }
    answer = kit.world.ask(ApiKey.LIST_OFFSETS, body)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def test_a_topic_is_made_in_slices_and_answered_when_all_of_it_serves(kit: Kit) -> None:
    created = kit.create("many")
    kit.until_some_are_there()
    assert not created.is_answered
    kit.finish(created)
    assert len(kit.node.partitions) == MANY
    assert _offset_code(kit, "many", MANY - 1) is ErrorCode.NONE


def test_a_partition_that_is_still_to_come_is_to_be_asked_for_again(kit: Kit) -> None:
    created = kit.create("many")
    kit.until_some_are_there()
    assert kit.node.partitions.find("many", None, MANY - 1) is None
    body = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [
            {"name": "many", "partitions": [{"partition_index": MANY - 1, "timestamp": -1}]}
        ],
    }
    answer = kit.world.ask(ApiKey.LIST_OFFSETS, body)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    kit.finish(created)


def test_a_topic_deleted_while_it_is_made_leaves_nothing(kit: Kit) -> None:
    created = kit.create("many")
    kit.until_some_are_there()
    kit.finish(kit.delete("many"))
    assert kit.finish(created).topics[0].error_code == ErrorCode.NONE
    kit.world.clock.settle()
    assert len(kit.node.partitions) == 0
    assert kit.directories("many") == []


def test_a_topic_made_again_at_once_is_made_after_the_old_one_went(kit: Kit) -> None:
    kit.finish(kit.create("many"))
    deleted, created = kit.delete("many"), kit.create("many")
    kit.finish(deleted)
    assert kit.finish(created).topics[0].error_code == ErrorCode.NONE
    topic = kit.node.image.topics_by_name["many"]
    for index in range(MANY):
        partition = kit.node.partitions.get("many", index)
        assert partition is not None
        assert partition.topic_id == partition.log.topic_id == topic.id
    assert len(kit.directories("many")) == MANY


@pytest.mark.parametrize("nth", [1, MANY // 3])
def test_a_disk_that_fails_while_a_topic_is_put_aside_stops_nobody(kit: Kit, nth: int) -> None:
    """In the first slice, within the request, or in a later one."""
    kit.finish(kit.create("many"))
    failing = "/data/b"  # not that of the metadata
    kit.world.disk.fail("rename", in_path=f"{failing}/many-", nth=nth)
    kit.finish(kit.delete("many"))
    kit.world.clock.settle()
    assert kit.node.logs.is_directory_offline(failing)
    assert kit.finish(kit.create("next", 3)).topics[0].error_code == ErrorCode.NONE
    assert _offset_code(kit, "next", 2) is ErrorCode.NONE


def test_a_node_that_stops_meanwhile_makes_the_rest_at_its_next_start(kit: Kit) -> None:
    kit.create("many")
    kit.until_some_are_there()
    kit.world.stop()
    kit.world.start()
    assert len(kit.node.partitions) == MANY
    assert _offset_code(kit, "many", MANY - 1) is ErrorCode.NONE


@pytest.mark.parametrize("metadata", ["/data/m", "/data/meta"])
def test_what_a_directory_takes_with_it_has_no_leader_and_the_others_go_on(metadata: str) -> None:
    """Three directories, of which one is called as another begins. The middle one fails: its
    partitions, and no others, are without a leader in the cluster's metadata."""
    world = World(1, {"log.dirs": "/data/m,/data/a,/data/ab", "metadata.log.dir": metadata})
    world.start()
    try:
        asked = {"name": "t", "num_partitions": 9, "replication_factor": 1}
        world.ask(ApiKey.CREATE_TOPICS, {"topics": [asked], "timeout": 10_000})
        node = world.broker
        node.directory_failed(DiskFailed("/data/a", "the disk is gone"))

        def leaders() -> dict[int, int]:
            topic = node.image.topics_by_name["t"]
            return {index: state.leader for index, state in topic.partitions.items()}

        there = {index for index in range(9) if node.disk.exists(f"/data/a/t-{index}")}
        assert 0 < len(there) < 9
        assert world.clock.run_until(lambda: -1 in leaders().values(), 10_000)
        world.clock.run_until(lambda: False, 5_000)
        assert {index for index, leader in leaders().items() if leader == -1} == there
        rows = world.ask(ApiKey.METADATA, {"topics": None}).topics[0].partitions
        assert {one.partition_index for one in rows if one.offline_replicas} == there
        partitions = [node.partitions.find("t", None, index) for index in range(9)]
        assert {
            index for index, one in enumerate(partitions) if one is not None and one.is_offline
        } <= there
    finally:
        world.stop()


def test_the_controller_hears_where_a_moved_log_is(kit: Kit) -> None:
    """Else it would take it offline with the directory that it has left."""
    kit.finish(kit.create("moved", 1))
    paths = kit.world.settings["log.dirs"].split(",")
    (path,) = [one for one in paths if one != kit.world.directory_of("moved", 0)]
    topic = {"name": "moved", "partitions": [0]}
    kit.world.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": [{"path": path, "topics": [topic]}]})
    assert kit.world.node is not None
    directory_id = kit.world.node.identity.directory_ids[path]

    def is_told() -> bool:
        moved = kit.node.image.partition_by_name("moved", 0)
        assert moved is not None
        return moved.directory(kit.node.node_id) == directory_id

    assert kit.world.clock.run_until(is_told, 10_000)
    assert kit.world.directory_of("moved", 0) == path
