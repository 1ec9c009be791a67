"""Members of a share group: they join, read, acknowledge in every way, go without a word.

    heartbeat --> partitions --> their leaders --> a session with each: fetch, acknowledge, ...
                                                   closed, or left to its connection

What is judged, of every record (ShareFacts):

- what was acknowledged for good, and answered so, never comes again, whoever leads or coordinates;
- who acknowledged it had it alone: nobody got it between its coming and its acknowledgement;
- what is in the log came to somebody until that was said of it (heard or not), or as often as
  may be: nothing is lost;
- a group that reads only what is committed gets nothing else.

How many records may be locked, and what the group reads, is drawn from the seed. Beside a plain
producer somebody writes transactions, of which some batches are larger than there may be locks:
their markers are the gaps between what is handed out.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import batches, records
from kafkapy.sim.checkers import History, Outcome
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.clients.transactional_producer import Fenced, TransactionalProducer
from kafkapy.sim.cluster.clients.routed import RETRY_MS, Talk
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng

E: Final = ErrorCode
GROUP: Final = "sharers"
DELIVERIES: Final = 10
LOCK_MS: Final = 15_000
# No lock holds longer, and nothing takes longer to find another leader.
QUIET_MS: Final = 2 * LOCK_MS + 5_000
_HEARTBEAT, _FETCH, _ACKNOWLEDGE, _METADATA = 1, 2, 2, 12
_GAP, _ACCEPT, _RELEASE, _REJECT = range(4)
# What a marker of a transaction has for a value: nobody's, and said to be a gap.
_MARKER: Final = ""
# As few as can be set, few, and as many as usual.
_RECORD_LOCKS: Final = (100, 200, 2_000)
_LARGE_BATCH: Final = (60, 160)
_GONE: Final = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND})

Place = tuple[UUID, int]


class Delivery(NamedTuple):
    """`asked` and `heard`: when the fetch was sent, and when its answer came."""

    member: str
    asked: Instant
    heard: Instant
    deliveries: int


class Settled(NamedTuple):
    """`said` and `answered`: an acknowledgement after which it is over."""

    member: str
    came: Instant
    said: Instant
    answered: Instant


@dataclass(slots=True)
class ShareFacts:
    """What the members of one group saw, by partition and value; and how the group is set."""

    max_record_locks: int = _RECORD_LOCKS[-1]
    reads_committed: bool = False
    deliveries: dict[str, list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    settled: dict[str, Settled] = field(default_factory=dict)
    # Of these it was said, and perhaps not answered: they may be over.
    said: set[str] = field(default_factory=set)
    last_heard: Instant | None = None

    def came(self, value: str, delivery: Delivery) -> None:
        over = self.settled.get(value)
        if over is not None and delivery.asked > over.answered:
            raise BrokenPromise(f"{value} came to {delivery}, and was over: {over}")
        if not 1 <= delivery.deliveries <= DELIVERIES:
            raise BrokenPromise(f"{value} came for the {delivery.deliveries}th time: {delivery}")
        self.deliveries[value].append(delivery)
        self.last_heard = delivery.heard

    def is_over(self, value: str, settled: Settled) -> None:
        for other in self.deliveries[value]:
            if settled.came < other.asked and other.heard <= settled.said:
                raise BrokenPromise(f"{value} was in two hands: {settled} and {other}")
        self.settled[value] = settled

    def judge(self, values: Iterable[str]) -> None:
        """`values`: all that is in the log and committed, once everybody is done."""
        values = dict.fromkeys(values)
        for value in self.deliveries if self.reads_committed else ():
            if value not in values:
                raise BrokenPromise(f"{value} came, and was never committed")
        for value in values:
            came = self.deliveries.get(value, ())
            is_given_up = any(one.deliveries >= DELIVERIES for one in came)
            if value not in self.said and not is_given_up:
                raise BrokenPromise(f"{value} is lost to the group; it came to {list(came)}")


@dataclass(slots=True)
class _Held:
    partition: TopicPartition
    offset: int
    value: str
    came: Instant


@dataclass(slots=True)
class Sharer:
    """`is_calm`: acknowledge all that comes, until nothing more does."""

    clock: Clock
    dice: SimRng
    facts: ShareFacts
    name: str
    topic: str
    is_calm: Callable[[], bool]
    led_by: Callable[[int], Collection[int]]
    _epoch: int = 0
    # As stock clients do when they join, and after a heartbeat that was not answered: its answer
    # may have had another assignment.
    _says_all: bool = True
    _assigned: dict[UUID, tuple[int, ...]] = field(default_factory=dict)
    _calm_since: Instant | None = None

    def act(self) -> Actor:
        while not self._is_done():
            yield from self._beat()
            if self._assigned:
                yield from self._read()
            if not self.is_calm() and self.dice.chance(3):
                yield from self._leave()
            yield Sleep(self.dice.magnitude(20, 400))
        yield from self._leave()

    def _is_done(self) -> bool:
        if not self.is_calm():
            return False
        if self._calm_since is None:
            self._calm_since = self.clock.now()
        since = max(self._calm_since, self.facts.last_heard or self._calm_since)
        return self.clock.now() - since > QUIET_MS

    # Membership.

    def _beat(self) -> Talk:
        body = {
            "group_id": GROUP,
            "member_id": self.name,
            "member_epoch": self._epoch,
            "rack_id": None,
            "subscribed_topic_names": [self.topic] if self._says_all else None,
        }
        answer = yield Ask(ApiKey.SHARE_GROUP_HEARTBEAT, _HEARTBEAT, body)
        self._says_all = answer is LOST or answer.error_code != E.NONE
        if answer is LOST:
            return
        if answer.error_code in _GONE:
            self._epoch, self._assigned = 0, {}
        elif answer.error_code == E.NONE:
            self._epoch = answer.member_epoch
            if answer.assignment is not None:
                self._assigned = {
                    one.topic_id: one.partitions for one in answer.assignment.topic_partitions
                }

    def _leave(self) -> Talk:
        body = {
            "group_id": GROUP,
            "member_id": self.name,
            "member_epoch": -1,
            "rack_id": None,
            "subscribed_topic_names": None,
        }
        yield Ask(ApiKey.SHARE_GROUP_HEARTBEAT, _HEARTBEAT, body)
        self._epoch, self._assigned, self._says_all = 0, {}, True

    # Records.

    def _read(self) -> Talk:
        leaders = yield from self._leaders()
        for node, places in sorted(leaders.items()):
            yield from self._session(node, places)

    def _leaders(self) -> Talk:
        """Whom to ask for which of its partitions."""
        body = {"topics": [{"name": self.topic}], "allow_auto_topic_creation": False}
        answer = yield Ask(ApiKey.METADATA, _METADATA, body)
        found: dict[int, list[Place]] = defaultdict(list)
        if answer is not LOST:
            for topic in answer.topics:
                for row in topic.partitions:
                    mine = self._assigned.get(topic.topic_id, ())
                    if row.partition_index in mine and row.leader_id >= 0:
                        found[row.leader_id].append((topic.topic_id, row.partition_index))
        return found

    def _session(self, node: int, places: Sequence[Place]) -> Talk:
        """Some fetches with acknowledgements of what came before; then an end, or none."""
        held: list[_Held] = []
        for epoch in range(self.dice.magnitude(1, 4)):
            said = self._chosen(held)
            led = self.led_by(node)
            answer, asked = yield from self._fetch(node, places if epoch == 0 else (), said, epoch)
            if answer is LOST or answer.error_code != E.NONE:
                return
            self._settle(said, answer, asked, "acknowledge_error_code")
            held = [one for one in held if one not in [each for each, _ in said]]
            held += self._came(answer, asked, led)
        said = self._chosen(held)
        if self.is_calm() or self.dice.chance(70):
            closes = self.dice.chance(50)
            asked = self.clock.now()
            body = {
                "group_id": GROUP,
                "member_id": self.name,
                "share_session_epoch": -1 if closes else epoch + 1,
                "topics": _topics((), said),
            }
            answer = yield Ask(ApiKey.SHARE_ACKNOWLEDGE, _ACKNOWLEDGE, body, node)
            if answer is not LOST and answer.error_code == E.NONE:
                self._settle(said, answer, asked, "error_code")

    def _fetch(self, node: int, places: Sequence[Place], said: "_Said", epoch: int) -> Talk:
        asked = self.clock.now()
        body = {
            "group_id": GROUP,
            "member_id": self.name,
            "share_session_epoch": epoch,
            "max_wait": self.dice.choice((0, 100, 500)),
            "min_bytes": 1,
            "max_bytes": self.dice.choice((300, 5_000)),
            "max_records": self.dice.choice((1, 5, 500)),
            "batch_size": 10,
            "share_acquire_mode": self.dice.choice((0, 1)),
            "topics": _topics(places, said),
            "forgotten_topics_data": [],
        }
        answer = yield Ask(ApiKey.SHARE_FETCH, _FETCH, body, node)
        if answer is LOST:
            yield Sleep(RETRY_MS)
        return answer, asked

    def _came(self, answer: Any, asked: Instant, led: Collection[int]) -> list["_Held"]:
        """`led`: partitions that were led by who was asked, when it was. Another one, paused and
        replaced, gives what it knows until it hears of it, as Apache Kafka's does: nothing it is
        told of that counts."""
        found = []
        heard = self.clock.now()
        for topic in answer.responses:
            for row in topic.partitions:
                values = _values(row.records)
                for one in row.acquired_records:
                    for offset in range(one.first_offset, one.last_offset + 1):
                        value = values.get(offset)
                        if value is None:
                            raise BrokenPromise(f"offset {offset} was acquired and did not come")
                        if value != _MARKER:
                            delivery = Delivery(self.name, asked, heard, one.delivery_count)
                            if row.partition_index in led:
                                self.facts.came(value, delivery)
                        elif self.facts.reads_committed:
                            raise BrokenPromise(f"offset {offset} is a marker, and was acquired")
                        place = (topic.topic_id, row.partition_index)
                        found.append(_Held(_named(place), offset, value, heard))
        return found

    def _chosen(self, held: Sequence["_Held"]) -> "_Said":
        """What to say of what it has; in peace all is accepted."""
        if self.is_calm():
            said = [(one, _ACCEPT) for one in held]
        else:
            kinds = (_ACCEPT, _ACCEPT, _ACCEPT, _RELEASE, _REJECT)
            said = [(one, self.dice.choice(kinds)) for one in held if self.dice.chance(80)]
        said = [(one, kind if one.value != _MARKER else _GAP) for one, kind in said]
        self.facts.said.update(one.value for one, kind in said if kind not in (_GAP, _RELEASE))
        return said

    def _settle(self, said: "_Said", answer: Any, asked: Instant, error: str) -> None:
        refused = {
            _named((topic.topic_id, row.partition_index))
            for topic in answer.responses
            for row in topic.partitions
            if getattr(row, error)
        }
        told = {
            _named((topic.topic_id, row.partition_index))
            for topic in answer.responses
            for row in topic.partitions
        }
        for one, kind in said:
            if one.partition not in told:
                raise BrokenPromise(f"nothing was said of {one}")
            if kind not in (_GAP, _RELEASE) and one.partition not in refused:
                over = Settled(self.name, one.came, asked, self.clock.now())
                self.facts.is_over(one.value, over)


_Said = list[tuple[_Held, int]]


def _named(place: Place) -> TopicPartition:
    return TopicPartition(place[0].hex, place[1])


def _values(data: Any) -> dict[int, str]:
    view = memoryview(bytes(data or b""))
    return {
        one.offset: _MARKER if header.is_control else (one.value or b"").decode()
        for at, header in batches(view)
        for one in records(view[at : at + header.size])
    }


def _topics(places: Sequence[Place], said: _Said) -> list[dict[str, Any]]:
    """Partitions to read, and what is said of records, a batch for each."""
    rows: dict[Place, list[dict[str, Any]]] = {place: [] for place in places}
    for one, kind in sorted(said, key=lambda each: (each[0].partition, each[0].offset)):
        place = (UUID(one.partition.topic), one.partition.partition)
        batch = {
            "first_offset": one.offset,
            "last_offset": one.offset,
            "acknowledge_types": [kind],
        }
        rows.setdefault(place, []).append(batch)
    topics: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for (topic_id, partition), found in rows.items():
        topics[topic_id].append({"partition_index": partition, "acknowledgement_batches": found})
    return [{"topic_id": topic_id, "partitions": found} for topic_id, found in topics.items()]


def drawn_facts(dice: SimRng) -> ShareFacts:
    """Of a group that is set in a way of its own."""
    return ShareFacts(dice.choice(_RECORD_LOCKS), dice.chance(60))


def settings_of_group(facts: ShareFacts) -> Ask:
    """From the beginning; many deliveries, and short locks."""
    values = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": str(DELIVERIES),
        "share.record.lock.duration.ms": str(LOCK_MS),
        "share.partition.max.record.locks": str(facts.max_record_locks),
        "share.isolation.level": "read_committed" if facts.reads_committed else "read_uncommitted",
    }
    configs = [
        {"name": name, "config_operation": 0, "value": value} for name, value in values.items()
    ]
    resource = {"resource_type": 32, "resource_name": GROUP, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    return Ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)


@dataclass(slots=True)
class TransactionsToShare:
    """Small transactions and large ones, committed and aborted."""

    clock: Clock
    history: History
    process: int
    partitions: Sequence[TopicPartition]
    dice: SimRng
    is_calm: Callable[[], bool]
    new_value: Callable[[], str]

    def act(self) -> Actor:
        while not self.is_calm():
            producer = TransactionalProducer(
                self.clock, self.history, self.process, "to-share", is_v2=True
            )
            try:
                yield from producer.begin()
                while not self.is_calm():
                    yield from self._transaction(producer)
                    yield Sleep(self.dice.magnitude(50, 3_000))
            except Fenced:
                yield Sleep(self.dice.between(10, 500))

    def _transaction(self, producer: TransactionalProducer) -> Talk:
        operation = producer.open()
        try:
            for _ in range(self.dice.between(1, 3)):
                size = self.dice.between(*(_LARGE_BATCH if self.dice.chance(20) else (1, 4)))
                values = [self.new_value() for _ in range(size)]
                yield from producer.send(self.dice.choice(self.partitions), values)
        except Fenced:
            producer.close(operation, Outcome.FAIL)
            raise
        yield from producer.end(operation, commit=self.dice.chance(70))
