"""What is produced to a topic with a hook, by real clients and by hand."""

import asyncio
import time
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.hooks import Place, ProduceHook, Record, Refuse
from kafkapy.protocol.batches.batch import BatchHeader, batches
from kafkapy.testing import Broker
from kafkapy.testing.asking.reading import read_bytes


class Upper(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        value = (record.value or b"").upper()
        return record._replace(value=value, headers=(*record.headers, ("by", place.topic.encode())))


class NoBombs(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        if b"bomb" in (record.value or b""):
            raise Refuse("a bomb")
        return record


class Raises(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        raise KeyError("secret of a customer")


class Forgets(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        return None  # type: ignore[return-value]


class Text(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        return record._replace(value="text")  # type: ignore[arg-type]


class Exits(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        raise SystemExit(3)


class Recurses(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        return self.produced(record, place)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


class LastWords(Exception):
    """To ask it is to end."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__

    @property
    def __traceback__(self) -> None:  # type: ignore[override]
        raise KeyboardInterrupt


class Slippery(str):
    def __getitem__(self, at: object) -> str:
        raise SystemExit(3)

    def encode(self, *arguments: object, **more: object) -> bytes:
        raise SystemExit(3)


class SlipperyWords(Exception):
    def __str__(self) -> str:
        return Slippery("slips")


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit(3)


class NamelessError(Exception, metaclass=Nameless):
    pass


class NamelessThing(metaclass=Nameless):
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise SystemExit(3)


class OnceTrue(tuple[object, ...]):
    """Headers that are some when they are looked at, and the end when they are written."""

    looks = 0

    def __iter__(self) -> Iterator[object]:
        self.looks += 1
        if self.looks > 1:
            raise SystemExit(3)
        return super().__iter__()


class Gives(ProduceHook):
    def __init__(self, given: object) -> None:
        self._given = given

    def produced(self, record: Record, place: Place) -> Record:
        return self._given  # type: ignore[return-value]


class Undefined(ProduceHook):
    @property
    def produced(self) -> object:  # type: ignore[override]
        raise SystemExit(3)


class Raising(ProduceHook):
    """What it is made with; asyncio's CancelledError is no Exception."""

    def __init__(self, raised: BaseException) -> None:
        self._raised = raised

    def produced(self, record: Record, place: Place) -> Record:
        raise self._raised


class AnyRecord(Record):
    @property
    def value(self) -> bytes:
        raise KeyError("secret of a customer")


class OwnRecord(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        return AnyRecord(*record)


class Slow(ProduceHook):
    """Takes 30 ms by the clock, whatever the machine does."""

    def produced(self, record: Record, place: Place) -> Record:
        until = time.perf_counter_ns() + 30_000_000
        while time.perf_counter_ns() < until:
            pass
        return record


HOOKS: Mapping[str, object] = {
    "upper": Upper,
    "no-bombs": NoBombs(),
    "raises": Raises,
    "forgets": Forgets,
    "text": Text,
    "exits": Exits,
    "slow": Slow,
    "recurses": Recurses,
    "cancelled": Raising(asyncio.CancelledError()),
    "unspeakable": Raising(Unspeakable()),
    "own-record": OwnRecord,
    "long-refusal": Raising(Refuse("x" * 100_000)),
    "broken-refusal": Raising(Refuse("half of \ud83d")),
    "number": 42,
    "interrupts": Raising(KeyboardInterrupt()),
    "leaves": Raising(GeneratorExit()),
    "stops": Raising(StopIteration()),
    "last-words": Raising(LastWords()),
    "slippery": Raising(SlipperyWords()),
    "nameless": Raising(NamelessError("no name")),
    "nameless-thing": Gives(NamelessThing()),
    "undefined": Undefined(),
    "slippery-refusal": Raising(Refuse(Slippery("slips"))),
    "once-true": Gives(Record(0, 0, b"k", b"v", OnceTrue([("a", b"b")]))),  # type: ignore[arg-type]
}


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker({"kafkapy.hooks.overdraft.ms": "1500"}, hooks=HOOKS) as broker:
        yield broker


def topic(kafka: Broker, hook: str, partitions: int = 1) -> str:
    kafka.create_topic(hook, partitions, {"kafkapy.hook.produce": hook})
    return hook


def values(kafka: Broker, name: str) -> list[bytes]:
    return [record.value or b"" for record in kafka.records(name)]


def events(kafka: Broker, event: str) -> list[dict[str, object]]:
    return [facts for _, one, facts in kafka._heard.events if one == event]


def send(producer: Producer, name: str, sent: list[bytes]) -> list[KafkaError | None]:
    """What became of each, in order."""
    results: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        results.append(error)

    for value in sent:
        producer.produce(name, value, on_delivery=delivered, partition=0)
    assert producer.flush(60) == 0
    return results


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("is_idempotent", [False, True])
def test_records_are_written_as_the_hook_makes_them(
    kafka: Broker, codec: str, is_idempotent: bool
) -> None:
    name = topic(kafka, "upper")
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "compression.type": codec,
            "enable.idempotence": is_idempotent,
            "linger.ms": 50,
        }
    )
    sent = [b"a value that packs well %d " % number * 5 for number in range(500)]
    assert send(producer, name, sent) == [None] * 500
    assert values(kafka, name) == [one.upper() for one in sent]
    assert kafka.records(name)[7].headers == (("by", b"upper"),)
    codecs = {header.codec.name.lower() for header in batches_of(kafka, name)}
    assert codecs == {codec}


def batches_of(kafka: Broker, name: str) -> list[BatchHeader]:
    def read(broker: BrokerRole) -> bytes:
        partition = broker.partitions.get(name, 0)
        assert partition is not None
        return read_bytes(partition)

    return [header for _, header in batches(kafka._call(read))]


def test_what_the_hook_leaves_as_it_is_has_the_bytes_it_came_with(kafka: Broker) -> None:
    name = topic(kafka, "no-bombs")
    kafka.create_topic("without")
    for one in (name, "without"):
        kafka.produce(one, "value", "key", {"a": "b"}, timestamp=1_700_000_000_000)
    with_hook, without = batches_of(kafka, name), batches_of(kafka, "without")
    assert with_hook == without


def test_a_refused_record_is_named_and_its_batch_is_not_written(kafka: Broker) -> None:
    name = topic(kafka, "no-bombs")
    with pytest.raises(Refused) as refused:
        kafka.produce(name, "a bomb")
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert "a bomb" in str(refused.value)
    assert kafka.records(name) == []


@pytest.mark.parametrize(
    ("hook", "told"),
    [("long-refusal", "x" * 500), ("broken-refusal", "half of ?"), ("slippery-refusal", "slips")],
)
def test_a_refusal_is_told_in_words_that_can_be_sent(kafka: Broker, hook: str, told: str) -> None:
    name = topic(kafka, hook)
    with pytest.raises(Refused) as refused:
        kafka.produce(name, "value")
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert told in str(refused.value)
    assert len(str(refused.value)) < 1_000
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "retries": 0})
    (error,) = send(producer, name, [b"value"])
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_producer_goes_on_after_a_refusal(kafka: Broker, is_idempotent: bool) -> None:
    """Its sequences too: what is refused was never there."""
    name = topic(kafka, "no-bombs")
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "enable.idempotence": is_idempotent, "linger.ms": 0}
    )
    assert send(producer, name, [b"one"]) == [None]
    (error,) = send(producer, name, [b"bomb"])
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD
    assert send(producer, name, [b"two"]) == [None]
    assert send(producer, name, [b"three"]) == [None]
    assert values(kafka, name) == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("raises", "KeyError"),
        ("exits", "SystemExit"),
        ("forgets", "NoneType instead of a Record"),
        ("text", "a key or value that is not bytes"),
        ("nobody", "cannot be loaded"),
        ("number", "cannot be loaded"),
        ("recurses", "RecursionError"),
        ("cancelled", "CancelledError"),
        ("unspeakable", "Unspeakable"),
        ("own-record", "AnyRecord instead of a Record"),
        ("interrupts", "KeyboardInterrupt"),
        ("leaves", "GeneratorExit"),
        ("stops", "StopIteration"),
        ("last-words", "LastWords"),
        ("slippery", "SlipperyWords"),
        ("nameless", "NamelessError"),
        ("nameless-thing", "NamelessThing instead of a Record"),
        ("undefined", "cannot be loaded"),
    ],
)
def test_a_broken_hook_is_an_error_of_its_topic_alone(kafka: Broker, hook: str, told: str) -> None:
    name = topic(kafka, hook)
    kafka.create_topic("others")
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            kafka.produce(name, "value")
        assert refused.value.code is ErrorCode.POLICY_VIOLATION
        assert told in str(refused.value)
        assert "secret" not in str(refused.value)
    kafka.produce("others", "value")
    assert values(kafka, "others") == [b"value"]
    assert kafka.records(name) == []
    # Once, however often it happens.
    (line,) = events(kafka, "hook failed") + events(kafka, "hook cannot be loaded")
    assert (line["hook"], line["topic"]) == (hook, name)


def test_headers_are_written_as_they_were_looked_at(kafka: Broker) -> None:
    name = topic(kafka, "once-true")
    kafka.produce(name, "value")
    assert kafka.records(name)[0].headers == (("a", b"b"),)


def test_a_hook_that_takes_too_long_again_and_again_is_switched_off(kafka: Broker) -> None:
    """30 ms instead of 1: after 1500 ms that are owed; a setting of its topic is another chance."""
    name = topic(kafka, "slow")
    refused = None
    written = 0
    while refused is None and written < 100:
        try:
            kafka.produce(name, "value")
            written += 1
        except Refused as error:
            refused = error
    assert refused is not None
    assert refused.code is ErrorCode.POLICY_VIOLATION
    assert "switched off" in str(refused)
    assert 3 <= written <= 52  # less on a machine where 30 ms take longer
    assert len(values(kafka, name)) == written
    (line,) = events(kafka, "hook switched off")
    assert line["calls"] == written
    assert int(str(line["mean_us"])) >= 30_000
    alter(kafka, name, "retention.ms", "100000")
    wait_until_written(kafka, name)


def test_a_hook_that_is_taken_away_is_asked_no_more(kafka: Broker) -> None:
    name = topic(kafka, "raises")
    with pytest.raises(Refused):
        kafka.produce(name, "value")
    alter(kafka, name, "kafkapy.hook.produce", "")
    wait_until_written(kafka, name)
    partition = kafka._call(lambda broker: broker.partitions.get(name, 0))
    assert partition is not None
    assert partition.hook is None
    assert partition.is_written_at_once


def test_a_topic_beside_one_with_a_hook_is_written_as_if_there_were_none(kafka: Broker) -> None:
    kafka.create_topic("others")
    kafka.produce(topic(kafka, "upper"), "value")
    partition = kafka._call(lambda broker: broker.partitions.get("others", 0))
    assert partition is not None
    assert partition.hook is None
    assert partition.is_written_at_once


def wait_until_written(kafka: Broker, name: str) -> None:
    """Settings act soon."""
    for _ in range(1000):
        try:
            kafka.produce(name, "value")
            return
        except Refused:
            continue
    raise AssertionError("it is refused for ever")


def alter(kafka: Broker, name: str, key: str, value: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)


def test_a_transaction_goes_through_it(kafka: Broker) -> None:
    name = topic(kafka, "upper")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "t"})
    producer.init_transactions(30)
    for is_committed in (True, False, True):
        producer.begin_transaction()
        producer.produce(name, b"committed" if is_committed else b"aborted")
        if is_committed:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)
    seen = kafka.wait_for(name, 2)
    assert [record.value for record in seen] == [b"COMMITTED", b"COMMITTED"]


def test_a_transaction_with_a_refused_record_can_be_aborted(kafka: Broker) -> None:
    """librdkafka counts the refused record's sequence (a record without key in a compacted topic
    as well), and takes another transaction to notice."""
    name = topic(kafka, "no-bombs")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "t"})
    producer.init_transactions(30)
    for value in (b"bomb", b"lost"):
        producer.begin_transaction()
        producer.produce(name, value)
        producer.flush(30)
        with pytest.raises(KafkaException):
            producer.commit_transaction(30)
        producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(name, b"flower")
    producer.commit_transaction(30)
    assert [record.value for record in kafka.wait_for(name, 1)] == [b"flower"]


def test_acks_0_waits_for_nothing_and_keeps_its_order(kafka: Broker) -> None:
    name = topic(kafka, "upper")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "0"})
    send(producer, name, [b"%d" % number for number in range(300)])
    assert [record.value for record in kafka.wait_for(name, 300)] == [
        b"%d" % number for number in range(300)
    ]
