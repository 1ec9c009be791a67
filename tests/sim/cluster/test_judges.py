"""What the judges of a healed cluster, and the client that watches one, do not let pass."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.sim.checkers import History
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep, Together
from kafkapy.sim.cluster.clients.administrator import Administrator, Topic
from kafkapy.sim.cluster.clients.idempotent import IdempotentProducer, _Batch
from kafkapy.sim.cluster.clients.watcher import watcher
from kafkapy.sim.promises.cluster import (
    judge_images,
    judge_replicas,
    look_at_metadata,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng
from tests.sim.cluster.kit import Kit

E = ErrorCode
WITHIN_MS = 5_000


@pytest.fixture
def kit() -> Kit:
    kit = Kit(1)
    for value in (b"one", b"two"):
        kit.produce_until_acknowledged(value)
    judge_images(kit.world, WITHIN_MS)
    judge_replicas(kit.world, WITHIN_MS)
    return kit


def test_replicas_that_differ_by_a_bit(kit: Kit) -> None:
    segment = kit.partition(kit.follower()).log.segments.active
    kit.follower().disk.flip(segment.file.path, segment.size - 1, 1)
    with pytest.raises(BrokenPromise, match="the replicas of t-0 differ"):
        judge_replicas(kit.world, WITHIN_MS)


def test_a_replica_that_never_catches_up(kit: Kit) -> None:
    kit.world.network.isolate(kit.follower().name, kit.others(kit.follower()))
    kit.produce(b"three", acks=1)
    with pytest.raises(BrokenPromise, match="the replicas of t-0 differ"):
        judge_replicas(kit.world, WITHIN_MS)


def test_a_node_that_never_hears_of_a_topic(kit: Kit) -> None:
    # Neither the one that is asked nor the one that decides.
    alone = next(
        host
        for host in (kit.world.hosts[2], kit.world.hosts[3])
        if host is not kit.world.active_controller
    )
    kit.world.network.isolate(alone.name, kit.others(alone))
    kit.create("another")
    with pytest.raises(BrokenPromise, match="the nodes' metadata differ"):
        judge_images(kit.world, WITHIN_MS)


@pytest.mark.parametrize(
    ("topics", "deleted", "said"),
    [
        ([Topic("gone", 1)], set(), "gone has no partitions, and 1 were acknowledged"),
        ([Topic("t", 2)], set(), "t has 1 partitions, and 2 were acknowledged"),
        ([], {"t"}, "t is there, and was deleted"),
        ([Topic("t", 1, {"retention.ms": {"5"}})], set(), "retention.ms of t is None, and one of"),
    ],
)
def test_changes_that_a_broker_does_not_know(
    kit: Kit, topics: list[Topic], deleted: set[str], said: str
) -> None:
    promised = Administrator(kit.world.clock, SimRng(1), 3, lambda: True)
    kit.play(look_at_metadata(promised, 1))
    promised.topics = {topic.name: topic for topic in topics}
    promised.deleted = deleted
    with pytest.raises(BrokenPromise, match=f"broker 1: {said}"):
        kit.play(look_at_metadata(promised, 1))


@pytest.mark.parametrize("level", [0, 1])
def test_watermarks_that_go_back(level: int) -> None:
    names = {0: "high watermark", 1: "last stable offset"}
    watching = watcher([TopicPartition("t", 0)], SimRng(1), lambda: False)
    ask = _asked(next(watching))

    def hear(offset: int) -> None:
        """Of this level; about the other one there is nobody to ask."""
        nonlocal ask
        while ask.body["isolation_level"] != level:
            ask = _next_question(watching, 0, error_code=6)
        ask = _next_question(watching, offset)

    for offset in (5, 7, 7):
        hear(offset)
    with pytest.raises(BrokenPromise, match=f"the {names[level]} went back from 7 to 6"):
        hear(6)


def _next_question(watching: Actor, offset: int, error_code: int = 0) -> Ask:
    watching.send(_answer(offset, error_code))
    return _asked(next(watching))


def _asked(does: Ask | Together | Sleep) -> Ask:
    assert isinstance(does, Ask)
    return does


def _answer(offset: int, error_code: int) -> Any:
    row = SimpleNamespace(offset=offset, error_code=error_code)
    return SimpleNamespace(topics=[SimpleNamespace(partitions=[row])])


@pytest.mark.parametrize("is_again", [False, True])
def test_a_leader_that_does_not_know_what_it_has_acknowledged(kit: Kit, is_again: bool) -> None:
    """It asks for what comes before the second batch, and has acknowledged that. If it was sent
    before, that batch may be there: whether it is, is judged at the end."""
    values = map(str, count())
    producer = IdempotentProducer(
        kit.world.clock,
        History(),
        1,
        [TopicPartition("t", 0)],
        SimRng(3),
        lambda: False,
        lambda: next(values),
    )
    acting = producer.act()
    next(acting)
    batches = acting.send(SimpleNamespace(error_code=0, producer_id=7, producer_epoch=0))
    assert isinstance(batches, Together)
    others = len(batches.asks) - 2
    answers = [_produced(E.NONE), _produced(E.OUT_OF_ORDER_SEQUENCE_NUMBER), *[LOST] * others]
    if is_again:
        assert isinstance(acting.send([LOST] * len(answers)), Sleep)
        next(acting)
        acting.send(answers)
        assert producer.believed
        return
    with pytest.raises(BrokenPromise, match="everything before it was acknowledged"):
        acting.send(answers)


def _produced(error: ErrorCode) -> Any:
    row = SimpleNamespace(error_code=error, base_offset=-1)
    return SimpleNamespace(responses=[SimpleNamespace(partition_responses=[row])])


def test_a_first_batch_that_was_not_taken_while_those_behind_it_were_is_given_up() -> None:
    """Seed 585: refused for want of replicas; a moment later the partition took the second one, as
    of a producer that it did not know. A later batch is believed to be there, and looked for."""
    where = TopicPartition("t", 0)
    producer = IdempotentProducer(
        Kit(1).world.clock, History(), 1, (where,), SimRng(1), lambda: False, lambda: "v"
    )
    row = SimpleNamespace(error_code=E.OUT_OF_ORDER_SEQUENCE_NUMBER, base_offset=-1)
    answer = SimpleNamespace(responses=[SimpleNamespace(partition_responses=[row])])
    first, later = (_Batch([name], sequence, attempts=2) for name, sequence in (("a", 0), ("b", 1)))
    for batch in (first, later):
        producer._heard(where, batch, answer, is_first=True)
        assert batch.is_done
    assert first.is_given_up
    assert producer.believed == [(where, "b")]


def test_who_leads_is_said_by_the_newest_metadata() -> None:
    """Seed 768: a leader that was paused and replaced gave what others had done with."""
    kit = Kit(1)
    old = kit.leader()
    old.pause()
    kit.wait(lambda: not kit.world.led_by("t", old.node_id))
    assert old.node is not None
    assert old.node.image.topics_by_name["t"].partitions[0].leader == old.node_id
    (new,) = [host for host in kit.world.brokers if kit.world.led_by("t", host.node_id)]
    assert new is not old
