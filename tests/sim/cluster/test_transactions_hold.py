"""A transaction's offsets count with it and not with another, whatever is late, gone or broken."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.checkers import History
from kafkapy.sim.clients.actors import Actor
from kafkapy.sim.clients.transactional_producer import TransactionalProducer
from kafkapy.sim.cluster.clients.wire import Wire
from kafkapy.sim.world.file import SimFileSlice
from tests.sim.cluster.kit import Kit

ALONE = ("broker", "broker", "broker", "controller")
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
ONE_EACH = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
}


class TransactionKit(Kit):
    """A producer "tx" of the first protocol, as librdkafka speaks it, and a group "g"."""

    def __init__(self, seed: int, **settings: str) -> None:
        self.wires: dict[str, Wire] = {}
        super().__init__(seed, ALONE, **{**ONE_EACH, **settings})
        self.producer: dict[str, Any] = {}

    # Asking

    def call(
        self, node_id: int, api: ApiKey, version: int, body: Mapping[str, Any], wire: str = "c1"
    ) -> list[Any]:
        """What will have been answered."""
        if wire not in self.wires:
            self.wires[wire] = Wire(self.world, wire)
        answers: list[Any] = []
        self.wires[wire].call(
            node_id, api, body, answers.append, versions=(version, version), timeout_ms=30_000
        )
        return answers

    def do(
        self, node_id: int, api: ApiKey, version: int, body: Mapping[str, Any], wire: str = "c1"
    ) -> Any:
        answers = self.call(node_id, api, version, body, wire)
        self.wait(lambda: bool(answers))
        return answers[0]

    def until(self, ask: Callable[[], Any], code: Callable[[Any], int]) -> Any:
        for _ in range(200):
            answer = ask()
            if not isinstance(answer, Exception) and code(answer) == ErrorCode.NONE:
                return answer
            self.world.run(50)
        raise AssertionError(answer)

    # Before

    def find(self, kind: int, key: str, at: int = 1) -> int:
        body = {"key_type": kind, "coordinator_keys": [key]}
        answer = self.until(
            lambda: self.do(at, ApiKey.FIND_COORDINATOR, 4, body),
            lambda answer: answer.coordinators[0].error_code,
        )
        return int(answer.coordinators[0].node_id)

    def lead_of(self, topic: str, replicas: Sequence[int]) -> None:
        partition = {"partition_index": 0, "replicas": list(replicas)}
        body = {"topics": [{"name": topic, "partitions": [partition]}], "timeout": 10_000}
        self.client.ask(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
        preferred = {"election_type": 0, "topic_partitions": None, "timeout": 10_000}
        self.client.ask(1, ApiKey.ELECT_LEADERS, preferred)
        self.wait(lambda: self.state(topic).leader == replicas[0])
        self.world.run(1000)

    def create_at(self, name: str, node_id: int) -> None:
        """A topic of one partition on that node, made by it."""
        assignment = {"partition_index": 0, "broker_ids": [node_id]}
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [assignment],
        }
        body = {"topics": [topic], "timeout": 10_000}
        answer = self.client.ask(node_id, ApiKey.CREATE_TOPICS, body)
        assert answer.topics[0].error_code == ErrorCode.NONE, answer
        self.world.run(500)

    def init(self, node_id: int) -> None:
        body = {"transactional_id": "tx", "transaction_timeout": 600_000}
        answer = self.until(
            lambda: self.do(node_id, ApiKey.INIT_PRODUCER_ID, 4, body), lambda a: a.error_code
        )
        self.producer = {
            "transactional_id": "tx",
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }

    # In a transaction

    def add_offsets(self, node_id: int) -> None:
        body = {**self.producer, "group_id": "g"}
        self.until(
            lambda: self.do(node_id, ApiKey.ADD_OFFSETS_TO_TXN, 3, body), lambda a: a.error_code
        )

    def offsets(self, partition: int, offset: int, topic: str = "in") -> dict[str, Any]:
        row = {"partition_index": partition, "committed_offset": offset}
        topics = [{"name": topic, "partitions": [row]}]
        return {**self.producer, "group_id": "g", "member_id": "", "topics": topics}

    def commit_offset(self, node_id: int, partition: int, offset: int, version: int = 3) -> None:
        body = self.offsets(partition, offset)
        self.until(lambda: self.do(node_id, ApiKey.TXN_OFFSET_COMMIT, version, body), code_of)

    def end(self, node_id: int, *, committed: bool, version: int = 3) -> None:
        body = {**self.producer, "committed": committed}
        self.until(lambda: self.do(node_id, ApiKey.END_TXN, version, body), lambda a: a.error_code)

    # After

    def fetched(self, node_id: int, *partitions: int) -> list[tuple[int, ErrorCode]]:
        topics = [{"name": "in", "partition_indexes": list(partitions)}]
        body = {"groups": [{"group_id": "g", "topics": topics}], "require_stable": True}
        answer = self.do(node_id, ApiKey.OFFSET_FETCH, 8, body, wire="fetcher")
        assert answer.groups[0].error_code == ErrorCode.NONE, answer
        rows = answer.groups[0].topics[0].partitions
        return [(row.committed_offset, ErrorCode(row.error_code)) for row in rows]


def code_of(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def test_offsets_of_an_aborted_transaction_do_not_come_with_the_next_one() -> None:
    """The answer to the question whether the first transaction has the partition is held up
    until the second one waits for its own: it is too late for what asked."""
    kit = TransactionKit(1)
    world, network = kit.world, kit.world.network
    kit.create("in", partitions=2)
    kit.find(1, "tx")
    kit.find(0, "g")
    old, new, group = 1, 2, 3
    kit.lead_of(TRANSACTIONS, [old, new])
    kit.lead_of(OFFSETS, [group])
    kit.init(old)
    kit.add_offsets(old)
    kit.commit_offset(group, 1, 1)  # so that there is a connection to hold up
    kit.end(old, committed=False)
    world.run(1000)

    kit.add_offsets(old)
    network.cut(f"n{old}", f"n{group}")
    doomed = kit.call(group, ApiKey.TXN_OFFSET_COMMIT, 3, kit.offsets(0, 500), wire="held up")
    world.run(300)
    kit.lead_of(TRANSACTIONS, [new, old])
    kit.end(new, committed=False)
    world.run(1500)
    kit.add_offsets(new)
    second = kit.call(group, ApiKey.TXN_OFFSET_COMMIT, 3, kit.offsets(1, 7))
    world.run(300)
    assert (doomed, second) == ([], []), "both wait"
    network.mend(f"n{old}", f"n{group}")
    kit.wait(lambda: bool(doomed and second))
    assert code_of(doomed[0]) == ErrorCode.INVALID_TXN_STATE
    assert code_of(second[0]) == ErrorCode.NONE
    kit.end(new, committed=True)
    world.run(1500)
    assert kit.fetched(group, 0, 1) == [(-1, ErrorCode.NONE), (7, ErrorCode.NONE)]


def test_offsets_for_a_topic_made_anew_do_not_go_with_the_old_topics() -> None:
    """The old ones cannot be deleted for want of replicas in sync until a transaction has
    some pending for the new topic."""
    kit = TransactionKit(
        1,
        **{
            "min.insync.replicas": "2",
            "transaction.state.log.min.isr": "1",
            "replica.lag.time.max.ms": "3000",
        },
    )
    world = kit.world
    configs = [{"name": "min.insync.replicas", "value": "1"}]
    topic = {"name": "in", "num_partitions": 1, "replication_factor": 1, "configs": configs}

    def create() -> None:
        body = {"topics": [topic], "timeout": 10_000}
        kit.until(
            lambda: kit.client.ask(1, ApiKey.CREATE_TOPICS, body),
            lambda answer: answer.topics[0].error_code,
        )
        world.run(1000)

    create()
    kit.find(1, "tx")
    kit.find(0, "g")
    coordinator, other, group = 1, 2, 3
    kit.lead_of(TRANSACTIONS, [coordinator])
    kit.lead_of(OFFSETS, [group, other])
    kit.init(coordinator)
    row = {"partition_index": 0, "committed_offset": 100, "committed_metadata": ""}
    plain = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "in", "partitions": [row]}],
    }
    kit.until(lambda: kit.do(group, ApiKey.OFFSET_COMMIT, 8, plain), code_of)
    world.hosts[other].kill()
    kit.wait(lambda: kit.state(OFFSETS).isr == (group,))
    kit.client.ask(
        1,
        ApiKey.DELETE_TOPICS,
        {"topics": [{"name": "in", "topic_id": None}], "timeout": 10_000},
    )
    world.run(1000)
    create()
    world.hosts[other].start()
    body = kit.offsets(0, 7)
    while True:
        answer = kit.do(group, ApiKey.TXN_OFFSET_COMMIT, 5, body)
        if code_of(answer) == ErrorCode.NONE:
            break
        world.run(5)
    world.run(700)
    assert kit.fetched(group, 0) == [(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    kit.end(coordinator, committed=True, version=5)
    world.run(2000)
    assert kit.fetched(group, 0) == [(7, ErrorCode.NONE)]


def directory_of(kit: TransactionKit, node_id: int, partition: str) -> str:
    host = kit.world.hosts[node_id]
    paths = host.settings["log.dirs"].split(",")
    (found,) = [path for path in paths if partition in host.disk.list(path)]
    return found


def is_offline(kit: TransactionKit, node_id: int, path: str) -> bool:
    node = kit.world.hosts[node_id].node
    return (
        node is not None and node.broker is not None and node.broker.logs.is_directory_offline(path)
    )


def restart(kit: TransactionKit, node_id: int) -> None:
    host = kit.world.hosts[node_id]
    host.stop(lambda: None)
    kit.wait(lambda: not host.is_alive)
    host.start()
    kit.wait(lambda: host.is_serving)


def metadata_aside() -> dict[str, str]:
    return {"log.dirs": "/data/a,/data/b", "metadata.log.dir": "/data/a"}


def test_a_disk_that_fails_as_a_coordinator_loads_takes_its_directory_and_not_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kit = TransactionKit(1, **metadata_aside())
    kit.find(0, "g")
    kit.lead_of(OFFSETS, [1, 2, 3])
    path = directory_of(kit, 2, f"{OFFSETS}-0")
    row = {"partition_index": 0, "committed_offset": 100, "committed_metadata": ""}
    plain = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "t", "partitions": [row]}],
    }
    kit.until(lambda: kit.do(1, ApiKey.OFFSET_COMMIT, 8, plain), code_of)
    kit.world.run(1000)
    host = kit.world.hosts[2]
    loads = 0
    read = PartitionShardLog.read

    def read_badly(log: PartitionShardLog, offset: int, max_bytes: int) -> bytes:
        nonlocal loads
        loads += 1
        with monkeypatch.context() as patch:
            if loads == 1:
                patch.setattr(SimFileSlice, "read", fail)
            return read(log, offset, max_bytes)

    def fail(one: SimFileSlice) -> bytes:
        raise DiskFailed(path, "I/O error")

    monkeypatch.setattr(PartitionShardLog, "read", read_badly)
    kit.world.hosts[1].kill()
    kit.wait(lambda: is_offline(kit, 2, path))
    kit.wait(lambda: kit.state(OFFSETS).leader == 3)
    assert host.is_serving, host.state
    kit.wait(lambda: kit.find(0, "g", at=2) == 3)


@pytest.mark.parametrize("topic", ["t", OFFSETS])
def test_a_disk_that_fails_as_producers_are_remembered_takes_its_directory_and_not_the_node(
    topic: str,
) -> None:
    """After a clean start, what a partition knows of its producers is read when the first
    transaction comes to it."""
    kit = TransactionKit(1, **metadata_aside())
    kit.find(1, "tx")
    kit.find(0, "g")
    coordinator, victim = 1, 2
    kit.lead_of(TRANSACTIONS, [coordinator, 3])
    kit.lead_of(topic, [victim])
    kit.init(coordinator)
    kit.add_offsets(coordinator)
    kit.produce_until_acknowledged(b"before")
    restart(kit, victim)
    kit.wait(lambda: kit.state(topic).leader == victim)
    host = kit.world.hosts[victim]
    path = directory_of(kit, victim, f"{topic}-0")
    host.disk.fail("read", in_path=f"{topic}-0/")
    if topic == OFFSETS:
        answer = kit.do(victim, ApiKey.TXN_OFFSET_COMMIT, 3, kit.offsets(0, 1, "t"))
        assert code_of(answer) == ErrorCode.NOT_COORDINATOR
    else:
        answer = kit.do(victim, ApiKey.PRODUCE, 9, transactional_data(kit))
        code = answer.responses[0].partition_responses[0].error_code
        assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not host.disk.will_fail
    assert is_offline(kit, victim, path)
    kit.world.run(1000)
    assert host.is_serving, host.state


def transactional_data(kit: TransactionKit) -> dict[str, Any]:
    records = build_batch(
        [NewRecord(value=b"x", timestamp=kit.world.clock.now())],
        producer_id=kit.producer["producer_id"],
        producer_epoch=kit.producer["producer_epoch"],
        base_sequence=0,
        is_transactional=True,
    )
    topic = {"name": "t", "partition_data": [{"index": 0, "records": records}]}
    return {"transactional_id": "tx", "acks": -1, "timeout": 5_000, "topic_data": [topic]}


def test_a_coordinator_that_has_not_heard_of_the_offsets_topic_does_not_take_it_for_deleted() -> (
    None
):
    """Without verification nobody tells it: the marker waits until it has heard."""
    kit = TransactionKit(
        1,
        **{
            "transaction.partition.verification.enable": "false",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
        },
    )
    world, network = kit.world, kit.world.network
    kit.create("in")
    kit.find(1, "tx")
    coordinator, group = 1, 2
    kit.lead_of(TRANSACTIONS, [coordinator])
    kit.init(coordinator)
    controller = world.wait_for_controller()
    network.cut_both(controller.name, f"n{coordinator}")
    kit.add_offsets(coordinator)
    kit.create_at(OFFSETS, group)
    kit.commit_offset(group, 0, 7)
    kit.end(coordinator, committed=True)
    world.run(1000)
    assert kit.fetched(group, 0) == [(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    network.mend_both(controller.name, f"n{coordinator}")
    world.run(3000)
    assert kit.fetched(group, 0) == [(7, ErrorCode.NONE)]


def test_sequence_numbers_that_are_used_again_after_an_abort_are_not_called_written() -> None:
    """As librdkafka does with records that it drops and that are there all the same. Apache Kafka
    says that they are there, and commits a transaction without them (docs/decisions/0010)."""
    kit = Kit(1)
    producer = TransactionalProducer(kit.world.clock, History(), 1, "copy", False, 60_000)

    def act() -> Actor:
        yield from producer.begin()
        for value, commits in (("dropped", False), ("committed", True)):
            operation = producer.open()
            yield from producer.send(TopicPartition("t", 0), [value])
            yield from producer.end(operation, commit=commits)
            producer._sequences.clear()

    with pytest.raises(AssertionError, match="UNKNOWN_PRODUCER_ID"):
        kit.play(act())
    log = kit.partition(kit.leader()).log
    assert log.log_end_offset == 2, "what was dropped, and its abort marker"
