"""Relays on three nodes of which any may die: what is in the source is in the target once."""

from collections import Counter

import pytest

from kafkapy.broker.relays.reading import read_committed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import NewRecord, build_batch
from kafkapy.protocol.records import Record
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

SOURCE, TARGET = "source", "target"
TARGETS = 2


class RelayKit(Kit):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.rng = self.world.rng.fork("relays")
        self.create(TARGET, partitions=TARGETS)
        self.create(SOURCE, kafkapy_relay_to=TARGET)
        self.sent = 0

    def send(self, count: int) -> None:
        """To whoever leads, once: who does not answer may have it or not."""
        rng = self.rng
        self.send_due_in(*(rng.between(0, 4_000) if rng.below(3) else 0 for _ in range(count)))

    def send_due_in(self, *waits: int) -> None:
        """Milliseconds; 0: it waits for nothing."""
        leader = self.leader_or_none(SOURCE)
        if leader is None:
            return
        wall = leader.clock.wall()
        records = []
        for wait in waits:
            self.sent += 1
            headers = (("kafkapy.delay.ms", b"%d" % wait),) if wait else ()
            records.append(NewRecord(b"%d" % self.rng.below(5), b"%d" % self.sent, wall, headers))
        body = {
            "transactional_id": None,
            "acks": -1,
            "timeout": 5_000,
            "topic_data": [
                {
                    "name": SOURCE,
                    "topic_id": self.partition(leader, SOURCE).topic_id,
                    "partition_data": [{"index": 0, "records": build_batch(records)}],
                }
            ],
        }
        self.client.send(leader.node_id, ApiKey.PRODUCE, body, lambda _: None)

    def committed(self, topic: str, index: int) -> list[Record]:
        """As its leader has them for readers of committed records."""
        for host in self.world.brokers:
            node = host.node
            partition = node and node.broker and node.broker.partitions.get(topic, index)
            if partition and partition.is_leader:
                break
        else:
            return []
        log, offset = partition.log, partition.log.log_start_offset
        found: list[Record] = []
        while offset < log.last_stable_offset:
            stretch = read_committed(log, offset, 1 << 20)
            found += stretch.records
            offset = stretch.next_offset
        return found

    def arrived(self) -> list[Record]:
        return [one for index in range(TARGETS) for one in self.committed(TARGET, index)]

    @property
    def is_done(self) -> bool:
        return len(self.arrived()) >= len(self.committed(SOURCE, 0))

    def victim(self) -> Host:
        return self.world.hosts[self.rng.between(1, 3)]


def check(kit: RelayKit) -> None:
    kit.wait(lambda: all(host.is_serving for host in kit.world.brokers))
    kit.wait_for_all_in_sync()
    source = Counter(one.value for one in kit.committed(SOURCE, 0))
    assert source, "something was written"
    kit.wait(lambda: kit.is_done)
    kit.world.run(6_000)  # nothing more comes
    assert Counter(one.value for one in kit.arrived()) == source


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_record_arrives_once_whoever_dies(seed: int) -> None:
    """Records of all kinds of delays, and every second or so a process or a machine goes."""
    kit = RelayKit(seed)
    for _ in range(4):
        kit.send(10)
        kit.world.run(kit.rng.between(50, 1_500))
        dead = kit.victim()
        dead.crash() if kit.rng.below(2) else dead.kill()
        kit.world.run(kit.rng.between(50, 2_500))
        kit.send(10)
        kit.world.run(kit.rng.between(50, 500))
        dead.start()
        kit.wait(lambda host=dead: host.is_serving)  # type: ignore[misc]
    check(kit)


def test_a_leader_that_was_cut_off_and_comes_back_doubles_nothing() -> None:
    """It believes to lead for a while, with what waits in memory; its transactions are refused."""
    kit = RelayKit(4)
    kit.send(20)
    kit.wait(lambda: len(kit.arrived()) > 3)
    old = kit.leader_or_none(SOURCE)
    assert old is not None
    for other in kit.others(old):
        kit.world.network.cut_both(old.name, other)
    kit.wait(lambda: kit.leader_or_none(SOURCE) not in (None, old))
    kit.world.run(1_500)
    kit.world.network.heal()
    check(kit)


@pytest.mark.parametrize("seed", [11, 12])
def test_clocks_that_are_set_lose_and_double_nothing(seed: int) -> None:
    """Any node's, either way, by up to ten seconds, between records and deaths."""
    kit = RelayKit(seed)
    for _ in range(5):
        kit.send(10)
        kit.world.run(kit.rng.between(50, 1_500))
        kit.victim().clock.set_wall(kit.rng.between(-10_000, 10_000))
        kit.send(10)
        dead = kit.victim()
        dead.kill()
        kit.world.run(kit.rng.between(50, 1_500))
        dead.start()
        kit.wait(lambda host=dead: host.is_serving)  # type: ignore[misc]
    check(kit)


def test_what_is_due_follows_the_wall_clock_and_survives_restarts() -> None:
    """An hour ahead, all of them die, and one hour later it is there; not before."""
    kit = RelayKit(13)
    kit.send_due_in(3_600_000)
    kit.wait(lambda: len(kit.committed(SOURCE, 0)) == 1)
    for host in kit.world.brokers:
        host.kill()
    for host in kit.world.brokers:
        host.start()
    kit.wait(lambda: all(host.is_serving for host in kit.world.brokers))
    kit.wait(lambda: kit.leader_or_none(SOURCE) is not None)
    kit.world.run(10_000)
    assert (len(kit.committed(SOURCE, 0)), kit.arrived()) == (1, [])
    for host in kit.world.brokers:
        host.clock.set_wall(3_600_000)
    kit.world.run(3_000)
    assert len(kit.arrived()) == 1
    for host in kit.world.brokers:
        host.clock.set_wall(0)
    kit.send_due_in(1_000)
    kit.wait(lambda: len(kit.committed(SOURCE, 0)) == 2)
    for host in kit.world.brokers:
        host.clock.set_wall(-60_000)
    kit.world.run(20_000)
    assert len(kit.arrived()) == 1, "held back while it is not due any more"
    kit.world.run(60_000)
    assert len(kit.arrived()) == 2


def test_due_records_leave_on_time_by_the_leaders_clock() -> None:
    kit = RelayKit(5)
    kit.send(30)
    kit.wait(lambda: len(kit.committed(SOURCE, 0)) == 30 and kit.is_done)
    leader = kit.leader_or_none(SOURCE)
    assert leader is not None
    latest = max(one.timestamp for one in kit.arrived())
    assert 0 <= leader.clock.wall() - latest < 1_000


def test_an_error_of_the_target_is_waited_out() -> None:
    """The target is made after the records; nothing is lost, and it is said once why it waits."""
    kit = RelayKit(6)
    kit.create("early", kafkapy_relay_to="late")
    leader = kit.leader_or_none("early")
    assert leader is not None
    said: list[str] = []
    leader.on_line.append(lambda host, line: said.append(str(line)))
    records = build_batch([NewRecord(None, b"x", leader.clock.wall())])
    topic = {
        "name": "early",
        "topic_id": kit.partition(leader, "early").topic_id,
        "partition_data": [{"index": 0, "records": records}],
    }
    body = {"transactional_id": None, "acks": -1, "timeout": 5_000, "topic_data": [topic]}
    answer = kit.client.ask(leader.node_id, ApiKey.PRODUCE, body)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    kit.world.run(8_000)
    assert len([line for line in said if "no topic late" in line]) == 1
    kit.create("late")
    kit.wait(lambda: [one.value for one in kit.committed("late", 0)] == [b"x"])
