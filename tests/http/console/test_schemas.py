"""Schemas in the console: beside each other, drafts, and the values they are of."""

import re
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kafkapy.http.console.schemas import said
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.console.filling import produced

_FIRST = '{"type":"record","name":"Parcel","fields":[{"name":"id","type":"long"}]}'
_WIDER = _FIRST.replace("]}", ',{"name":"to","type":["null","string"],"default":null}]}')
_BREAKING = _FIRST.replace("]}", ',{"name":"weight","type":"double"}]}')
_REPAIRED = _BREAKING.replace('"double"}', '"double","default":0}')


@pytest.fixture
def console(broker: Broker) -> Iterator[httpx.Client]:
    """A browser that sends forms from the console's own pages."""
    with httpx.Client(
        base_url=broker.http,
        trust_env=False,
        timeout=30,
        headers={"origin": broker.http},
        follow_redirects=True,
    ) as client:
        yield client


@pytest.fixture
def client(broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": broker.http}) as made:
        yield made


def _register(console: httpx.Client, subject: str, *texts: str) -> None:
    for text in texts:
        answer = console.post(f"/subjects/{subject}/versions", json={"schema": text})
        assert answer.status_code == 200, answer.text


def test_what_broke_the_schema_is_seen(console: httpx.Client) -> None:
    subject = "parcels-value"
    _register(console, subject, _FIRST, _WIDER)
    set_ = {"subject": subject, "level": "NONE"}
    assert "compatibility is changed" in console.post("/console/schema/level", data=set_).text
    _register(console, subject, _BREAKING)
    assert subject in console.get("/console/schemas?q=PARC").text
    listed = console.get("/console/schema", params={"subject": subject}).text
    assert "3 does not read 2" in listed
    assert "each reads the other" in listed
    diff = console.get("/console/schema/diff", params={"subject": subject}).text
    assert "Version 3 does not read all that version 2 writes" in diff
    assert "reader field missing default value" in diff
    assert "Version 2 reads what version 3 writes" in diff
    gone = re.findall(r'<tr class="gone">.*?</tr>', diff)
    added = re.findall(r'<tr class="added">.*?</tr>', diff)
    assert any("to&#34;" in one for one in gone)
    assert any("weight" in one for one in added)
    back = {"subject": subject, "level": ""}
    assert "(now as for all)" in console.post("/console/schema/level", data=back).text


def test_a_draft_is_checked_and_registered(console: httpx.Client) -> None:
    subject = "drafted-value"
    _register(console, subject, _FIRST)
    begun = console.get("/console/schema/check", params={"subject": subject}).text
    assert "&#34;name&#34;: &#34;Parcel&#34;" in begun

    def checked(text: str, where: str = "check") -> str:
        draft = {"subject": subject, "type": "AVRO", "schema": text}
        return console.post(f"/console/schema/{where}", data=draft).text

    assert "It is no schema" in checked("{nonsense")
    assert "That is version 1 already" in checked(_FIRST)
    broken = checked(_BREAKING)
    assert "It does not fit (BACKWARD, beside version 1)" in broken
    assert "Register it" not in broken
    assert "incompatible" in checked(_BREAKING, "register")
    assert "Register it" in checked(_REPAIRED)
    assert "The schema is registered" in checked(_REPAIRED, "register")
    # A browser sends line ends as CR LF: the text is another, the schema is not.
    assert "That is version 2 already" in checked(_REPAIRED.replace(",", ",\r\n"))


def test_versions_and_subjects_are_deleted_softly(console: httpx.Client) -> None:
    subject = "leaving-value"
    _register(console, subject, _FIRST, _WIDER)
    ask = console.get("/console/schema/delete", params={"subject": subject}).text
    assert "Type the subject" in ask
    wrong = console.post("/console/schema/delete", data={"subject": subject, "confirm": "no"})
    assert wrong.status_code == 400
    one = console.post("/console/schema/delete", data={"subject": subject, "version": "1"})
    assert "It is deleted" in one.text
    console.post("/console/schema/delete", data={"subject": subject, "confirm": subject})
    assert console.get("/console/schema", params={"subject": subject}).status_code == 404
    assert console.get(f"/subjects/{subject}/versions?deleted=true").json() == [1, 2]


def test_no_form_of_a_stranger_changes_a_schema(console: httpx.Client) -> None:
    _register(console, "kept-value", _FIRST)
    strange = {"origin": "http://elsewhere"}
    for path, fields in (
        ("level", {"subject": "kept-value", "level": "NONE"}),
        ("delete", {"subject": "kept-value", "confirm": "kept-value"}),
        ("register", {"subject": "kept-value", "type": "AVRO", "schema": '"int"'}),
    ):
        assert console.post(f"/console/schema/{path}", data=fields, headers=strange).status_code
    assert console.get("/subjects/kept-value/versions").json() == [1]


def _point() -> type:
    """message Outer { message Point { int32 x = 1; } }, as a serializer wants it."""
    file = descriptor_pb2.FileDescriptorProto(name="point.proto", syntax="proto3")
    outer = file.message_type.add(name="Outer")
    point = outer.nested_type.add(name="Point")
    point.field.add(name="x", number=1, type=5, label=1, json_name="x")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("Outer.Point")
    made: type = message_factory.GetMessageClass(found)
    return made


def test_values_are_read_by_their_schemas(
    broker: Broker, console: httpx.Client, client: SchemaRegistryClient
) -> None:
    """Written by stock serializers, by id and by guid, in all three languages."""
    topic = "by-schema"
    broker.create_topic(topic)
    context = SerializationContext(topic, MessageField.VALUE, [])
    other = SerializationContext("other", MessageField.VALUE, [])
    point = _point()
    avro = AvroSerializer(client, _WIDER)({"id": 7, "to": "Ulm"}, context)
    proto = ProtobufSerializer(point, client)(point(x=5), other)
    headers: list[tuple[str, str | bytes | None]] = []
    schema = '{"type":"object","title":"T","properties":{"y":{"type":"integer"}}}'
    by_json = JSONSerializer(
        schema, client, conf={"schema.id.serializer": header_schema_id_serializer}
    )({"y": 3}, SerializationContext("third", MessageField.VALUE, headers))
    values = [NewRecord(None, one, 1000) for one in (avro, proto, avro + b"more", b"\0\0\0\0\x63x")]
    guid = dict(headers)["__value_schema_id"]
    assert isinstance(guid, bytes)
    values.append(NewRecord(None, by_json, 1000, (("__value_schema_id", guid),)))
    produced(broker, topic, values)
    listed = console.get(f"/console/topics/{topic}/messages").text
    assert "{&#34;id&#34;: 7, &#34;to&#34;: &#34;Ulm&#34;}" in listed
    assert "{&#34;x&#34;: 5}" in listed
    where = f"/console/topics/{topic}/messages/0"
    one = console.get(f"{where}/0").text
    assert '<span class="tag">Avro</span>' in one
    assert f"{topic}-value, version 1" in one
    assert "other-value, version 1" in console.get(f"{where}/1").text
    assert '<span class="tag">hex</span>' in console.get(f"{where}/2").text, "more than it says"
    assert "by-schema-value, version" not in console.get(f"{where}/3").text, "no such id"
    assert '<span class="tag">JSON Schema</span>' in console.get(f"{where}/4").text
    assert '<span class="tag">hex</span>' in console.get(f"{where}/0?as=hex").text


def test_the_registrys_sentences_are_said_plainly() -> None:
    sentence = "{errorType:'TYPE_MISMATCH', description:'it's so', additionalInfo:'a'}"
    assert said(sentence) == "it's so"
    assert said("anything else") == "anything else"
