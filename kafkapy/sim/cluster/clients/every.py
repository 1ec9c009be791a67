"""All clients of a run, by kind: who they are, what they remember, and when they are done.

producers     idempotent, acks=all, up to five batches in flight
plain         acks=1, no promise
readers       read_committed, all the time
watchers      neither watermark goes back
admin         topics come, go, grow and change
consumers     a group of KIP-848       classic     a group of the classic protocol
sharers       a share group (KIP-932), a producer that it reads from, and one of transactions
streams       an application of Kafka Streams (KIP-1071), and a producer of its input
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.sim.checkers import History
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Playing, Sleep
from kafkapy.sim.clients.committed_reader import CommittedReader
from kafkapy.sim.clients.exactly_once import (
    OUTPUT,
    TOPICS,
    WRITTEN,
    ExactlyOnce,
    committed_offset,
    judge_outputs,
)
from kafkapy.sim.clients.group_members import MemberPlan, classic_member, consumer_member
from kafkapy.sim.cluster.clients.administrator import Administrator
from kafkapy.sim.cluster.clients.idempotent import IdempotentProducer, plain_producer
from kafkapy.sim.cluster.clients.routed import RETRY_MS, ClusterClient, Talk
from kafkapy.sim.cluster.clients.sharers import (
    Sharer,
    TransactionsToShare,
    drawn_facts,
    settings_of_group,
)
from kafkapy.sim.cluster.clients.streams import application as streams
from kafkapy.sim.cluster.clients.streams.member import Thread as StreamsThread
from kafkapy.sim.cluster.clients.streams.tasks import whole_changelog
from kafkapy.sim.cluster.clients.watcher import watcher
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.cluster import read_everything
from kafkapy.sim.promises.groups import GroupFacts
from kafkapy.sim.promises.partitions import BrokenPromise

PARTITIONS: Final = 4
MEMBERS: Final = 3
RECORDS: Final = tuple(TopicPartition("records", index) for index in range(PARTITIONS))
READ: Final = "read"
SHARED: Final = (TopicPartition("shared", 0), TopicPartition("shared", 1))
SETUP_MS: Final = 60_000


class Clients:
    """`is_calm`: the world is healed, finish what you are at. `is_over`: groups end too."""

    def __init__(self, world: ClusterWorld, kinds: Sequence[str], replication_factor: int) -> None:
        self.history = History()
        self.is_calm = False
        self.is_over = False
        self.values: dict[TopicPartition, list[str]] = {}  # of everything, when all is over
        self._committed: list[int] = []
        self.groups: list[GroupFacts] = []
        self.playing: dict[str, Playing] = {}
        self._world = world
        self._rng = world.rng.fork("clients")
        self._values = 0
        self._machines = 0
        self._processes = 0
        self.operator = Administrator(
            world.clock, self._rng.fork("operator"), replication_factor, lambda: self.is_calm
        )
        self.producers: list[IdempotentProducer] = []
        self._kinds = kinds
        self._has_transactions = "transactions" in kinds
        self._has_sharers = "sharers" in kinds
        self.shared = drawn_facts(self._rng.fork("share group"))
        self._has_streams = "streams" in kinds
        self.streams = streams.Application(
            world.clock,
            streams.drawn_facts(self._rng.fork("streams group")),
            self._rng.fork("streams"),
            replication_factor,
            lambda: self.is_calm,
            lambda: self.is_over,
        )
        self._writes_words = ""
        self._seen: list[list[str]] = []

    def begin(self) -> None:
        """Topics first, then everybody. Controllers alone have no clients."""
        if not self._world.brokers:
            return
        self.until_done("operator", self._topics(), SETUP_MS)
        for kind in self._kinds:
            KINDS[kind](self)

    def until_done(self, name: str, actor: Actor, within_ms: int) -> None:
        playing = self._client(name).play(actor)
        if not self._world.clock.run_until(lambda: playing.is_done, within_ms):
            raise BrokenPromise(f"{name} is not done within {within_ms} ms of a healthy cluster")

    @property
    def unfinished(self) -> list[str]:
        return [name for name, playing in self.playing.items() if not playing.is_done]

    @property
    def has_streams_settled(self) -> bool:
        if not self._has_streams:
            return True
        return self.streams.is_settled(is_written=self.playing[self._writes_words].is_done)

    def _topics(self) -> Actor:
        yield from self.operator.make(RECORDS[0].topic, PARTITIONS)
        yield from self.operator.make(READ, PARTITIONS)
        for name, count in TOPICS.items() if self._has_transactions else ():
            yield from self.operator.make(name, count)
        if self._has_sharers:
            yield from self.operator.make(SHARED[0].topic, len(SHARED))
            yield from _until_set(settings_of_group(self.shared))
        if self._has_streams:
            yield from self.operator.make(streams.WORDS, streams.PARTITIONS)
            yield from _until_set(streams.settings_of_group(self.streams.facts))

    # The end.

    def read_everything(self) -> Actor:
        partitions = [*RECORDS]
        if self._has_transactions:
            self._committed.append((yield from committed_offset()))
            partitions += [*WRITTEN, OUTPUT]
        if self._has_sharers:
            partitions += SHARED
        if self._has_streams:
            partitions += streams.SOURCE
            for index in range(streams.PARTITIONS):
                self._seen.append((yield from whole_changelog(index)))
        yield from read_everything(self.history, partitions, self.values)

    def judge(self) -> None:
        """Everything was read: what only its writers can say of it."""
        for producer in self.producers:
            for partition, value in producer.believed:
                if value not in self.values[partition]:
                    raise BrokenPromise(f"{value} of {partition} is a duplicate, and not there")
        if self._has_transactions:
            judge_outputs(self._committed[0], self.values[OUTPUT])
        if self._has_sharers:
            self.shared.judge(value for one in SHARED for value in self.values[one])
        if self._has_streams:
            words = (value for one in streams.SOURCE for value in self.values[one])
            self.streams.judge(words, self._seen)

    # Kinds.

    def add_transactions(self) -> None:
        play = ExactlyOnce(
            self._world.clock,
            self.history,
            self._rng.fork("transactions"),
            lambda: self.is_calm,
            self.new_value,
            self._processes + 1,
        )
        for number, actor in enumerate(play.actors()):
            self._process()
            self._play(f"transactions-{number}", actor)

    def add_producers(self) -> None:
        for _ in range(2):
            self._add_producer(RECORDS)

    def _add_producer(self, partitions: Sequence[TopicPartition]) -> str:
        """Its name."""
        process = self._process()
        producer = IdempotentProducer(
            self._world.clock,
            self.history,
            process,
            partitions,
            self._rng.fork(f"producer {process}"),
            lambda: self.is_calm,
            self.new_value,
        )
        self.producers.append(producer)
        name = f"producer-{process}"
        self._play(name, producer.act())
        return name

    def add_sharers(self) -> None:
        self._add_producer(SHARED)
        process = self._process()
        writer = TransactionsToShare(
            self._world.clock,
            self.history,
            process,
            SHARED,
            self._rng.fork("transactions to share"),
            lambda: self.is_calm,
            self.new_value,
        )
        self._play("transactions-to-share", writer.act())
        for number in range(MEMBERS):
            name = f"sharer-{number}"
            sharer = Sharer(
                self._world.clock,
                self._rng.fork(name),
                self.shared,
                name,
                SHARED[0].topic,
                lambda: self.is_calm,
                partial(self._world.led_by, SHARED[0].topic),
            )
            self._play(name, sharer.act())

    def add_plain(self) -> None:
        process = self._process()
        dice = self._rng.fork(f"plain {process}")
        actor = plain_producer(
            self._world.clock,
            self.history,
            process,
            RECORDS,
            dice,
            lambda: self.is_calm,
            self.new_value,
        )
        self._play(f"plain-{process}", actor)

    def add_readers(self) -> None:
        for _ in range(2):
            process = self._process()
            self._play(f"reader-{process}", self._reader(process))

    def _reader(self, process: int) -> Actor:
        reader, dice = CommittedReader(self.history, process), self._rng.fork(f"reader {process}")
        while not self.is_calm:
            yield from reader.poll(dice.choice(RECORDS))
            yield Sleep(dice.magnitude(1, 300))

    def add_watchers(self) -> None:
        """Where there are transactions, they hold the last stable offset back."""
        partitions = (*RECORDS, *WRITTEN, OUTPUT) if self._has_transactions else RECORDS
        self._play("watcher", watcher(partitions, self._rng.fork("watcher"), lambda: self.is_calm))

    def add_admin(self) -> None:
        self._play("admin", self.operator.act())

    def add_consumers(self) -> None:
        self._add_group("consumers", consumer_member)

    def add_classic(self) -> None:
        self._add_group("classic", classic_member)

    def _add_group(self, name: str, member: Callable[[MemberPlan, str], Actor]) -> None:
        facts = GroupFacts(name)
        self.groups.append(facts)
        plan = MemberPlan(
            facts, READ, self._rng.fork(name), lambda: self.is_calm, lambda: self.is_over
        )
        for number in range(MEMBERS):
            self._play(f"{name}-{number}", member(plan, f"{name}-{number}"))

    def add_streams(self) -> None:
        self._writes_words = self._add_producer(streams.SOURCE)
        for process, number in streams.MEMBERS:
            for name, actor in StreamsThread(self.streams, process, number).actors():
                self._play(f"streams-{name}", actor)

    # Making them.

    def new_value(self) -> str:
        self._values += 1
        return f"v{self._values}"

    def _process(self) -> int:
        self._processes += 1
        return self._processes

    def _client(self, name: str) -> ClusterClient:
        self._machines += 1
        return ClusterClient(self._world, f"c{self._machines}")

    def _play(self, name: str, actor: Actor) -> None:
        self.playing[name] = self._client(name).play(actor)


def _until_set(ask: Ask) -> Talk:
    while True:
        answer = yield ask
        if answer is not LOST and not any(one.error_code for one in answer.responses):
            return
        yield Sleep(RETRY_MS)


KINDS: Final[dict[str, Callable[[Clients], None]]] = {
    "producers": Clients.add_producers,
    "plain": Clients.add_plain,
    "readers": Clients.add_readers,
    "watchers": Clients.add_watchers,
    "admin": Clients.add_admin,
    "transactions": Clients.add_transactions,
    "consumers": Clients.add_consumers,
    "classic": Clients.add_classic,
    "sharers": Clients.add_sharers,
    "streams": Clients.add_streams,
}
