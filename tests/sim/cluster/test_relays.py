"""Relays on three nodes of which any may die: what is in the source is in the target once."""

import pytest

from kafkapy.broker.relays import wiring
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.batches.records import Record
from kafkapy.relays.rule import ATTEMPTS, number
from tests.sim.cluster.relay_kit import SOURCE, TARGET, RelayKit, check


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


def test_what_does_not_fit_in_memory_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty entries are kept of many more that wait, and leaders die while they look for more."""
    monkeypatch.setattr(wiring, "MOST_WAITING", 20)
    monkeypatch.setattr(wiring, "LEAST_WAITING", 20)
    kit = RelayKit(7)
    for _ in range(2):
        for _ in range(4):
            kit.send(16)
            kit.world.run(100)
        leader = kit.leader_or_none(SOURCE)
        assert leader is not None
        leader.kill()
        kit.world.run(500)
        leader.start()
        kit.wait(lambda host=leader: host.is_serving)  # type: ignore[misc]
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


def order_of_keys(records: list[Record]) -> dict[bytes | None, list[bytes | None]]:
    found: dict[bytes | None, list[bytes | None]] = {}
    for one in records:
        found.setdefault(one.key, []).append(one.value)
    return found


@pytest.mark.parametrize(("seed", "targets"), [(24, 4), (22, 2), (23, 3)])
def test_each_key_stays_in_order_from_several_partitions(seed: int, targets: int) -> None:
    """To as many, to half as many, and to others; whoever dies."""
    kit = RelayKit(seed, partitions=4, targets=targets)
    for _ in range(3):
        for _ in range(3):
            kit.send_due_in(*[0] * 10)
            kit.world.run(kit.rng.between(5, 200))
        kit.one_dies()
        kit.send_due_in(*[0] * 10)
    check(kit)
    assert order_of_keys(kit.arrived()) == order_of_keys(kit.all_of(SOURCE))


@pytest.mark.parametrize("seed", [31])
def test_what_a_producers_transactions_committed_arrives_once_and_nothing_else(seed: int) -> None:
    """Of two partitions each; some are aborted, some left open, and a node dies between."""
    kit = RelayKit(seed, partitions=2, kafkapy_relay_delay_ms="300")
    for _ in range(3):
        for _ in range(3):
            kit.send_in_a_transaction(6)
            kit.world.run(kit.rng.between(5, 400))
        kit.one_dies()
    kit.send_in_a_transaction(6)
    check(kit)


@pytest.mark.parametrize("seed", [41])
def test_retries_come_back_once_and_the_last_ones_are_dead_letters_once(seed: int) -> None:
    kit = RelayKit(seed, partitions=2)
    kit.create("dead")
    kit.alter(retry_delays="200ms,1s", dead_letter_topic="dead")
    for _ in range(3):
        kit.send_with(*([("kafkapy.attempts", kit.rng.below(4))] for _ in range(20)))
        kit.world.run(kit.rng.between(50, 800))
        kit.one_dies()
    check(kit, TARGET, "dead")
    attempts = {one.value: number(one.headers, ATTEMPTS) or 0 for one in kit.all_of(SOURCE)}
    for one in kit.arrived():
        assert number(one.headers, ATTEMPTS) == attempts[one.value] + 1
    assert {attempts[one.value] for one in kit.all_of("dead")} == {2, 3}


RULES: list[dict[str, str | None]] = [
    {"delay_ms": None, "where": None, "otherwise": None},
    {"delay_ms": "400", "where": None, "otherwise": None},
    {"delay_ms": "2500", "where": None, "otherwise": None},
    {"delay_ms": "1500", "where": "number(key) < 3", "otherwise": "rest"},
    {"delay_ms": None, "where": "number(key) > 1", "otherwise": "rest"},
]


@pytest.mark.parametrize("seed", [2019, 5000])
def test_a_rule_that_is_altered_loses_and_doubles_nothing_that_waits(seed: int) -> None:
    """Longer, shorter, none, another condition; at any moment, and a node dies about then. (With
    the last seed two nodes relay to each other at the same time.)"""
    kit = RelayKit(seed, partitions=2)
    kit.create("rest")
    for _ in range(7):
        kit.send(10)
        kit.world.run(kit.rng.between(5, 700))
        kit.alter(**RULES[kit.rng.below(len(RULES))])
        kit.send(5)
        if kit.rng.below(2):
            kit.world.run(kit.rng.between(0, 60))
            kit.one_dies()
    check(kit, TARGET, "rest")


def test_a_retry_topic_may_have_other_delays_while_records_wait() -> None:
    kit = RelayKit(61)
    kit.create("dead")
    for delays in ("500ms,3s", "1s", "100ms,200ms,300ms", "2s,2s"):
        kit.alter(retry_delays=delays, dead_letter_topic="dead")
        kit.send_with(*([("kafkapy.attempts", kit.rng.below(4))] for _ in range(15)))
        kit.world.run(kit.rng.between(50, 900))
        kit.one_dies()
    check(kit, TARGET, "dead")


@pytest.mark.parametrize("seed", [71, 72])
def test_each_target_gets_all_once_however_often_another_is_named(seed: int) -> None:
    """What is for neither of them goes elsewhere once as well."""
    kit = RelayKit(seed, partitions=2, kafkapy_relay_where="number(key) > 2")
    kit.create("rest")
    kit.create("other")
    kit.alter(otherwise="rest")
    for target in ("other", TARGET, None, "other", TARGET):
        kit.send_due_in(*(kit.rng.below(2) * kit.rng.between(1, 900) for _ in range(8)))
        kit.world.run(kit.rng.between(5, 900))
        if target is None:
            kit.alter(to=None, where=None, otherwise=None)
        else:
            kit.alter(to=target, where="number(key) > 2", otherwise="rest")
        kit.world.run(kit.rng.between(0, 60))
        kit.one_dies()
    check(kit, TARGET, "rest")
    kit.alter(to="other")
    check(kit, "other", "rest")
    assert not set(kit.values(TARGET)) & set(kit.values("rest"))


def test_a_target_that_is_made_again_gets_all_again() -> None:
    kit = RelayKit(81)
    kit.send_due_in(0, 0, 50)
    kit.wait(lambda: kit.is_done and len(kit.arrived()) == 3)
    kit.delete(TARGET)
    kit.send_due_in(0, 0)
    kit.world.run(1_000)
    kit.create(TARGET)
    check(kit)
    assert len(kit.arrived()) == 5


def test_dead_letters_that_come_back_at_once_are_a_circle() -> None:
    kit = RelayKit(91)
    kit.create("dead", kafkapy_relay_to=SOURCE)
    kit.alter(retry_delays="1h", dead_letter_topic="dead")
    said: list[str] = []
    for host in kit.world.brokers:
        host.on_line.append(lambda _, line: said.append(str(line)))
    kit.send_with([("kafkapy.attempts", 1)])
    kit.world.run(10_000)
    assert len(kit.all_of(SOURCE)) + len(kit.all_of("dead")) <= 2
    assert any("a circle: " in line for line in said)
