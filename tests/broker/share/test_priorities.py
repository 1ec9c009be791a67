"""A share group over several topics: what weighs more goes first, and what weighs least goes on."""

from functools import partial

from kafkapy.protocol.api_keys import ApiKey
from tests.broker.share.member import ACCEPT, Member, configure_group
from tests.sim.cluster.kit import Kit

WEIGHTS = {"high": 100, "middle": 10, "low": 1}


def kit(seed: int) -> tuple[Kit, Member]:
    """All three topics on one leader, and a member that reads them."""
    made = Kit(seed)
    for name, weight in WEIGHTS.items():
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": [1, 2, 3]}],
            "configs": [{"name": "kafkapy.share.weight", "value": str(weight)}],
        }
        made.client.ask(1, ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})
        made.wait(partial(lambda it: made.leader_or_none(it) is not None, name))
    configure_group(made)
    return made, Member(made, "a", topics=tuple(WEIGHTS)).join()


def test_high_goes_before_low_whatever_came_first() -> None:
    made, one = kit(61)
    for name in ("low", "middle", "high"):
        for number in range(3):
            one.produce(f"{name}-{number}".encode(), topic=name)
    made.world.run(50)
    assert taken(one, 9) == [f"{name}-{number}" for name in WEIGHTS for number in range(3)]


def test_low_goes_first_once_it_has_waited_longer_than_the_weights_say() -> None:
    made, one = kit(62)
    one.produce(b"low-0", topic="low")
    made.world.run(30_000)
    one.produce(b"high-0", topic="high")
    one.produce(b"middle-0", topic="middle")
    made.world.run(200)
    assert taken(one, 3) == ["low-0", "high-0", "middle-0"]


def test_under_overload_waiting_times_relate_as_weights_and_low_goes_on() -> None:
    """150 records a second come, 100 are taken: 20 high, 30 middle, 100 low."""
    made, one = kit(63)
    waits: dict[str, list[int]] = {name: [] for name in WEIGHTS}
    for _ in range(200):
        for name, count in (("high", 2), ("middle", 3), ("low", 10)):
            now = str(made.world.clock.now()).encode()
            one.produce(*[now] * count, topic=name)
        made.world.run(100)
        for got in one.fetch(max_records=10, mode=1):
            waits[got.topic].append(made.world.clock.now() - int(got.value or b""))
            one.acknowledge(got.offset, got.offset, ACCEPT, topic=got.topic)
    third = {name: sorted(found[-len(found) // 3 :]) for name, found in waits.items()}
    p99 = {name: found[len(found) * 99 // 100] for name, found in third.items()}
    assert p99["high"] < p99["middle"] < p99["low"]
    assert p99["high"] < 1_000 < 4 * p99["middle"] < p99["low"]
    assert len(third["low"]) > 100, "the lowest goes on"


def taken(one: Member, count: int) -> list[str]:
    """One at a time, each accepted."""
    found = []
    for _ in range(count):
        (got,) = one.fetch(max_records=1, mode=1, max_wait=1_000)
        found.append((got.value or b"").decode())
        one.acknowledge(got.offset, got.offset, ACCEPT, topic=got.topic)
    return found
