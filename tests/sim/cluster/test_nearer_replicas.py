"""Consumers that name their rack read from a follower there (KIP-392), and whoever asks the
wrong node hears where to go (KIP-951)."""

from typing import Any
from uuid import UUID

from kafkapy.broker.config.table.shared_values import RACK_AWARE_SELECTOR
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import BROKER_PORT
from tests.sim.cluster.kit import Kit


class Racks(Kit):
    """Each node is in a rack of its own: rack-1, rack-2, rack-3."""

    def __init__(self, seed: int, **settings: str) -> None:
        super().__init__(seed, **{"replica.selector.class": RACK_AWARE_SELECTOR, **settings})

    def before_start(self) -> None:
        for host in self.world.brokers:
            host.settings["broker.rack"] = f"rack-{host.node_id}"

    def fetch(
        self, host: Host, offset: int = 0, *, rack: str = "", epoch: int = -1, max_wait: int = 0
    ) -> Any:
        """The answer as a whole; `row` has the partition's part."""
        answers: list[Any] = []
        self.send_fetch(host, answers, offset, rack=rack, epoch=epoch, max_wait=max_wait)
        self.wait(lambda: bool(answers))
        return answers[0]

    def send_fetch(
        self,
        host: Host,
        answers: list[Any],
        offset: int,
        *,
        rack: str = "",
        epoch: int = -1,
        max_wait: int = 0,
    ) -> None:
        partition = {
            "partition": 0,
            "current_leader_epoch": epoch,
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
        }
        topic_id: UUID = self.partition(self.leader()).topic_id
        body = {
            "max_wait": max_wait,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": "t", "topic_id": topic_id, "partitions": [partition]}],
            "forgotten_topics_data": [],
            "rack_id": rack,
        }
        self.client.send(host.node_id, ApiKey.FETCH, body, answers.append)


def row(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def endpoints(answer: Any) -> list[tuple[int, str, int, str | None]]:
    return [(one.node_id, one.host, one.port, one.rack) for one in answer.node_endpoints]


def filled(seed: int) -> Racks:
    kit = Racks(seed)
    for number in range(5):
        assert kit.produce(b"value-%d" % number)
    kit.world.run(1_000)  # followers hear of the high watermark with their next fetch
    return kit


def elect_again(kit: Kit) -> None:
    """The leader's epoch is not the first one any more, and everybody knows."""
    old = kit.leader()
    old.kill()
    kit.wait(lambda: kit.leader_or_none() not in (None, old))
    old.start()
    kit.wait_for_all_in_sync()
    kit.world.run(1_000)


def test_a_consumer_is_sent_to_the_replica_in_its_rack_and_reads_there() -> None:
    kit = filled(1)
    leader, near = kit.leader(), kit.follower()
    told = row(kit.fetch(leader, rack=f"rack-{near.node_id}", max_wait=10_000))
    assert (told.error_code, told.preferred_read_replica) == (0, near.node_id)
    assert not told.records
    read = row(kit.fetch(near, rack=f"rack-{near.node_id}"))
    assert (read.error_code, read.preferred_read_replica, read.high_watermark) == (0, -1, 5)
    assert all(b"value-%d" % number in bytes(read.records) for number in range(5))


def test_the_leader_serves_who_is_in_its_rack_or_in_none() -> None:
    kit = filled(2)
    leader = kit.leader()
    for rack in ("", "elsewhere", f"rack-{leader.node_id}"):
        read = row(kit.fetch(leader, rack=rack))
        assert (read.error_code, read.preferred_read_replica) == (0, -1)
        assert b"value-4" in bytes(read.records)


def test_without_a_selector_everybody_reads_at_the_leader() -> None:
    kit = Racks(3, **{"replica.selector.class": ""})
    assert kit.produce(b"value")
    told = row(kit.fetch(kit.leader(), rack=f"rack-{kit.follower().node_id}"))
    assert told.preferred_read_replica == -1
    assert b"value" in bytes(told.records)


def test_nobody_is_sent_to_a_replica_that_is_not_in_sync() -> None:
    kit = filled(4)
    near = kit.follower()
    near.kill()
    kit.produce_until_acknowledged(b"without it")
    told = row(kit.fetch(kit.leader(), rack=f"rack-{near.node_id}"))
    assert told.preferred_read_replica == -1
    near.start()
    kit.wait_for_all_in_sync()
    told = row(kit.fetch(kit.leader(), rack=f"rack-{near.node_id}"))
    assert told.preferred_read_replica == near.node_id


def test_a_consumer_that_waits_at_a_follower_gets_what_is_committed() -> None:
    kit = filled(5)
    near = kit.follower()
    answers: list[Any] = []
    kit.send_fetch(near, answers, 5, rack=f"rack-{near.node_id}", max_wait=10_000)
    kit.world.run(100)
    assert not answers
    assert kit.produce(b"new")
    kit.wait(lambda: bool(answers), 2_000)
    assert b"new" in bytes(row(answers[0]).records)


def test_offsets_at_a_follower() -> None:
    """Beyond its high watermark nothing, beyond its log the consumer is to ask the leader."""
    kit = filled(6)
    elect_again(kit)
    near = kit.follower()
    log = kit.partition(near).log
    assert row(kit.fetch(near, 5)).error_code == 0
    assert row(kit.fetch(near, log.log_end_offset + 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    epoch = kit.partition(near).leader_epoch
    fenced = kit.fetch(near, epoch=epoch - 1)
    assert row(fenced).error_code == ErrorCode.FENCED_LEADER_EPOCH
    ahead = kit.fetch(near, epoch=epoch + 1)
    assert row(ahead).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_fenced_reader_is_told_who_leads_and_where() -> None:
    kit = filled(7)
    elect_again(kit)
    leader, near = kit.leader(), kit.follower()
    epoch = kit.partition(near).leader_epoch
    answer = kit.fetch(near, epoch=epoch - 1)
    told = row(answer).current_leader
    assert (told.leader_id, told.leader_epoch) == (leader.node_id, epoch)
    rack = f"rack-{leader.node_id}"
    assert endpoints(answer) == [(leader.node_id, leader.name, BROKER_PORT, rack)]


def test_a_producer_at_the_wrong_node_is_told_who_leads_and_where() -> None:
    kit = filled(8)
    leader, wrong = kit.leader(), kit.follower()
    records = build_batch([NewRecord(value=b"lost", timestamp=kit.world.clock.now())])
    body = {
        "transactional_id": None,
        "acks": -1,
        "timeout": 5_000,
        "topic_data": [
            {
                "name": "t",
                "topic_id": kit.partition(leader).topic_id,
                "partition_data": [{"index": 0, "records": records}],
            }
        ],
    }
    answer = kit.client.ask(wrong.node_id, ApiKey.PRODUCE, body)
    told = answer.responses[0].partition_responses[0]
    assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    epoch = kit.partition(leader).leader_epoch
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (
        leader.node_id,
        epoch,
    )
    rack = f"rack-{leader.node_id}"
    assert endpoints(answer) == [(leader.node_id, leader.name, BROKER_PORT, rack)]
