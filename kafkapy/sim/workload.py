"""What clients do all day, by the dice: one action after another, requests overlapping.

Produce is sent and not waited for; a change of the metadata is waited for while the rest
goes on. Between actions the clock moves a little, and now and then a lot.
"""

from collections.abc import Callable
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.compression import Codec
from kafkapy.sim.audit import begin_idempotence
from kafkapy.sim.producers import Producer
from kafkapy.sim.promises import BrokenPromise, PartitionPromises, Sent
from kafkapy.sim.reading import Fetched, fetch
from kafkapy.sim.rng import SimRng
from kafkapy.sim.settings import LARGEST_BATCH_BYTES, draw_change, draw_settings
from kafkapy.sim.state import (
    TOPIC_NAMES,
    Altering,
    Clients,
    Creating,
    Deleting,
    Growing,
)
from kafkapy.sim.topic_facts import TopicFacts
from kafkapy.sim.world import World

_MOST_PARTITIONS: Final = 4
_MOST_RECORDS: Final = 12
_MOST_PRODUCERS: Final = 6
_TOPIC_RESOURCE: Final = 2
_SET, _DELETE = 0, 1
_HOUR_MS: Final = 60 * 60 * 1000
# Per record beside its value: offsets, lengths, key, header.
_OVERHEAD_BYTES: Final = 60


class Workload:
    def __init__(self, world: World, clients: Clients, rng: SimRng) -> None:
        self._world = world
        self._clients = clients
        self._rng = rng
        self.actions = 0
        self._table: tuple[tuple[int, Callable[[], None]], ...] = (
            (120, self.produce),
            (20, self.consume),
            (25, self.let_time_pass),
            (4, self.create_topic),
            (2, self.delete_topic),
            (6, self.alter_topic),
            (2, self.add_partitions),
            (4, self.delete_records),
            (3, self.change_producers),
        )

    def begin(self) -> None:
        """After a start: retries first; and there is somebody and something to write to."""
        for producer in list(self._clients.producers):
            producer.resend(self._world)
        while len(self._clients.producers) < 3:
            self.change_producers()
        if not self._clients.topics:
            self.create_topic()

    def act(self) -> None:
        self.actions += 1
        action = self._rng.weighted(self._table)
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
        for _ in range(self._rng.between(1, 4)):
            producer = self._rng.choice(self._clients.producers)
            promises = self._rng.choice(partitions)
            if producer.may_send(promises):
                self._send_batch(producer, promises)

    def _send_batch(self, producer: Producer, promises: PartitionPromises) -> None:
        rng = self._rng
        is_odd = not producer.is_idempotent and rng.chance(4)
        records = [
            self._record(promises.topic, is_odd=is_odd, count=_MOST_RECORDS)
            for _ in range(rng.magnitude(1, _MOST_RECORDS))
        ]
        self._clients.records_sent += len(records)
        producer.send(
            self._world,
            promises,
            records,
            codec=rng.choice((Codec.NONE, *Codec)),
            acks=-1 if producer.is_idempotent else rng.choice((-1, -1, 1, 1, 0)),
            by_id=rng.chance(30),
            may_be_refused=is_odd,
        )

    def _record(self, topic: TopicFacts, *, is_odd: bool, count: int) -> Sent:
        """`is_odd`: may be without a key where one is needed, or from a far future."""
        rng, clients = self._rng, self._clients
        now = self._world.clock.now()
        clients.next_number += 1
        key = b"key-%d" % rng.below(12)
        length = rng.magnitude(0, LARGEST_BATCH_BYTES // count - _OVERHEAD_BYTES)
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
                allowed = self._clients.is_gone(promises) or self._clients.is_troubled
                promises.require(allowed, f"a fetch at {offset} gets {fetched.code!r}")

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
                    (3, rng.below(2 * _HOUR_MS)),
                )
            )
        )

    # Metadata.

    def create_topic(self) -> None:
        rng, clients = self._rng, self._clients
        free = [name for name in TOPIC_NAMES if name not in clients.topics]
        if not free:
            return
        name, settings = rng.choice(free), draw_settings(rng)
        count = rng.between(1, 3)
        clients.limbo = Creating(name, count, settings)
        topic = {
            "name": name,
            "num_partitions": count,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in settings.items()],
        }
        body = {"topics": [topic], "timeout": 30_000, "validate_only": False}
        answer = self._world.ask(ApiKey.CREATE_TOPICS, body).topics[0]
        self._require(answer)
        clients.limbo = None
        clients.created(TopicFacts(name, answer.topic_id, count, settings))

    def delete_topic(self) -> None:
        clients = self._clients
        if not clients.topics:
            return
        topic = self._rng.choice(list(clients.topics.values()))
        clients.limbo = Deleting(topic)
        body = {"topics": [{"name": topic.name, "topic_id": None}], "timeout": 30_000}
        self._require(self._world.ask(ApiKey.DELETE_TOPICS, body).responses[0])
        clients.deleted(topic)
        clients.limbo = None

    def alter_topic(self) -> None:
        clients, rng = self._clients, self._rng
        if not clients.topics:
            return
        topic = rng.choice(list(clients.topics.values()))
        wanted = draw_change(rng, topic.settings)
        settings = {**topic.settings, **wanted}
        configs = [
            {"name": name, "config_operation": _SET, "value": value}
            for name, value in wanted.items()
        ]
        if rng.chance(20) and "flush.messages" in settings and "flush.messages" not in wanted:
            del settings["flush.messages"]
            configs.append({"name": "flush.messages", "config_operation": _DELETE, "value": None})
        topic.altering(settings)
        clients.limbo = Altering(topic, settings)
        resource = {
            "resource_type": _TOPIC_RESOURCE,
            "resource_name": topic.name,
            "configs": configs,
        }
        body = {"resources": [resource], "validate_only": False}
        self._require(self._world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body).responses[0])
        topic.altered(settings)
        clients.limbo = None

    def add_partitions(self) -> None:
        clients = self._clients
        small = [one for one in clients.topics.values() if one.partition_count < _MOST_PARTITIONS]
        if not small:
            return
        topic = self._rng.choice(small)
        count = topic.partition_count + 1
        clients.limbo = Growing(topic, count)
        asked = {"name": topic.name, "count": count, "assignments": None}
        body = {"topics": [asked], "timeout": 30_000, "validate_only": False}
        self._require(self._world.ask(ApiKey.CREATE_PARTITIONS, body).results[0])
        clients.grown(topic, count)
        clients.limbo = None

    def delete_records(self) -> None:
        """As far as a consumer has seen, where the topic's policy lets clients delete."""
        clients, rng = self._clients, self._rng
        deletable = [
            one
            for one in clients.all_partitions()
            if "delete" in one.topic.settings.get("cleanup.policy", "delete")
            and one.high_watermark > 0
        ]
        if not deletable:
            return
        promises = rng.choice(deletable)
        offset = rng.below(promises.high_watermark + 1)
        promises.deleted_below = max(promises.deleted_below, offset)
        partition = {"partition_index": promises.index, "offset": offset}
        topic = {"name": promises.topic.name, "partitions": [partition]}
        answer = self._world.ask(ApiKey.DELETE_RECORDS, {"topics": [topic], "timeout": 30_000})
        only = answer.topics[0].partitions[0]
        if not clients.is_troubled:
            promises.require(
                only.error_code == 0 and only.low_watermark >= offset,
                f"DeleteRecords below {offset}: {only}",
            )

    # Clients come and go.

    def change_producers(self) -> None:
        clients, rng = self._clients, self._rng
        number = clients.next_number = clients.next_number + 1
        producer = Producer(f"producer-{number}", clients.is_gone, lambda: clients.is_troubled)
        if rng.chance(75):
            begin_idempotence(self._world, clients, producer)
        if len(clients.producers) < _MOST_PRODUCERS:
            clients.producers.append(producer)
        else:
            clients.producers[rng.below(_MOST_PRODUCERS)] = producer

    def _require(self, answer: Any) -> None:
        if answer.error_code and not self._clients.is_troubled:
            raise BrokenPromise(f"{ErrorCode(answer.error_code)!r} answered: {answer}")
