"""What the index says of partitions is what a look at all of them finds."""

import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kafkapy.kraft.controller import machine as machines
from kafkapy.kraft.controller.partitions import index as indexes
from kafkapy.kraft.controller.partitions.index import (
    ELIGIBLE,
    ELIGIBLE_BESIDE_ISR,
    LAST,
    LEADERLESS,
    LEAVABLE,
    REASSIGNING,
    UNPREFERRED,
    PartitionIndex,
)
from kafkapy.kraft.controller.partitions.places import START, Place, Places
from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClearElrRecord,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.kraft.controller.fakes import Cluster

BROKERS = range(1, 6)


def looked_up(image: MetadataImage) -> tuple[dict[tuple[int, int], set[Place]], set[int]]:
    """The places with each mark, and who leads something: by looking at everything."""
    found: dict[tuple[int, int], set[Place]] = {}
    for topic in image.topics_by_id.values():
        for number, state in topic.partitions.items():
            for mark in marks_of(state):
                found.setdefault(mark, set()).add((topic.id, number))
    return found, {state.leader for _, state in image.partitions()}


def marks_of(state: PartitionState) -> Iterator[tuple[int, int]]:
    for broker in state.isr:
        stays = state.isr == (broker,) and state.leader != broker
        yield (LAST if stays else LEAVABLE), broker
    for broker in state.elr:
        yield ELIGIBLE, broker
    if state.leader == -1:
        yield LEADERLESS, -1
    if state.leader != state.replicas[0]:
        yield UNPREFERRED, -1
    if state.adding_replicas or state.removing_replicas:
        yield REASSIGNING, -1
    if state.elr and state.isr:
        yield ELIGIBLE_BESIDE_ISR, -1


def check(index: PartitionIndex, image: MetadataImage) -> None:
    expected, leaders = looked_up(image)
    for broker in (-1, *BROKERS):
        assert index.leads_any(broker) == (broker in leaders)
        for mark in range(ELIGIBLE_BESIDE_ISR + 1):
            places = list(index.places(mark, broker=broker))
            assert len(places) == len(set(places))
            assert set(places) == expected.get((mark, broker), set()), (mark, broker)
            assert index.has_any(mark, broker) == bool(places)


class History:
    """Records of topics that come, grow, change and go, without any sense but their form."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.sizes: dict[UUID, int] = {}

    def some(self, of: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.rng.sample(of, self.rng.randint(0, len(of))))

    def fields(self, replicas: tuple[int, ...]) -> dict[str, Any]:
        isr = self.some(replicas)
        return {
            "replicas": replicas,
            "isr": isr,
            "leader": self.rng.choice((*isr, -1)),
            "adding_replicas": self.some(replicas[:1]),
            "removing_replicas": self.some(replicas[1:2]),
            "eligible_leader_replicas": tuple(one for one in replicas if one not in isr)[:1],
        }

    def replicas(self) -> tuple[int, ...]:
        return tuple(self.rng.sample(BROKERS, self.rng.randint(1, 4)))

    def next(self) -> list[MetadataRecord]:
        kind = self.rng.random()
        topics = list(self.sizes)
        if kind < 0.15 or not topics:
            topic_id = UUID(int=self.rng.getrandbits(128))
            self.sizes[topic_id] = 0
            count = self.rng.choice((1, 2, 5))
            grown = [self._partition(topic_id) for _ in range(count)]
            return [TopicRecord(name=str(topic_id), topic_id=topic_id), *grown]
        topic_id = self.rng.choice(topics)
        if kind < 0.22:
            del self.sizes[topic_id]
            return [RemoveTopicRecord(topic_id=topic_id)]
        if kind < 0.3:
            return [self._partition(topic_id)]
        if kind < 0.33:
            return [ClearElrRecord(topic_name=self.rng.choice(("", str(topic_id))))]
        number = self.rng.randrange(self.sizes[topic_id])
        fields = self.fields(self.replicas())
        kept = {name: fields[name] for name in self.rng.sample(list(fields), 3)}
        if "isr" in kept or "leader" in kept or "replicas" in kept:
            kept = fields
        return [PartitionChangeRecord(partition_id=number, topic_id=topic_id, **kept)]

    def _partition(self, topic_id: UUID) -> MetadataRecord:
        number = self.sizes[topic_id]
        self.sizes[topic_id] += 1
        return PartitionRecord(
            partition_id=number, topic_id=topic_id, directories=(), **self.fields(self.replicas())
        )


@pytest.mark.parametrize("seed", range(20))
def test_after_any_history_it_says_what_a_look_at_everything_finds(seed: int) -> None:
    """Topics come, grow, move and go; whole transactions are kept or dropped; others go on from a
    copy, which is lost, or from a snapshot."""
    history = History(seed)
    image = MetadataImage()
    index = PartitionIndex(image)

    def play(records: list[MetadataRecord], image: MetadataImage, index: PartitionIndex) -> None:
        for record in records:
            delta = Delta()
            image.apply(record, delta)
            index.follow(delta)

    for step in range(150):
        play(history.next(), image, index)
        if step % 30 == 10:
            many = [record for _ in range(12) for record in history.next()]
            play([BeginTransactionRecord(), *many, EndTransactionRecord()], image, index)
        if step % 30 == 15:
            sizes = history.sizes.copy()
            many = [record for _ in range(12) for record in history.next()]
            play([BeginTransactionRecord(), *many, AbortTransactionRecord()], image, index)
            history.sizes = sizes
        if step % 30 == 20:
            # A controller decides on this, and falls before it is committed.
            sizes, ahead = history.sizes.copy(), image.copy()
            uncommitted = PartitionIndex(ahead)
            play([record for _ in range(12) for record in history.next()], ahead, uncommitted)
            check(uncommitted, ahead)
            history.sizes = sizes
        if step % 30 == 25:
            loaded = MetadataImage()
            for record in records_of(image):
                loaded.apply(record)
            image, index = loaded, PartitionIndex(loaded)
        if step % 5 == 0:
            check(index, image)


@pytest.mark.parametrize("seed", range(10))
def test_what_changes_while_it_is_built_is_in_it_once(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(seed)
    image = MetadataImage()
    for _ in range(200):
        for record in history.next():
            image.apply(record)
    monkeypatch.setattr(indexes, "BUILT_AT_ONCE", 1)
    index = PartitionIndex(image)
    steps = 0
    while not index.is_complete and steps < 30:
        steps += 1
        index.build(1)
        for record in history.next():
            delta = Delta()
            image.apply(record, delta)
            index.follow(delta)
    assert steps > 2
    check(index, image)
    assert index.is_complete, "who asks waits for the rest"


def test_a_new_controller_builds_it_between_what_else_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster(brokers=3)
    for name in "abcd":
        cluster.create(name, (1, 2), (2, 3))
    cluster.create("e", (1,))
    cluster.fence(1)
    committed = cluster.log.image()
    cluster.controller.resign()
    monkeypatch.setattr(indexes, "BUILT_AT_ONCE", 2)
    monkeypatch.setattr(machines, "BUILT_AT_ONCE", 2)
    cluster.controller.lead(committed, ())
    machine = cluster.controller._machine
    assert machine is not None
    assert not machine.state.index.is_complete
    cluster.create("f", (2, 3))
    cluster.clock.advance(0)
    assert machine.state.index.is_complete
    check(machine.state.index, cluster.image)


def test_places_are_gone_through_some_at_a_time() -> None:
    a, b = UUID(int=1), UUID(int=2)
    numbers = [0, 3, 63, 64, 1000, 9999]
    places = Places.of([*((a, number) for number in numbers), (b, 7)])
    whole = list(places)
    assert whole == [*((a, number) for number in numbers), (b, 7)]
    assert places.is_more_than(len(whole) - 1)
    assert not places.is_more_than(len(whole))
    for size in range(1, len(whole) + 2):
        found: list[Place] = []
        cursor = START
        while not places.is_end(cursor):
            some, cursor = places.from_cursor(cursor, size)
            assert len(some) == min(size, len(whole) - len(found))
            found += some
        assert found == whole


def test_what_an_answer_shows_stays_as_it_was() -> None:
    cluster = Cluster(brokers=2)
    topic_id = cluster.create("t", (1, 2), (2, 1))
    assert cluster.controller._machine is not None
    before = cluster.controller._machine.state.index.places(LEAVABLE, broker=1)
    cluster.delete(topic_id)
    assert list(before) == [(topic_id, 0), (topic_id, 1)]
    assert not list(cluster.controller._machine.state.index.places(LEAVABLE, broker=1))
