"""Records on several nodes: appended by the leader, fetched by followers, kept through deaths."""

from typing import Any

from kafkapy.broker.peers.failures import CallFailed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import NewRecord, build_batch
from kafkapy.sim.cluster.client import Client
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import ClusterWorld

ALL = -1


class Kit:
    """Three combined nodes and a topic with one partition on all of them."""

    def __init__(self, seed: int, **settings: str) -> None:
        self.world = ClusterWorld(seed, settings=settings)
        self.world.start()
        self.world.run_until(
            lambda: all(host.is_serving for host in self.world.hosts.values()), 30_000
        )
        self.client = Client(self.world, "client")
        self.acknowledged: list[bytes] = []
        self.create("t")

    def create(self, name: str, **configs: str) -> None:
        topic = {
            "name": name,
            "num_partitions": 1,
            "replication_factor": 3,
            "configs": [
                {"name": key.replace("_", "."), "value": value} for key, value in configs.items()
            ],
        }
        answer = self.client.ask(1, ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})
        assert answer.topics[0].error_code == 0, answer
        self.world.run_until(lambda: self.leader_or_none(name) is not None)

    def partition(self, host: Host, name: str = "t") -> Any:
        node = host.node
        if node is None or node.broker is None:
            return None
        return node.broker.partitions.get(name, 0)

    def leader_or_none(self, name: str = "t") -> Host | None:
        leaders = []
        for host in self.world.brokers:
            partition = self.partition(host, name)
            if partition is not None and partition.is_leader:
                leaders.append((partition.leader_epoch, host.node_id, host))
        return max(leaders)[2] if leaders else None

    def leader(self) -> Host:
        self.world.run_until(lambda: self.leader_or_none() is not None)
        found = self.leader_or_none()
        assert found is not None
        return found

    def produce(self, value: bytes, acks: int = ALL) -> bool:
        """Once, to whoever leads now."""
        records = build_batch([NewRecord(value=value, timestamp=self.world.clock.now())])
        topic = self.partition(self.leader()).topic_id
        body = {
            "transactional_id": None,
            "acks": acks,
            "timeout": 5_000,
            "topic_data": [
                {
                    "name": "t",
                    "topic_id": topic,
                    "partition_data": [{"index": 0, "records": records}],
                }
            ],
        }
        answer = self.client.ask(self.leader().node_id, ApiKey.PRODUCE, body)
        if isinstance(answer, CallFailed):
            return False
        code = answer.responses[0].partition_responses[0].error_code
        if code == ErrorCode.NONE:
            self.acknowledged.append(value)
        return bool(code == ErrorCode.NONE)

    def produce_until_acknowledged(self, value: bytes) -> None:
        for _ in range(200):
            if self.produce(value):
                return
            self.world.run(200)
        raise AssertionError(f"{value!r} is never acknowledged")

    def in_sync(self) -> set[int]:
        leader = self.leader_or_none()
        return set() if leader is None else set(self.partition(leader).isr)

    def contents(self, host: Host) -> bytes:
        return b"".join(
            segment.file.read(0, segment.size) for segment in self.partition(host).log.segments
        )

    def wait_for_all_in_sync(self) -> None:
        def agree() -> bool:
            if self.in_sync() != {1, 2, 3}:
                return False
            ends = {self.partition(host).log.log_end_offset for host in self.world.brokers}
            return len(ends) == 1

        self.world.run_until(agree, 60_000)

    def check(self) -> None:
        """Healed: every replica has the same bytes, and all that was acknowledged."""
        self.wait_for_all_in_sync()
        contents = [self.contents(host) for host in self.world.brokers]
        assert contents[0] == contents[1] == contents[2]
        for value in self.acknowledged:
            assert value in contents[0], value


def test_what_is_acknowledged_by_all_is_on_all() -> None:
    kit = Kit(1)
    for number in range(20):
        assert kit.produce(b"value-%03d" % number)
    for host in kit.world.brokers:
        assert b"value-019" in kit.contents(host)
    kit.check()


def test_a_follower_that_dies_leaves_the_isr_and_comes_back() -> None:
    kit = Kit(2)
    assert kit.produce(b"before")
    victim = next(host for host in kit.world.brokers if host is not kit.leader())
    victim.kill()
    kit.produce_until_acknowledged(b"without it")
    assert victim.node_id not in kit.in_sync()
    victim.start()
    kit.check()


def test_another_leads_when_the_leader_is_killed_and_nothing_is_lost() -> None:
    kit = Kit(3)
    for number in range(5):
        assert kit.produce(b"first-%d" % number)
    old = kit.leader()
    old.kill()
    kit.world.run_until(lambda: kit.leader_or_none() not in (None, old), 60_000)
    kit.produce_until_acknowledged(b"after")
    old.start()
    kit.check()


def test_a_leader_cut_off_keeps_what_nobody_else_has_from_being_acknowledged() -> None:
    """Write to it alone, heal: its records are cut off, nothing acknowledged is missing."""
    kit = Kit(4, **{"default.replication.factor": "3"})
    assert kit.produce(b"before")
    old = kit.leader()
    kit.world.network.isolate(old.name, [host.name for host in kit.world.hosts.values()])
    assert not kit.produce(b"doomed")
    assert kit.produce(b"promised by one", acks=1)
    kit.acknowledged.remove(b"promised by one")
    kit.world.run_until(lambda: kit.leader_or_none() not in (None, old), 60_000)
    kit.produce_until_acknowledged(b"after")
    kit.world.network.heal()
    kit.check()
    assert b"doomed" not in kit.contents(kit.leader())


def test_with_too_few_in_sync_nothing_is_acknowledged() -> None:
    kit = Kit(5, **{"min.insync.replicas": "2"})
    assert kit.produce(b"before")
    for host in kit.world.brokers:
        if host is not kit.leader():
            kit.world.network.isolate(host.name, [one.name for one in kit.world.hosts.values()])
    assert not kit.produce(b"alone")
    kit.world.network.heal()
    kit.produce_until_acknowledged(b"together")
    kit.check()
