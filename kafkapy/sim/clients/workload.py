"""What clients do all day, by the dice: one action after another, requests overlapping.

Produce is sent and not waited for; a change of the metadata is waited for while the rest
goes on. Between actions the clock moves a little, and now and then a lot.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.compression.codecs import Codec
from kafkapy.sim.clients.administration import Administration
from kafkapy.sim.clients.producers import Producer, SentBatch
from kafkapy.sim.clients.reading import Fetched, fetch
from kafkapy.sim.clients.state import Clients
from kafkapy.sim.clients.topic_settings import LARGEST_BATCH_BYTES
from kafkapy.sim.promises.audit import begin_idempotence
from kafkapy.sim.promises.partitions import PartitionPromises, Sent
from kafkapy.sim.promises.topics import TopicFacts
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

_MOST_RECORDS: Final = 12
_MOST_PRODUCERS: Final = 6
# How many partitions a request writes to.
_PARTITIONS: Final = ((70, 1), (20, 2), (10, 4))
_HOUR_MS: Final = 60 * 60 * 1000
# Per record beside its value: offsets, lengths, key, header.
_OVERHEAD_BYTES: Final = 60


Action = Callable[[], None]


class Workload:
    def __init__(self, world: World, clients: Clients, rng: SimRng) -> None:
        self._world = world
        self._clients = clients
        self._rng = rng
        self.actions = 0
        self._administration = Administration(world, clients, rng.fork("administration"))
        administration = self._administration
        # On a disk that fails nobody asks for what may never be answered.
        self._in_trouble: tuple[tuple[int, Action], ...] = (
            (120, self.produce),
            (20, self.consume),
            (25, self.let_time_pass),
        )
        self._table = (
            *self._in_trouble,
            (4, administration.create_topic),
            (2, administration.delete_topic),
            (6, administration.alter_topic),
            (1, administration.alter_broker),
            (2, administration.add_partitions),
            (4, administration.delete_records),
            (2, administration.move_partition),
            (3, self.change_producers),
            (2, self.break_disk),
        )

    def begin(self) -> None:
        """After a start: retries first; and there is somebody and something to write to."""
        for producer in self._clients.producers:
            if producer.is_outdated:
                begin_idempotence(self._world, self._clients, producer)
            producer.resend(self._world)
        while len(self._clients.producers) < 3:
            self.change_producers()
        if not self._clients.topics:
            self._administration.create_topic()

    def act(self) -> None:
        self.actions += 1
        table = self._in_trouble if self._clients.failing_path is not None else self._table
        action = self._rng.weighted(table)
        self._world.trace.note("act", action.__name__)
        action()
        if self._rng.chance(60):
            self._world.clock.advance(self._rng.below(4))

    # Records.

    def produce(self) -> None:
        """A few batches at once, from different producers."""
        partitions = self._clients.all_partitions()
        if not partitions:
            return
        rng = self._rng
        for _ in range(rng.between(1, 4)):
            producer = rng.choice(self._clients.producers)
            acks = -1 if producer.is_idempotent else rng.choice((-1, -1, 1, 1, 0))
            chosen = {rng.choice(partitions): None for _ in range(rng.weighted(_PARTITIONS))}
            batches = [self._batch(producer, one) for one in chosen if producer.may_send(one)]
            if batches:
                producer.send(self._world, batches, acks=acks, by_id=rng.chance(30))

    def _batch(self, producer: Producer, promises: PartitionPromises) -> SentBatch:
        rng = self._rng
        is_odd = not producer.is_idempotent and rng.chance(4)
        records = [
            self._record(promises.topic, is_odd=is_odd)
            for _ in range(rng.magnitude(1, _MOST_RECORDS))
        ]
        self._clients.records_sent += len(records)
        codec = rng.choice((Codec.NONE, *Codec))
        return producer.prepare(promises, records, codec=codec, may_be_refused=is_odd)

    def _record(self, topic: TopicFacts, *, is_odd: bool) -> Sent:
        """`is_odd`: may be without a key where one is needed, or from a far future."""
        rng, clients = self._rng, self._clients
        now = self._world.clock.now()
        clients.next_number += 1
        key = b"key-%d" % rng.below(12)
        length = rng.magnitude(0, LARGEST_BATCH_BYTES // _MOST_RECORDS - _OVERHEAD_BYTES)
        value: bytes | None = rng.bytes(length // 2 + 1) * 2
        if topic.was_compacted and rng.chance(15):
            value = None
        timestamp = now - rng.weighted(
            ((70, 0), (15, rng.below(1000)), (10, rng.below(_HOUR_MS)), (5, -rng.below(60_000)))
        )
        if is_odd and rng.chance(50):
            timestamp = now + 2 * _HOUR_MS
        return Sent(
            clients.next_number,
            None if is_odd else key,
            value,
            timestamp,
            now,
            topic.era,
        )

    def consume(self) -> None:
        """A fetch from anywhere, perhaps one that waits for more."""
        partitions = self._clients.all_partitions()
        if not partitions:
            return
        rng = self._rng
        promises = rng.choice(partitions)
        offset = promises.acknowledged_end
        if rng.chance(60):
            offset = rng.below(offset + 1)

        def consumed(fetched: Fetched) -> None:
            if fetched.code is ErrorCode.NONE:
                promises.consumed(fetched.records, fetched.high_watermark)
            elif fetched.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                promises.require(
                    self._may_be_refused(promises), f"a fetch at {offset} gets {fetched.code!r}"
                )

        fetch(
            self._world,
            promises,
            offset,
            rng.magnitude(1, 100_000),
            rng.choice((0, 0, 50, 500)),
            rng.chance(50),
            consumed,
        )

    # Time.

    def let_time_pass(self) -> None:
        rng = self._rng
        self._world.clock.advance(
            rng.weighted(
                (
                    (60, rng.below(100)),
                    (25, rng.below(5_000)),
                    (12, rng.below(60_000)),
                    (3, rng.below(_HOUR_MS // 3)),
                )
            )
        )

    # Clients come and go.

    def change_producers(self) -> None:
        clients, rng = self._clients, self._rng
        number = clients.next_number = clients.next_number + 1
        producer = Producer(f"producer-{number}", clients.is_gone, self._may_be_refused)
        if rng.chance(75):
            begin_idempotence(self._world, clients, producer)
        if len(clients.producers) < _MOST_PRODUCERS:
            clients.producers.append(producer)
        else:
            clients.producers[rng.below(_MOST_PRODUCERS)] = producer

    def break_disk(self) -> None:
        """One operation soon fails, somewhere in one of the log directories."""
        rng = self._rng
        rare = ("flush", "write_file", "create", "rename", "any")
        kind = "append" if rng.chance(40) else rng.choice(rare)
        path = rng.choice(self._world.settings["log.dirs"].split(","))
        self._clients.failing_path = path
        self._world.disk.fail(kind, in_path=path, nth=rng.magnitude(1, 50))

    def _may_be_refused(self, promises: PartitionPromises) -> bool:
        path = self._world.directory_of(promises.topic.name, promises.index)
        return self._clients.may_be_refused(promises, path)
