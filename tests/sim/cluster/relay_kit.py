"""Topics with relays on three nodes of which any may die, and what has arrived of their records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.relays.reading import read_committed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.batches.records import Headers, Record
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

SOURCE, TARGET = "source", "target"
TARGETS = 2
_TOPIC_RESOURCE, _SET, _DELETE = 2, 0, 1
_TRANSACTION = 1
KEYS = 5


class RelayKit(Kit):
    """The source relays to the target, and `configs` say how."""

    def __init__(
        self, seed: int, *, partitions: int = 1, targets: int = TARGETS, **configs: str
    ) -> None:
        self.counts: dict[str, int] = {}
        super().__init__(seed)
        self.rng = self.world.rng.fork("relays")
        self.partitions = partitions
        self.create(TARGET, partitions=targets)
        self.create(SOURCE, partitions=partitions, kafkapy_relay_to=TARGET, **configs)
        self.wait(lambda: all(self.leader_of(SOURCE, one) for one in range(partitions)))
        self.sent = 0

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        super().create(name, partitions, **configs)
        self.counts[name] = partitions

    # --- writing ---

    def send(self, count: int) -> None:
        """To whoever leads, once: who does not answer may have it or not."""
        rng = self.rng
        self.send_due_in(*(rng.between(0, 4_000) if rng.below(3) else 0 for _ in range(count)))

    def send_due_in(self, *waits: int) -> None:
        """Milliseconds; 0: as the topic has it."""
        self.send_with(*((("kafkapy.delay.ms", wait),) if wait else () for wait in waits))

    def send_with(self, *told: Sequence[tuple[str, int]]) -> None:
        """Headers of each. A record's key says its partition."""
        for index, records in self.made(told).items():
            leader = self.leader_of(SOURCE, index)
            if leader is not None:
                body = self.request(leader, index, build_batch(records))
                self.client.send(leader.node_id, ApiKey.PRODUCE, body, lambda _: None)

    def made(self, told: Sequence[Sequence[tuple[str, int]]]) -> dict[int, list[NewRecord]]:
        made: dict[int, list[NewRecord]] = {}
        for one in told:
            self.sent += 1
            key = self.rng.below(KEYS * self.partitions)
            index = key % self.partitions
            leader = self.leader_of(SOURCE, index)
            wall = 0 if leader is None else leader.clock.wall()
            headers: Headers = tuple((name, b"%d" % value) for name, value in one)
            record = NewRecord(b"%d" % key, b"%d" % self.sent, wall, headers)
            made.setdefault(index, []).append(record)
        return made

    def request(
        self, leader: Host, index: int, batch: bytes, transactional_id: str | None = None
    ) -> dict[str, Any]:
        topic = {
            "name": SOURCE,
            "topic_id": self.partition(leader, SOURCE, index).topic_id,
            "partition_data": [{"index": index, "records": batch}],
        }
        return {
            "transactional_id": transactional_id,
            "acks": -1,
            "timeout": 5_000,
            "topic_data": [topic],
        }

    def send_in_a_transaction(self, count: int) -> None:
        """Every third is aborted, and what fails is left as it is: the next one ends it."""
        asked = {"key_type": _TRANSACTION, "coordinator_keys": ["shop"]}
        host = next((one for one in self.world.brokers if one.is_serving), None)
        if host is None:
            return
        found = self.client.ask(host.node_id, ApiKey.FIND_COORDINATOR, asked)
        if isinstance(found, CallFailed) or found.coordinators[0].error_code:
            return
        node = found.coordinators[0].node_id
        body: dict[str, Any] = {"transactional_id": "shop", "transaction_timeout": 20_000}
        begun = self.client.ask(
            node, ApiKey.INIT_PRODUCER_ID, {**body, "producer_id": -1, "producer_epoch": -1}
        )
        if isinstance(begun, CallFailed) or begun.error_code:
            return
        for index, records in self.made([()] * count).items():
            leader = self.leader_of(SOURCE, index)
            if leader is None:
                return
            batch = build_batch(
                records,
                producer_id=begun.producer_id,
                producer_epoch=begun.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            )
            asked = self.request(leader, index, batch, "shop")
            answer = self.client.ask(leader.node_id, ApiKey.PRODUCE, asked)
            if isinstance(answer, CallFailed):
                return
        ended = {
            "transactional_id": "shop",
            "producer_id": begun.producer_id,
            "producer_epoch": begun.producer_epoch,
            "committed": self.rng.below(3) > 0,
        }
        self.client.send(node, ApiKey.END_TXN, ended, lambda _: None)

    def alter(self, **settings: str | None) -> None:
        """Of the source; None: taken away."""
        configs = [
            {
                "name": "kafkapy.relay." + name.replace("_", "."),
                "config_operation": _DELETE if value is None else _SET,
                "value": value,
            }
            for name, value in settings.items()
        ]
        resource = {
            "resource_type": _TOPIC_RESOURCE,
            "resource_name": SOURCE,
            "configs": configs,
        }
        self.ask_controller(ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource]})

    def ask_controller(self, api: ApiKey, body: Mapping[str, Any]) -> None:
        """Until it is done."""
        for _ in range(50):
            node = self.world.wait_for_controller().node_id
            answer = self.client.ask(node, api, {**body, "validate_only": False})
            if not isinstance(answer, CallFailed):
                code = answer.responses[0].error_code
                if code == ErrorCode.NONE:
                    return
                assert code != ErrorCode.INVALID_CONFIG, answer
            self.world.run(200)
        raise AssertionError(f"{api.name} is never done")

    def delete(self, topic: str) -> None:
        body = {"topics": [{"name": topic, "topic_id": None}], "timeout": 10_000}
        answer = self.client.ask(1, ApiKey.DELETE_TOPICS, body)
        assert answer.responses[0].error_code == ErrorCode.NONE, answer
        self.wait(lambda: all(self.partition(one, topic) is None for one in self.world.brokers))

    # --- what is there ---

    def partition(self, host: Host, name: str = "t", index: int = 0) -> Any:
        node = host.node
        if node is None or node.broker is None:
            return None
        return node.broker.partitions.get(name, index)

    def leader_of(self, topic: str, index: int) -> Host | None:
        leaders = []
        for host in self.world.brokers:
            partition = self.partition(host, topic, index)
            if partition is not None and partition.is_leader:
                leaders.append((partition.leader_epoch, host.node_id, host))
        return max(leaders)[2] if leaders else None

    def committed(self, topic: str, index: int) -> list[Record]:
        """As its leader has them for readers of committed records."""
        leader = self.leader_of(topic, index)
        if leader is None:
            return []
        log = self.partition(leader, topic, index).log
        offset = log.log_start_offset
        found: list[Record] = []
        while offset < log.last_stable_offset:
            stretch = read_committed(log, offset, 1 << 20)
            found += stretch.records
            offset = stretch.next_offset
        return found

    def all_of(self, topic: str) -> list[Record]:
        return [one for at in range(self.counts[topic]) for one in self.committed(topic, at)]

    def arrived(self, *topics: str) -> list[Record]:
        return [one for topic in topics or (TARGET,) for one in self.all_of(topic)]

    def values(self, topic: str) -> list[bytes | None]:
        return [one.value for one in self.all_of(topic)]

    def is_all_in(self, *topics: str) -> bool:
        return len(self.arrived(*topics)) >= len(self.all_of(SOURCE))

    @property
    def is_done(self) -> bool:
        return self.is_all_in(TARGET)

    # --- trouble ---

    def victim(self) -> Host:
        return self.world.hosts[self.rng.between(1, 3)]

    def one_dies(self, *, for_ms: int = 1_500) -> None:
        """A process or a machine, for a while."""
        dead = self.victim()
        dead.crash() if self.rng.below(2) else dead.kill()
        self.world.run(self.rng.between(50, for_ms))
        dead.start()
        self.wait(lambda: dead.is_serving)

    def calm(self) -> None:
        self.wait(lambda: all(host.is_serving for host in self.world.brokers))
        self.wait_for_all_in_sync()
        indexes = range(self.partitions)
        self.wait(lambda: all(self.leader_of(SOURCE, index) for index in indexes))
        self.wait(lambda: all(self._is_stable(index) for index in indexes))
        assert self.all_of(SOURCE), "something was written"

    def _is_stable(self, index: int) -> bool:
        """No transaction is open there."""
        leader = self.leader_of(SOURCE, index)
        if leader is None:
            return False
        log = self.partition(leader, SOURCE, index).log
        return bool(log.last_stable_offset == log.log_end_offset)


def check(kit: RelayKit, *topics: str) -> None:
    """What is in the source is in those together once."""
    kit.calm()
    kit.wait(lambda: kit.is_all_in(*topics))
    kit.world.run(6_000)  # nothing more comes
    source = Counter(one.value for one in kit.all_of(SOURCE))
    assert Counter(one.value for one in kit.arrived(*topics)) == source
