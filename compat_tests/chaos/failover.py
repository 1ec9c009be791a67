"""One stock client's producer under load, its cluster loses a node, and the judgement."""

import time
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.chaos.asking import leader_of
from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.producers.clients import Producer
from compat_tests.chaos.producers.telling import Order
from compat_tests.chaos.run import nothing_ends_too_soon
from compat_tests.crashes.consumers import UNCOMMITTED, Reader, ends
from compat_tests.crashes.recording import Recording
from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.sim.checkers import Send

PARTITIONS: Final = 3
PER_SECOND: Final = 600
# So many acknowledgements before and after the trouble.
_STEADY: Final = 1500
_LONGEST_S: Final = 150.0
_PRODUCER, _READER = 1, 2

KILLED, CONTROLLER_KILLED, STOPPED = (
    "kill -9, a leader",
    "kill -9, the active controller",
    "stop, a leader",
)
TROUBLES: Final = (KILLED, CONTROLLER_KILLED, STOPPED)


class Seen(NamedTuple):
    """`gap_s`: the longest time in which a partition acknowledged nothing. `failed`: what the
    client gave up, of its own accord, and said so."""

    acknowledged: int
    failed: int
    gap_s: float

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} acknowledged, {self.failed} given up, "
            f"longest gap {self.gap_s:.2f} s"
        )


def play(cluster: Cluster, client: str, trouble: str, topic: str, directory: Path) -> Seen:
    """AssertionError if anything acknowledged is lost, doubled or out of order."""
    cluster.wait_until_whole()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 3)])[topic].result(PATIENCE_S)
    cluster.wait_until_whole()
    order = Order(cluster.bootstrap, topic, PARTITIONS, PER_SECOND)
    producer = Producer(client, order, directory)
    try:
        _wait_for(producer, _STEADY, "it is under way")
        victim = _victim(cluster, topic, trouble)
        began = time.time()
        if trouble == STOPPED:
            cluster.stop([victim])
        else:
            cluster.kill(victim)
        after = time.time()
        wait_for(
            f"{client} goes on after {trouble}",
            lambda: producer.is_acknowledged_since(after),
            timeout_s=_LONGEST_S,
        )
        _wait_for(producer, len(producer.acknowledged) + _STEADY, "steady again")
        until = time.time()
        cluster.start([victim])
        cluster.wait_until_whole()
        _wait_for(producer, len(producer.acknowledged) + _STEADY, "steady when all are there")
        gap_s = producer.longest_gap(began, until)
    finally:
        producer.close()
    _judge(cluster, topic, producer)
    return Seen(len(producer.acknowledged), len(producer.failed), gap_s)


def _wait_for(producer: Producer, count: int, what: str) -> None:
    wait_for(what, lambda: len(producer.acknowledged) >= count, timeout_s=_LONGEST_S)


def _victim(cluster: Cluster, topic: str, trouble: str) -> int:
    """Every node leads one of the partitions; the leader that goes is not the controller."""
    controller = wait_for("an active controller", cluster.state).controller_id
    if trouble == CONTROLLER_KILLED:
        return controller
    leaders = {leader_of(cluster.bootstrap, topic, one) for one in range(PARTITIONS)}
    return next(one for one in leaders if one is not None and one != controller)


def _judge(cluster: Cluster, topic: str, producer: Producer) -> None:
    """What the producer was told, and what a reader finds, as the world's checkers see it."""
    recording = Recording()
    for sent in producer.sent:
        answer = producer.acknowledged.get(sent)
        offset = None if answer is None else answer.offset
        send = Send(f"{topic}-{sent.partition}", str(sent.number), offset)
        recording.complete(recording.invoke(_PRODUCER), producer.outcome(sent), (send,))
    everywhere = [(topic, one) for one in range(PARTITIONS)]
    at_end = ends(cluster.bootstrap, UNCOMMITTED, everywhere)
    nothing_ends_too_soon(recording, at_end)
    reader = Reader(cluster.bootstrap, recording, _READER, everywhere, UNCOMMITTED)
    reader.read_to_the_ends()
    reader.close()
    found = recording.anomalies()
    assert not found, f"{len(found)} anomalies: " + "; ".join(map(str, found[:5]))
    read = sum(map(len, reader.values.values()))
    assert read == sum(at_end.values()), (read, at_end)
