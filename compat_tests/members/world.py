"""A topic that is written to, the members of one group that read it, and the verdict."""

import itertools
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from compat_tests.confluent_kafka.clients import admin, create
from compat_tests.members.process import Kind, Member, Partition
from compat_tests.waiting import PATIENCE_S, wait_for

_LOAD_PAUSE_S = 0.02
_ASK_S = 5.0
_news = itertools.count()


class Load:
    """Records to every partition of some topics, one each about fifty times a second."""

    def __init__(self, broker: str, log: Path) -> None:
        settings = {"bootstrap.servers": broker, "linger.ms": 5, "acks": "all"}
        # What the library did when a test says that it did nothing.
        settings |= {"debug": "broker,metadata,topic,protocol", "log_level": 7}
        self._log = logging.FileHandler(log)
        self._log.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger = logging.Logger("load", logging.DEBUG)
        logger.addHandler(self._log)
        self._producer = Producer(settings, logger=logger)
        self._targets: tuple[Partition, ...] = ()
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def on(self, targets: Iterable[Partition]) -> None:
        wanted = tuple(targets)
        wait_for("the producer knows them", lambda: self._knows(wanted))
        self._targets = wanted
        if not self._thread.is_alive():
            self._thread.start()

    def write(self, partition: Partition, value: str) -> None:
        """One record of the test's own, acknowledged on return."""
        topic, number = partition
        reports: list[object] = []
        self._producer.produce(
            topic, value, partition=number, on_delivery=lambda error, _: reports.append(error)
        )
        wait_for("the record is acknowledged", lambda: reports, every_s=0.005)
        assert reports == [None], reports

    def stop(self) -> None:
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        left = self._producer.flush(PATIENCE_S)
        assert left == 0, f"{left} records had no acknowledgement"

    def end(self) -> None:
        """Whether all is acknowledged or not."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._log.close()

    def _knows(self, targets: tuple[Partition, ...]) -> bool:
        topics = self._producer.list_topics(timeout=PATIENCE_S).topics
        return all(
            topic in topics and number in topics[topic].partitions for topic, number in targets
        )

    def _run(self) -> None:
        for number in itertools.count():
            if self.stopping.wait(_LOAD_PAUSE_S):
                return
            for topic, partition in self._targets:
                self._producer.produce(topic, str(number), partition=partition)
            self._producer.poll(0)


class GroupWorld:
    """What one scenario plays with."""

    def __init__(self, broker: str, kind: Kind, topic: str, group: str, directory: Path) -> None:
        self.broker = broker
        self.kind = kind
        self.topic = topic
        self.group = group
        self.members: list[Member] = []
        self.partitions: list[Partition] = []
        self.is_disturbed = False  # nodes are restarted meanwhile
        self.load = Load(broker, directory / "load.log")
        self._directory = directory
        self._admin: AdminClient = admin(broker)
        # Of the group by its name only: it never joins.
        self._observer = Consumer(
            {"bootstrap.servers": broker, "group.id": group, "enable.auto.commit": False}
        )
        self._seen: dict[Partition, list[int]] = defaultdict(list)
        self._looked = threading.Event()

    # What happens

    def create(self, partitions: int, *, suffix: str = "") -> list[Partition]:
        topic = self.topic + suffix
        create(self.broker, topic, partitions=partitions)
        new = [(topic, number) for number in range(partitions)]
        self.partitions += new
        return new

    def grow(self, partitions: int) -> None:
        before = len(self.partitions)
        grown = NewPartitions(self.topic, partitions)
        self._admin.create_partitions([grown])[self.topic].result(PATIENCE_S)
        self.partitions += [(self.topic, number) for number in range(before, partitions)]

    def join(self, **order: Any) -> Member:
        """Another member; `order` is what it does otherwise than the others."""
        member = Member(
            self.kind,
            {
                "broker": self.broker,
                "group": self.group,
                "protocol": self.kind.protocol,
                "assignor": "cooperative" if self.kind.is_cooperative else "eager",
                "topics": [self.topic],
                "session_ms": 6000,
                **order,
            },
            self._directory,
        )
        self.members.append(member)
        return member

    # What is waited for

    def wait_for(self, what: str, condition: Callable[[], object]) -> None:
        """Meanwhile everybody is watched."""

        def is_true() -> object:
            self.look()
            return condition()

        try:
            wait_for(what, is_true, timeout_s=2 * PATIENCE_S)
        except AssertionError as late:
            raise AssertionError(f"{late}; {self.members}") from None

    def wait_for_split(self, members: list[Member]) -> None:
        """Until they share all partitions, none in two hands, each with some."""

        def is_split() -> bool:
            shares = [set(member.owned) for member in members]
            return (
                all(shares)
                and sum(map(len, shares)) == len(self.partitions)
                and set().union(*shares) == set(self.partitions)
            )

        self.wait_for(f"{len(members)} members share {len(self.partitions)} partitions", is_split)

    def wait_for_news(self, members: Iterable[Member]) -> None:
        """Until every partition of theirs brought a record that is written now."""
        for member in members:
            for partition in sorted(member.owned):
                self.wait_for_record(member, partition)

    def wait_for_record(self, member: Member, partition: Partition) -> None:
        """Or until the member gives the partition up."""
        value = f"news-{next(_news)}"
        self.load.write(partition, value)
        self.wait_for(
            f"{member.name} reads {value} in {partition}",
            lambda: partition not in member.owned or member.has_read(partition, value),
        )

    def state(self) -> ConsumerGroupState:
        answers = self._admin.describe_consumer_groups([self.group], request_timeout=_ASK_S)
        (answer,) = answers.values()
        try:
            found: ConsumerGroupState = answer.result(PATIENCE_S).state
        except KafkaException:  # its coordinator is not there now
            self._renew_admin()
            return ConsumerGroupState.UNKNOWN
        return found

    def is_stable(self) -> bool:
        return self.state() == ConsumerGroupState.STABLE

    # The verdict

    def look(self) -> None:
        """Note what is committed now, as anybody can ask."""
        for partition, offset in self.committed().items():
            if not self._seen[partition] or self._seen[partition][-1] != offset:
                self._seen[partition].append(offset)

    def committed(self) -> Mapping[Partition, int]:
        asked = [TopicPartition(topic, number) for topic, number in self.partitions]
        try:
            found = self._observer.committed(asked, timeout=_ASK_S)
        except KafkaException:
            return {}  # its coordinator is not there now
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def finish(self) -> None:
        """End the load, let everything be read, close everybody, and judge."""
        self.load.stop()
        ends = self._ends()
        self.wait_for("every record is read", lambda: not self._unread(ends))
        self.wait_for("everything is committed", lambda: self.committed() == ends)
        for member in self.members:
            if member.is_running:
                member.close()
        self.judge(ends)

    def judge(self, ends: Mapping[Partition, int]) -> None:
        assert self._unread(ends) == {}
        values: dict[tuple[Partition, int], str] = {}
        for member in self.members:
            assert member.violations == [], member
            for tenure in member.tenures:
                offsets = [read.offset for read in tenure.reads]
                if offsets:
                    expected = list(range(offsets[0], offsets[0] + len(offsets)))
                    assert offsets == expected, (member.name, tenure.partition, offsets)
                for read in tenure.reads:
                    value = values.setdefault((read.partition, read.offset), read.value)
                    assert value == read.value, (read, "was", value)
        for partition, offsets in self._seen.items():
            assert offsets == sorted(offsets), (partition, "commits went back", offsets)

    def end(self) -> None:
        """Whatever happened: nobody is left behind."""
        self.load.end()
        self._observer.close()
        for member in self.members:
            if member.is_running:
                member.thaw()
                member.kill()

    def _renew_admin(self) -> None:
        """librdkafka's admin client may not find the way back to a server that restarted."""
        self._admin = AdminClient({"bootstrap.servers": self.broker, "log_level": 2})

    def _unread(self, ends: Mapping[Partition, int]) -> dict[Partition, set[int]]:
        left = {partition: set(range(end)) for partition, end in ends.items() if end}
        for member in self.members:
            for read in member.reads():
                left.get(read.partition, set()).discard(read.offset)
        return {partition: offsets for partition, offsets in left.items() if offsets}

    def _ends(self) -> dict[Partition, int]:
        client = Consumer({"bootstrap.servers": self.broker, "group.id": "nobody"})

        def end_of(partition: Partition) -> tuple[int] | None:
            try:
                return client.get_watermark_offsets(TopicPartition(*partition), _ASK_S)[1:]
            except KafkaException:
                return None  # its leader is not there now, and librdkafka does not ask again

        try:
            return {
                one: wait_for(f"{one} tells its end", partial(end_of, one))[0]
                for one in self.partitions
            }
        finally:
            client.close()
