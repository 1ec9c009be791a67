"""confluent-kafka's serializers, as everybody uses them, against the registry beside a broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pool, message_factory

from kafkapy.http.registry.languages.protobuf.reading import MAIN, read
from kafkapy.testing import Broker
from tests.http.pages import HTTP
from tests.http.registry.languages.texts import protobuf

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "who", "type": "string"}],
    }
)
JSON_SCHEMA = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "who": {"type": "string"}},
    }
)
PROTO = 'syntax = "proto3"; package shop; message Order { int32 id = 1; string who = 2; }'
ORDER = {"id": 7, "who": "somebody with é"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(HTTP) as started:
        yield started


@pytest.fixture(scope="module")
def registry(broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": broker.http}) as client:
        yield client


def order_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    file = read(protobuf(PROTO)).by_name[MAIN]
    file.name = "order.proto"
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def avro_pair(registry: SchemaRegistryClient, **conf: Any) -> tuple[Any, Any]:
    return AvroSerializer(registry, AVRO, conf=conf), AvroDeserializer(registry)


def json_pair(registry: SchemaRegistryClient, **conf: Any) -> tuple[Any, Any]:
    deserializer = JSONDeserializer(None, schema_registry_client=registry)
    return JSONSerializer(JSON_SCHEMA, registry, conf=conf), deserializer


def protobuf_pair(registry: SchemaRegistryClient, **conf: Any) -> tuple[Any, Any]:
    cls = order_class()
    write, read = ProtobufSerializer(cls, registry, conf), ProtobufDeserializer(cls, {}, registry)

    def serialize(value: Any, context: Any) -> Any:
        return write(cls(**value), context)

    def deserialize(data: Any, context: Any) -> Any:
        got = read(data, context)
        return {"id": got.id, "who": got.who}

    return serialize, deserialize


@pytest.mark.parametrize("pair", [avro_pair, json_pair, protobuf_pair])
def test_what_one_client_serializes_another_deserializes(
    broker: Broker, registry: SchemaRegistryClient, pair: Callable[..., tuple[Any, Any]]
) -> None:
    """Produce with one client and its registry, consume with others that know neither."""
    topic = pair.__name__
    serialize, _ = pair(registry)
    context = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, serialize(ORDER, context))
    assert producer.flush(30) == 0
    other = SchemaRegistryClient({"url": broker.http})
    _, deserialize = pair(other)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.error() is None
    assert deserialize(message.value(), context) == ORDER
    other.close()
    assert registry.get_latest_version(f"{topic}-value").version == 1


@pytest.mark.parametrize("pair", [avro_pair, json_pair, protobuf_pair])
def test_ids_in_headers_are_guids(
    registry: SchemaRegistryClient, pair: Callable[..., tuple[Any, Any]]
) -> None:
    serialize, deserialize = pair(registry, **{"schema.id.serializer": header_schema_id_serializer})
    headers: list[Any] = []
    context = SerializationContext(f"{pair.__name__}-guid", MessageField.VALUE, headers)
    data = serialize(ORDER, context)
    assert data[:1] != b"\0" or pair is protobuf_pair
    assert headers[0][0] == "__value_schema_id"
    assert deserialize(data, context) == ORDER


def test_the_latest_version_is_used_on_request(registry: SchemaRegistryClient) -> None:
    """A producer that may not register finds the schema that somebody else has."""
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    registry.register_schema("latest-value", Schema(AVRO, "AVRO"))
    serialize, deserialize = avro_pair(registry, **conf)
    context = SerializationContext("latest", MessageField.VALUE)
    assert deserialize(serialize(ORDER, context), context) == ORDER
    context = SerializationContext("nowhere", MessageField.VALUE)
    with pytest.raises(SchemaRegistryError) as refused:
        serialize(ORDER, context)
    assert refused.value.error_code == 40401


def test_an_evolved_schema_reads_what_the_old_one_wrote(registry: SchemaRegistryClient) -> None:
    write, _ = avro_pair(registry)
    context = SerializationContext("evolving", MessageField.VALUE)
    data = write(ORDER, context)
    newer = json.loads(AVRO)
    newer["fields"].append({"name": "paid", "type": "boolean", "default": False})
    registry.register_schema("evolving-value", Schema(json.dumps(newer), "AVRO"))
    read = AvroDeserializer(registry, json.dumps(newer))
    assert read(data, context) == {**ORDER, "paid": False}
    newer["fields"].append({"name": "must", "type": "int"})
    with pytest.raises(SchemaRegistryError) as refused:
        registry.register_schema("evolving-value", Schema(json.dumps(newer), "AVRO"))
    assert refused.value.http_status_code == 409


def test_the_client_does_all_it_can(registry: SchemaRegistryClient) -> None:
    """Every call of its that asks the registry."""
    schema_id = registry.register_schema("all", Schema(AVRO, "AVRO"))
    reference = SchemaReference("Order", "all", 1)
    holder = '{"type":"record","name":"H","fields":[{"name":"o","type":"Order"}]}'
    full = registry.register_schema_full_response("all-holder", Schema(holder, "AVRO", [reference]))
    assert registry.get_schema(schema_id).schema_type == "AVRO"
    assert registry.get_schema_by_guid(str(full.guid)).references == [reference]
    assert registry.lookup_schema("all", Schema(AVRO, "AVRO")).version == 1
    assert {"all", "all-holder"} <= set(registry.get_subjects())
    assert registry.get_versions("all") == [1]
    assert registry.get_version("all", 1).schema_id == schema_id
    assert registry.test_compatibility("all", Schema(AVRO, "AVRO"))
    assert not registry.test_compatibility("all", Schema('"string"', "AVRO"))
    registry.set_compatibility("all", "FULL")
    assert registry.get_compatibility("all") == "FULL"
    with pytest.raises(SchemaRegistryError) as refused:
        registry.delete_version("all", 1)
    assert refused.value.error_code == 42206
    assert registry.delete_subject("all-holder") == [1]
    assert registry.delete_subject("all-holder", permanent=True) == [1]
    assert registry.delete_version("all", 1) == 1
