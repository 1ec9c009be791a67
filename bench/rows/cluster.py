"""Three nodes, three replicas, two of them in sync at least, acks=all, 1 KiB records.

Each partition has a leader of its own node and a connection of its own, as a producer has that
fills a batch for each partition. Whose batches are of 64 KiB has `batch.size=65536`.
"""

import signal
import time
from dataclasses import dataclass

from bench.load import kload
from bench.nodes import Nodes
from bench.row import (
    APACHE,
    KAFKAPY,
    LIMIT,
    P50,
    P99,
    P999,
    RATE,
    RESIDENT,
    SECONDS,
    Figure,
    Figures,
    Row,
)
from bench.run import Run
from bench.servers import addresses, pids
from bench.wire import is_in_sync, is_led_without

_NODES = 3
_RECORD_BYTES = 1024
# Records of 1 KiB that fit: their batch has a header of 61 bytes, each record some 8 more.
_IN_16K, _IN_64K, _IN_1M = 15, 63, 950
# A JVM needs a while until it is as fast as it gets.
_WARM_S = 8.0


def _batches(run: Run, partitions: int, records: int) -> tuple[list[tuple[str, int]], kload.Frames]:
    """The partitions of a new topic, and requests of so many records into each."""
    topic = run.topic(partitions)
    into = [(topic, one) for one in range(partitions)]
    return into, kload.Frames.of_produce(into, records=records, record_bytes=_RECORD_BYTES, acks=-1)


@dataclass(frozen=True, slots=True)
class AtRate:
    rate: int
    batch: int
    partitions: int = _NODES
    kind: str = "ack"
    full_seconds: float = 15

    def __call__(self, run: Run) -> Figures:
        into, frames = _batches(run, self.partitions, self.batch)
        with run.costs() as costs:
            found = kload.open_loop(
                run.leaders(self.partitions),
                frames,
                connections=self.partitions,
                rate=self.rate,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=_WARM_S,
                reads=into if self.kind == "e2e" else (),
            )
        spent = costs.figures(found["total"], found["total_seconds"])
        rate = found["records"] / found["seconds"]
        return {**spent, "rate": rate, **kload.latency(found, self.kind)}


@dataclass(frozen=True, slots=True)
class AtMost:
    """As fast as it goes with five batches of each partition on their way."""

    batch: int
    partitions: int = _NODES
    full_seconds: float = 10

    def __call__(self, run: Run) -> Figures:
        _, frames = _batches(run, self.partitions, self.batch)
        with run.costs() as costs:
            found = kload.closed(
                run.leaders(self.partitions),
                frames,
                connections=self.partitions,
                depth=5,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=_WARM_S,
            )
        spent = costs.figures(found["total"], found["total_seconds"])
        return {**spent, "rate": found["records"] / found["seconds"]}


@dataclass(frozen=True, slots=True)
class FailOver:
    """The longest time without an acknowledgement after kill -9 of a leader, for librdkafka with
    an idempotent producer. `of_controller`: it is the active controller, too."""

    of_controller: bool

    def __call__(self, run: Run) -> Figures:
        with run.start(nodes=_NODES) as server:
            topic = run.topic(_NODES)
            controller = run.wire().active_controller()
            victim = controller if self.of_controller else controller % _NODES + 1
            others = [one for one in range(1, _NODES + 1) if one != victim]
            found = run.client(
                "failover",
                topic=topic,
                addresses=[addresses(server)[one - 1] for one in others],
                partition=victim - 1,
                kills=pids(server)[victim - 1],
                rate=5000,
            )
            run.forget_topics()  # who was asked to delete them may be gone
            return dict(found)


@dataclass(frozen=True, slots=True)
class Many:
    """Topics made one request after the other until all replicas are in sync; then a rest. Then a
    node is killed that is not the controller: until others lead all that it led; and it starts
    again: until all are in sync."""

    topics: int
    partitions: int = 10
    a_request: int = 50
    rest_s: float = 10

    def __call__(self, run: Run) -> Figures:
        with run.start(nodes=_NODES) as server:
            began = time.perf_counter()
            count = run.records(self.topics)
            run.wire().create_many("many-{}", count, self.partitions, self.a_request)
            seconds = time.perf_counter() - began
            time.sleep(self.rest_s)
            with run.costs() as costs:
                time.sleep(self.rest_s)
            rest = costs.figures(count)
            names = [f"many-{number}" for number in range(count)]
            # The node that is asked here stays.
            victim = next(one for one in (3, 2) if one != run.wire().active_controller())
            assert isinstance(server, Nodes), server
            cluster = server.cluster
            cluster.stop([victim], how=signal.SIGKILL)
            led = run.wire().seconds_until(lambda topic: is_led_without(topic, victim), names)
            began_again = time.perf_counter()
            cluster.start([victim])
            run.wire().seconds_until(lambda topic: is_in_sync(topic, _NODES), names)
            return {
                "lead_s": led,
                "sync_s": time.perf_counter() - began_again,
                "seconds": seconds,
                "idle_cores": rest["cores"] / len(pids(server)),
                "resident_mb": rest["resident_mb"],
            }


_LATENCY = (P50, P99, P999)
_TARGETS = (KAFKAPY, APACHE, LIMIT)
_TWO = (KAFKAPY, APACHE)
_IDLE = Figure("idle_cores", "cores a node, idle")
_LEAD = Figure("lead_s", "s until others lead")
_SYNC = Figure("sync_s", "s from its start until in sync")
_WITHOUT = Figure("seconds", "s without an acknowledgement")


def _row(id_: str, title: str, measure: AtRate | AtMost, figures: tuple[Figure, ...]) -> Row:
    return Row(f"cluster-{id_}", title, measure, figures, _TARGETS, nodes=_NODES)


ROWS = (
    _row("1k", "acknowledgement at 1,000/s, one record each", AtRate(1000, 1, 1), _LATENCY),
    _row("20k-16k", "at 20,000/s, 16 KiB batches", AtRate(20_000, _IN_16K), _LATENCY),
    _row("67k-64k", "at 67,000/s, 64 KiB batches", AtRate(67_000, _IN_64K), _LATENCY),
    _row("67k-16k", "at 67,000/s, 16 KiB batches", AtRate(67_000, _IN_16K), _LATENCY),
    Row(
        "cluster-67k-e2e",
        "end to end at 67,000/s, 64 KiB batches",
        AtRate(67_000, _IN_64K, kind="e2e"),
        _LATENCY,
        _TWO,
        nodes=_NODES,
    ),
    _row("most-16k", "as fast as it goes, 16 KiB batches", AtMost(_IN_16K), (RATE,)),
    _row("most-64k", "as fast as it goes, 64 KiB batches", AtMost(_IN_64K), (RATE,)),
    _row("most-1m", "as fast as it goes, 1 MB batches", AtMost(_IN_1M), (RATE,)),
    Row(
        "cluster-kill",
        "kill -9 of a leader, its partition's producer",
        FailOver(of_controller=False),
        (_WITHOUT,),
        _TWO,
        starts_own=True,
    ),
    Row(
        "cluster-kill-both",
        "kill -9 of a leader that is the active controller",
        FailOver(of_controller=True),
        (_WITHOUT,),
        _TWO,
        starts_own=True,
    ),
    Row(
        "cluster-many",
        "1,000 topics of 10 partitions made, all in sync",
        Many(1000),
        (SECONDS, _IDLE, RESIDENT, _LEAD, _SYNC),
        _TWO,
        starts_own=True,
    ),
)
