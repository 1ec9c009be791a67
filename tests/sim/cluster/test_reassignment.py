"""A partition moves from brokers 1 and 2 to 3 and 4 while it is written to; throttled, and
cancelled."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.sim.cluster.kit import Kit

TOPIC, BROKER = 2, 4
FOUR_BROKERS = ("broker",) * 4 + ("controller",)
BIG = b"x" * 5_000
RATE = 10_000


class Moving(Kit):
    def __init__(self, seed: int) -> None:
        super().__init__(
            seed,
            FOUR_BROKERS,
            **{"replica.fetch.max.bytes": "5200", "log.segment.delete.delay.ms": "5000"},
        )

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": [1, 2]}],
        }
        answer = self.client.ask(1, ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})
        assert answer.topics[0].error_code == 0, answer
        self.wait(lambda: self.leader_or_none(name) is not None)

    def reassign(self, replicas: list[int] | None) -> ErrorCode:
        partition = {"partition_index": 0, "replicas": replicas}
        body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 10_000}
        answer = self.client.ask(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    def under_way(self) -> Any:
        body = {"topics": None, "timeout": 10_000}
        return self.client.ask(1, ApiKey.LIST_PARTITION_REASSIGNMENTS, body).topics

    def set(self, resource_type: int, name: str, **settings: str) -> None:
        changes = [
            {"name": key.replace("_", "."), "config_operation": 0, "value": value}
            for key, value in settings.items()
        ]
        resource = {"resource_type": resource_type, "resource_name": name, "configs": changes}
        body = {"resources": [resource], "validate_only": False}
        # What is said of a broker is for that broker to judge.
        asked = int(name) if resource_type == BROKER else 1
        answer = self.client.ask(asked, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
        assert answer.responses[0].error_code == ErrorCode.NONE, answer

    def throttle(self, side: str, rate: int) -> None:
        """As kafka-reassign-partitions --throttle does."""
        for node_id in range(1, 5):
            self.set(BROKER, str(node_id), **{f"{side}_replication_throttled_rate": str(rate)})
        whose = {"leader": "0:1,0:2", "follower": "0:3,0:4"}[side]
        self.set(TOPIC, "t", **{f"{side}_replication_throttled_replicas": whose})

    def has_moved(self) -> bool:
        state = self.state()
        return state.replicas == (3, 4) and set(state.isr) == {3, 4} and state.leader in (3, 4)

    def fill(self, count: int = 20) -> None:
        for number in range(count):
            assert self.produce(BIG + b"%03d" % number)

    def check_moved(self) -> None:
        contents = [self.contents(self.world.hosts[node_id]) for node_id in (3, 4)]
        assert contents[0] == contents[1]
        for value in self.acknowledged:
            assert value in contents[0], value[-10:]

    def files(self, node_id: int) -> list[str]:
        disk = self.world.hosts[node_id].disk
        return [
            name
            for path in ("/data/a", "/data/b")
            for name in disk.list(path)
            if name.startswith("t-0")
        ]


def test_a_partition_moves_under_writes_and_its_old_files_go() -> None:
    kit = Moving(1)
    kit.fill()
    assert kit.reassign([3, 4]) is ErrorCode.NONE
    for number in range(200):
        if kit.has_moved():
            break
        kit.produce_until_acknowledged(b"meanwhile-%03d" % number)
    assert kit.has_moved()
    kit.produce_until_acknowledged(b"after")
    kit.world.run(1_000)
    kit.check_moved()
    assert not kit.under_way()
    for node_id in (1, 2):
        assert kit.partition(kit.world.hosts[node_id]) is None
        assert all(name.endswith("-delete") for name in kit.files(node_id))
    kit.world.run(6_000)
    assert [kit.files(node_id) for node_id in (1, 2)] == [[], []]


def test_a_leader_that_hears_of_new_replicas_after_them_counts_them_all_the_same() -> None:
    """Nothing is written, so that they tell it once how far they are: too early."""
    kit = Moving(5)
    leader = kit.leader()
    kit.world.network.cut_both(leader.name, "n5")
    partition = {"partition_index": 0, "replicas": [3, 4]}
    body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 10_000}
    kit.client.ask(3, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
    kit.world.run(100)
    assert kit.partition(leader).replicas == (1, 2)
    assert kit.partition(kit.world.hosts[3]) is not None
    kit.world.network.heal()
    kit.wait(kit.has_moved)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_move_takes_its_time_and_goes_on_once_it_is_not(side: str) -> None:
    """100 KB to each of two, of which one side lets 10 KB a second pass."""
    kit = Moving(2)
    kit.fill()
    kit.throttle(side, RATE)
    assert kit.reassign([3, 4]) is ErrorCode.NONE
    began = kit.world.clock.now()
    seconds = 5
    kit.world.run(seconds * 1_000)
    ends = [kit.partition(kit.world.hosts[node_id]).log.size for node_id in (3, 4)]
    # What was under way when it was too much came on top of it.
    most = RATE * (seconds + 1) + 2 * 5_200
    assert all(0 < one <= most for one in ends), ends
    if side == "leader":
        assert sum(ends) <= most
    assert not kit.has_moved()
    assert kit.produce(b"those in sync do not wait")
    kit.throttle(side, 10**9)
    kit.wait(kit.has_moved, 10_000)
    assert kit.world.clock.now() - began < 20_000
    kit.check_moved()


def test_a_throttled_move_ends_by_itself() -> None:
    kit = Moving(3)
    kit.fill(10)
    kit.throttle("leader", RATE)
    kit.throttle("follower", RATE)
    began = kit.world.clock.now()
    assert kit.reassign([3, 4]) is ErrorCode.NONE
    kit.wait(kit.has_moved)
    assert kit.world.clock.now() - began > 7_000  # 100 KB left the leader
    kit.check_moved()


def test_a_move_that_is_cancelled_leaves_all_as_it_was() -> None:
    kit = Moving(4)
    kit.fill()
    kit.throttle("leader", 1)
    assert kit.reassign([3, 4]) is ErrorCode.NONE
    kit.wait(lambda: kit.partition(kit.world.hosts[3]) is not None)
    (topic,) = kit.under_way()
    (row,) = topic.partitions
    assert sorted(row.adding_replicas) == [3, 4]
    assert sorted(row.removing_replicas) == [1, 2]
    assert kit.reassign(None) is ErrorCode.NONE
    kit.wait(lambda: kit.state().replicas == (1, 2))
    assert not kit.under_way()
    assert kit.produce(b"as before")
    kit.wait(lambda: kit.partition(kit.world.hosts[3]) is None)
    kit.world.run(7_000)
    assert [kit.files(node_id) for node_id in (3, 4)] == [[], []]
    assert kit.reassign(None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
