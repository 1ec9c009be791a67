"""A cluster with a topic on all its nodes, and what tests ask of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkapy.broker.peers.failures import CallFailed
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.clients.actors import Actor
from kafkapy.sim.cluster.clients.direct import Client
from kafkapy.sim.cluster.clients.routed import ClusterClient
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld

ALL = -1


class Kit:
    """Three combined nodes and a topic with one partition on all of them."""

    def __init__(self, seed: int, roles: Sequence[str] = (COMBINED,) * 3, **settings: str) -> None:
        self.world = self.world_of(seed, roles, settings)
        self.before_start()
        self.world.start()
        self.world.run_until(
            lambda: all(host.is_serving for host in self.world.hosts.values()), 30_000
        )
        self.client = Client(self.world, "client")
        self.acknowledged: list[bytes] = []
        self.create("t")

    def world_of(
        self, seed: int, roles: Sequence[str], settings: Mapping[str, str]
    ) -> ClusterWorld:
        return ClusterWorld(seed, roles, settings=settings)

    def before_start(self) -> None:
        """For kits whose nodes differ."""

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        topic = {
            "name": name,
            "num_partitions": partitions,
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

    def follower(self) -> Host:
        """One of those that do not lead, the same one each time."""
        return next(host for host in self.world.brokers if host is not self.leader())

    def ask_leader(self, api: ApiKey, body: Mapping[str, Any]) -> Any:
        return self.client.ask(self.leader().node_id, api, body)

    def wait(self, condition: Callable[[], bool], within_ms: int = 60_000) -> None:
        self.world.run_until(condition, within_ms)

    def play(self, actor: Actor) -> None:
        """A client that finds its brokers as stock ones do, to its end."""
        playing = ClusterClient(self.world, "onlooker").play(actor)
        self.wait(lambda: playing.is_done)

    def others(self, host: Host) -> list[str]:
        """The names of the other machines of the cluster; clients are none."""
        return [one.name for one in self.world.hosts.values() if one is not host]

    def state(self, name: str = "t", index: int = 0) -> PartitionState:
        """As the active controller has it."""
        node = self.world.wait_for_controller().node
        assert node is not None
        return node.image.topics_by_name[name].partitions[index]

    def wipe(self, host: Host, *paths: str) -> None:
        """New disks, formatted and empty, in the place of these; of all, if none is named."""
        for path in paths or host.settings["log.dirs"].split(","):
            host.disk.remove_tree(path)
            host.disk.make_directory(path)
        self.world.format(host)

    def lead(self, replicas: Sequence[int]) -> None:
        """In this order from now on, and the first one leads."""
        partition = {"partition_index": 0, "replicas": list(replicas)}
        body = {"topics": [{"name": "t", "partitions": [partition]}], "timeout": 10_000}
        self.client.ask(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
        preferred = {"election_type": 0, "topic_partitions": None, "timeout": 10_000}
        self.client.ask(1, ApiKey.ELECT_LEADERS, preferred)
        self.wait(lambda: self.leader().node_id == replicas[0])

    def produce(self, value: bytes, acks: int = ALL) -> bool:
        """Once, to whoever leads now."""
        leader = self.leader()
        answer = self.client.ask(leader.node_id, ApiKey.PRODUCE, self.to_produce(value, acks))
        if isinstance(answer, CallFailed):
            return False
        code = answer.responses[0].partition_responses[0].error_code
        if code == ErrorCode.NONE:
            self.acknowledged.append(value)
        return bool(code == ErrorCode.NONE)

    def to_produce(self, value: bytes, acks: int = ALL) -> dict[str, Any]:
        """The request."""
        records = build_batch([NewRecord(value=value, timestamp=self.world.clock.now())])
        topic = {
            "name": "t",
            "topic_id": self.partition(self.leader()).topic_id,
            "partition_data": [{"index": 0, "records": records}],
        }
        return {"transactional_id": None, "acks": acks, "timeout": 5_000, "topic_data": [topic]}

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
