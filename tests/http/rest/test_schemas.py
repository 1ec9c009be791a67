"""Values with schemas, as confluent-kafka's serializers write and read them."""

import json
from typing import Any

import httpx2 as httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.testing import Broker

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}],
}
PROTO = 'syntax = "proto3"; package p; message A { int32 n = 1; } message B { string s = 1; }'


def post(http: httpx.Client, topic: str, **body: Any) -> httpx.Response:
    return http.post(f"/api/v1/topics/{topic}/messages", json=body)


def read(http: httpx.Client, topic: str) -> list[dict[str, Any]]:
    path = f"/api/v1/topics/{topic}/partitions/0/messages"
    answer = http.get(path, params={"as": "schema"})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["messages"]
    return found


def avro(schema: Any) -> dict[str, str]:
    return {"schemaType": "AVRO", "schema": json.dumps(schema)}


def test_a_value_goes_in_and_confluents_deserializer_reads_it(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("orders")
    value = {"id": 7, "note": {"string": "x"}}
    answer = post(over_http, "orders", value=value, valueSchema=avro(ORDER))
    assert answer.status_code == 200, answer.text
    assert over_http.get("/subjects").json() == ["orders-value"]
    where = SerializationContext("orders", MessageField.VALUE)
    with SchemaRegistryClient({"url": broker.http}) as registry:
        found = AvroDeserializer(registry)(broker.records("orders")[0].value, where)
    assert found == {"id": 7, "note": "x"}
    message = read(over_http, "orders")[0]
    assert (message["value"], message["valueEncoding"]) == (value, "avro")
    schema_id = message["valueSchemaId"]
    for chosen in (schema_id, "latest", {"subject": "orders-value", "version": 1}):
        several = {"messages": [{"value": value}, {"value": None}], "valueSchema": chosen}
        assert post(over_http, "orders", **several).status_code == 200
    values = [record.value for record in broker.records("orders")]
    assert values == [values[0], *[values[0], None] * 3]


def test_what_confluents_serializer_wrote_is_read(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("written")
    where = SerializationContext("written", MessageField.VALUE)
    with SchemaRegistryClient({"url": broker.http}) as registry:
        data = AvroSerializer(registry, json.dumps(ORDER))({"id": 1, "note": None}, where)
    broker.produce("written", data)
    broker.produce("written", b"\0\0\0\0\x01")
    broker.produce("written", b"\0\x7f\0\0\0 no id of anything")
    broker.produce("written", b'{"plain": 1}')
    framed, damaged, unknown, plain = read(over_http, "written")
    assert framed["value"] == {"id": 1, "note": None}
    assert damaged["valueEncoding"] == "base64"
    assert damaged["valueError"]
    assert unknown["valueEncoding"] == "text"
    assert plain["value"] == {"plain": 1}


def test_json_and_protobuf_and_keys(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("mixed")
    proto = {"schemaType": "PROTOBUF", "schema": PROTO, "message": "p.B"}
    number = {"schemaType": "JSON", "schema": '{"type": "integer"}'}
    answer = post(over_http, "mixed", key=5, keySchema=number, value={"s": "x"}, valueSchema=proto)
    assert answer.status_code == 200, answer.text
    message = read(over_http, "mixed")[0]
    assert (message["key"], message["keyEncoding"]) == (5, "json-schema")
    assert (message["value"], message["valueEncoding"]) == ({"s": "x"}, "protobuf")
    assert broker.records("mixed")[0].value[5:] == b"\x02\x02\x0a\x01x"  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"value": {"id": "seven"}, "valueSchema": avro(ORDER)}, 422),
        ({"value": 1, "valueSchema": avro({"type": "none"})}, 422),
        ({"value": 1, "valueSchema": 999}, 404),
        ({"value": 1, "valueSchema": -1}, 404),
        ({"value": 1, "valueSchema": {"subject": "nobody"}}, 404),
        ({"value": 1, "valueSchema": {"subject": 3}}, 400),
        ({"value": 1, "valueSchema": {"version": "x"}}, 422),
        ({"value": 1, "valueSchema": {"wrong": 1}}, 400),
        ({"value": 1, "valueSchema": "newest"}, 400),
        ({"value": 1, "valueSchema": True}, 400),
        ({"messages": [{"value": 1}], "value": 2}, 400),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    broker: Broker, over_http: httpx.Client, body: dict[str, Any], status: int
) -> None:
    if "refused" not in broker.topics():
        broker.create_topic("refused")
    answer = post(over_http, "refused", **body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert not broker.records("refused")
