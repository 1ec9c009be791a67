"""Each kind of alert on nodes that run: made to happen, seen firing, ended, seen resolved.

The judge's own tests say what each bound means; here the bounds are as low as they can be, and
what is looked at is real: groups and transactions of real clients, nodes that are killed, files.
"""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.http.alerting import judge
from kafkapy.http.alerting.judge import FIRING, RESOLVED
from kafkapy.http.alerting.rules import Alerting, Rule
from kafkapy.http.alerts import look
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.server.disk.real_disk import RealDisk
from kafkapy.testing import Broker, Cluster
from kafkapy.testing.security.certificates import Authority
from tests.http.pages import HTTP, site_of, with_kafka

# Nodes look by themselves, too; these are so far apart that they do not meet.
SETTINGS = {**HTTP, "http.alerts.interval.ms": "2147483647", "http.lag.interval.ms": "2147483647"}
_SECONDS = 60.0
_DAYS_90 = timedelta(days=90)


class Watch:
    """One rule of each of these kinds, looked at by a node when the test says so."""

    def __init__(self, broker: Broker, *kinds: str, above: float = 0.0) -> None:
        rules = tuple(Rule(kind, kind, above, 0) for kind in kinds)
        self._broker = broker
        self._site = site_of(broker, Alerting(rules))

    def look(self) -> set[tuple[str, str, str]]:
        """What has changed: (kind, state, subject)."""

        async def work(kafka: Kafka) -> set[tuple[str, str, str]]:
            await self._site.lag.look(kafka.link)
            changes = await look(self._site, self._site.judge, None)
            return {(one.rule.kind, one.state, one.subject) for one in changes}

        return with_kafka(self._broker, work)

    def lag_of(self, group: str) -> tuple[int, bool]:
        """Records, and whether anything is committed."""
        (one,) = self._site.lag.of_group(group)
        return one.records, one.has_committed

    def wait_for(
        self, *wanted: tuple[str, str, str], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Looks until all of these have been told."""
        left, deadline = set(wanted), time.monotonic() + _SECONDS
        while left:
            assert time.monotonic() < deadline, left
            meanwhile()
            left -= self.look()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS) as started:
        yield started


def _write(broker: Broker, topic: str, count: int = 10, size: int = 1) -> None:
    async def work(kafka: Kafka) -> None:
        for _ in range(count):
            await records.produce(kafka, topic, 0, [NewRecord(None, b"x" * size, 1000)])

    with_kafka(broker, work)


def _commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    async def work(kafka: Kafka) -> None:
        await groups.commit(kafka, group, {TopicPartition(topic, 0): offset})

    with_kafka(broker, work)


def test_a_group_whose_lag_grows_until_it_drains(broker: Broker) -> None:
    broker.create_topic("growing")
    _commit(broker, "slow", "growing", 0)
    watch = Watch(broker, "lag_grows")
    assert watch.look() == set()
    watch.wait_for(("lag_grows", FIRING, "slow"), meanwhile=lambda: _write(broker, "growing"))
    _commit(broker, "slow", "growing", 10)
    assert watch.look() == {("lag_grows", RESOLVED, "slow")}


def test_a_group_that_is_behind_until_it_has_read_all(broker: Broker) -> None:
    broker.create_topic("behind")
    _write(broker, "behind")
    _commit(broker, "late", "behind", 9)
    watch = Watch(broker, "lag_seconds", above=3600)
    assert watch.look() == {("lag_seconds", FIRING, "late")}
    _commit(broker, "late", "behind", 10)
    assert watch.look() == {("lag_seconds", RESOLVED, "late")}


def test_a_message_that_a_real_consumer_does_not_get_past(broker: Broker) -> None:
    """It reads, and fails, and commits nothing; then somebody tells it to skip that message."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    broker.create_topic("poisoned")
    _write(broker, "poisoned")
    _commit(broker, "failing", "poisoned", 3)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "failing",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["poisoned"])
    assert consumer.poll(30).offset() == 3
    watch = Watch(broker, "poison_message")
    watch.wait_for(("poison_message", FIRING, "failing"))
    end = confluent_kafka.TopicPartition("poisoned", 0, 10)
    consumer.commit(offsets=[end], asynchronous=False)
    assert watch.look() == {("poison_message", RESOLVED, "failing")}
    consumer.close()


def test_the_first_message_that_a_new_group_does_not_get_past(broker: Broker) -> None:
    """It has committed nothing, ever. What was there when it came may be none of its business; what
    comes then is. It dies of it, and comes again, and is seen all the while."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    broker.create_topic("all-new")
    _write(broker, "all-new")
    watch = Watch(broker, "poison_message", "lag_seconds")
    for group in ("newborn", "console-consumer-4711"):
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe(["all-new"])
        assert consumer.poll(30).offset() == 0
        assert watch.look() == set()
        _write(broker, "all-new", 3)
        if group != "newborn":
            assert {one for _, _, one in watch.look()} <= {"newborn"}
            consumer.close()
            continue
        watch.wait_for(*((kind, FIRING, group) for kind in ("poison_message", "lag_seconds")))
        assert watch.lag_of(group) == (3, False)
        consumer.close()
        assert watch.look() == {("poison_message", RESOLVED, group)}
        assert watch.lag_of(group) == (3, False), "it may come again"
        _commit(broker, group, "all-new", 13)
        assert watch.look() == {("lag_seconds", RESOLVED, group)}


def test_a_group_that_has_read_all_is_not_stuck_when_the_next_comes(broker: Broker) -> None:
    """It stands where it is for want of records: stuck it is from when there are some."""
    broker.create_topic("quiet")
    _commit(broker, "patient", "quiet", 0)
    site = site_of(broker)
    now_ms, passed_ms = site.link.node.clock.now(), 3_600_000

    async def work(kafka: Kafka) -> None:
        await site.lag.look(kafka.link)
        (before,) = site.lag.of_group("patient")
        long_ago = before._replace(stands_since_ms=now_ms - passed_ms)
        site.lag.found = (long_ago,)
        await records.produce(kafka, "quiet", 0, [NewRecord(None, b"x", 1000)])
        await site.lag.look(kafka.link)
        (after,) = site.lag.of_group("patient")
        assert after.records == 1
        assert after.stands_since_ms >= now_ms

    with_kafka(broker, work)


def test_a_transaction_of_a_real_producer_that_stays_open(broker: Broker) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    broker.create_topic("in-doubt")
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": "invoices",
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(30)
    watch = Watch(broker, "transaction_stuck")
    assert watch.look() == set()
    producer.begin_transaction()
    producer.produce("in-doubt", b"x")
    assert producer.flush(30) == 0
    watch.wait_for(("transaction_stuck", FIRING, "invoices"))
    producer.abort_transaction(30)
    watch.wait_for(("transaction_stuck", RESOLVED, "invoices"))


def test_a_volume_that_fills_until_somebody_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gibibyte, of which free is what Kafka's files have left; records come, and are deleted."""

    def space(_: RealDisk, directory: str) -> tuple[int, int]:
        used = sum(one.stat().st_size for one in Path(directory).rglob("*.log"))
        return 1 << 30, (1 << 30) - used

    monkeypatch.setattr(RealDisk, "space", space)
    monkeypatch.setattr(judge, "_TREND_MS", 0)
    with Broker(SETTINGS, directory=tmp_path) as broker:
        broker.create_topic("filling", config={"segment.bytes": "2000000"})
        watch = Watch(broker, "disk_full", above=24)
        full = "disk_full", FIRING, str(tmp_path)
        watch.wait_for(full, meanwhile=lambda: _write(broker, "filling", 2, 500_000))

        async def make_room(kafka: Kafka) -> None:
            topics = [{"name": "filling", "topic_id": None}]
            body = {"topics": topics, "topic_names": [], "timeout": 30_000}
            answer = await kafka.ask(ApiKey.DELETE_TOPICS, body)
            assert answer.responses[0].error_code == 0

        with_kafka(broker, make_room)
        watch.wait_for(("disk_full", RESOLVED, str(tmp_path)))


def test_a_certificate_that_ends_until_it_is_renewed(tmp_path: Path) -> None:
    authority, path = Authority(), tmp_path / "server.pem"
    authority.issue("broker", hosts=("127.0.0.1",)).write(path)
    settings = {
        **SETTINGS,
        "http.listeners": "https://127.0.0.1:0",
        "listener.name.http.ssl.keystore.type": "PEM",
        "listener.name.http.ssl.keystore.location": str(path),
    }
    with Broker(settings) as broker:
        watch = Watch(broker, "certificate_expires", above=14)
        assert watch.look() == {("certificate_expires", FIRING, "HTTP")}
        authority.issue("broker", hosts=("127.0.0.1",), lasts=_DAYS_90).write(path)
        assert watch.look() == {("certificate_expires", RESOLVED, "HTTP")}


def test_partitions_without_a_leader_and_with_too_few_replicas_until_a_node_is_back() -> None:
    """Node 3 is killed: one partition has nobody left, another one replica of two."""
    with Cluster(3, settings=SETTINGS) as cluster:
        cluster.create_topic("alone", assignment={0: [3]})
        two = {"min.insync.replicas": "2"}
        cluster.create_topic("pair", assignment={0: [1, 3]}, config=two)
        cluster.wait_until_whole()
        watch = Watch(cluster.node(1), "no_leader", "under_min_isr")
        assert watch.look() == set()
        kinds = "no_leader", "under_min_isr"
        cluster.kill(3)
        watch.wait_for(*((kind, FIRING, "partitions") for kind in kinds))
        cluster.restart(3)
        watch.wait_for(*((kind, RESOLVED, "partitions") for kind in kinds))
