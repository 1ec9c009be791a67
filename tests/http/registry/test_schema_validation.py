"""Topics that take only what has a registered schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.testing import Broker, Cluster
from tests.http.pages import HTTP, client_of

VALUES = {"confluent.value.schema.validation": "true"}
STRATEGY = "io.confluent.kafka.serializers.subject.{}NameStrategy"


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker(HTTP) as broker:
        yield broker


@pytest.fixture(scope="module")
def http(started: Broker) -> Iterator[httpx.Client]:
    with client_of(started) as client:
        yield client


def register(http: httpx.Client, subject: str, schema: str = '"string"') -> int:
    return int(http.post(f"/subjects/{subject}/versions", json={"schema": schema}).json()["id"])


def outcome(broker: Broker, topic: str, value: bytes | None, **more: Any) -> int:
    """The error code of a produced record, 0 if it is in."""
    seen: list[int] = []
    conf = {"bootstrap.servers": broker.bootstrap, "compression.type": "zstd", "linger.ms": 0}
    producer = Producer(conf)

    def delivered(error: KafkaError | None, message: object) -> None:
        seen.append(0 if error is None else error.code())

    producer.produce(topic, value, on_delivery=delivered, **more)
    assert producer.flush(30) == 0
    return seen[0]


def framed(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + b"\x02x"


def test_only_values_with_an_id_of_the_topics_subject_are_taken(
    started: Broker, http: httpx.Client
) -> None:
    started.create_topic("checked", config=VALUES)
    mine, other = register(http, "checked-value"), register(http, "other-value", '"bytes"')
    assert outcome(started, "checked", framed(mine)) == 0
    assert outcome(started, "checked", None, key=b"gone") == 0
    for wrong in (b"plain", b"", b"\0\0\0", framed(other), framed(9999), framed(-5 + 2**32)):
        assert outcome(started, "checked", wrong) == KafkaError.INVALID_RECORD, wrong
    assert len(started.records("checked")) == 2


def test_one_bad_record_refuses_its_batch(started: Broker, http: httpx.Client) -> None:
    started.create_topic("batches", config=VALUES)
    good = register(http, "batches-value")
    seen: list[object] = []
    producer = Producer({"bootstrap.servers": started.bootstrap, "linger.ms": 1000})
    for value in (framed(good), b"bad", framed(good)):
        producer.produce("batches", value, on_delivery=lambda error, _: seen.append(error))
    assert producer.flush(30) == 0
    assert all(error is not None for error in seen)
    assert started.records("batches") == []


def test_guids_in_headers_are_looked_up_too(started: Broker, http: httpx.Client) -> None:
    started.create_topic("guids", config=VALUES)
    register(http, "guids-value", '"long"')
    guid = http.get("/subjects/guids-value/versions/1").json()["guid"].replace("-", "")
    for known, code in ((guid, 0), ("00" * 16, KafkaError.INVALID_RECORD)):
        headers = [("__value_schema_id", b"\1" + bytes.fromhex(known))]
        assert outcome(started, "guids", b"\x02", headers=headers) == code


@pytest.mark.parametrize(
    ("strategy", "subject", "code"),
    [
        ("Record", "shop.Order", 0),
        ("TopicRecord", "by-TopicRecord-shop.Order", 0),
        ("TopicRecord", "shop.Other", KafkaError.INVALID_RECORD),
        ("Topic", "shop.Third", KafkaError.INVALID_RECORD),
    ],
)
def test_the_strategy_says_under_which_subject(
    started: Broker, http: httpx.Client, strategy: str, subject: str, code: int
) -> None:
    topic = f"by-{strategy}"
    if topic not in started.topics():
        named = {"confluent.value.subject.name.strategy": STRATEGY.format(strategy)}
        started.create_topic(topic, config={**VALUES, **named})
    schema = json.dumps({"type": "fixed", "name": subject.replace("-", "_"), "size": 1})
    assert outcome(started, topic, framed(register(http, subject, schema))) == code


def test_keys_are_checked_by_themselves(started: Broker, http: httpx.Client) -> None:
    started.create_topic("keys", config={"confluent.key.schema.validation": "true"})
    known = register(http, "keys-key", '"int"')
    assert outcome(started, "keys", b"anything", key=framed(known)) == 0
    assert outcome(started, "keys", b"anything") == 0
    assert outcome(started, "keys", b"x", key=b"plain") == KafkaError.INVALID_RECORD


def test_what_is_registered_through_another_node_is_known_here_when_it_matters() -> None:
    """Each schema is registered through a node that does not lead the topic, and used at once."""
    with Cluster(3, settings=HTTP) as cluster:
        cluster.create_topic("t", config=VALUES)
        leader = cluster.leader("t")
        away = next(node for node in (1, 2, 3) if node != leader)
        with SchemaRegistryClient({"url": cluster.node(away).http}) as registry:
            context = SerializationContext("t", MessageField.VALUE)
            for n in range(5):
                fields = [{"name": f"f{i}", "type": "int", "default": 0} for i in range(n)]
                schema = json.dumps({"type": "record", "name": "R", "fields": fields})
                data = AvroSerializer(registry, schema)({}, context)
                assert outcome(cluster.node(leader), "t", data) == 0
        assert outcome(cluster.node(leader), "t", b"plain") == KafkaError.INVALID_RECORD


def test_without_a_registry_nothing_is_promised_and_nothing_taken() -> None:
    with Broker() as broker:
        broker.create_topic("checked", config=VALUES)
        broker.create_topic("free")
        assert outcome(broker, "checked", framed(1)) == KafkaError.INVALID_RECORD
        assert outcome(broker, "free", b"plain") == 0
