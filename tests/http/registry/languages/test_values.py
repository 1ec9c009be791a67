"""Values of schemas, between JSON and bytes, as the languages' other libraries have them."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from kafkapy.http.registry.evaluation import read, written
from kafkapy.http.registry.languages.source import Source, Unfit
from tests.http.registry.languages.texts import avro, field, json_schema, proto3, protobuf, record

AVRO = avro(
    record(
        field("text", ["null", "string"], default=None),
        field("raw", "bytes"),
        field("day", {"type": "int", "logicalType": "date"}),
        field("share", "double"),
    )
)
PROTO = proto3("message A { int32 n = 1; message B { string s = 1; } } message C { bool b = 1; }")


def one(source: Source, value: Any, message: str | None = None) -> bytes:
    made = written(source, [value], message)[0]
    assert isinstance(made, bytes), made
    return made


def test_avros_own_json_goes_in_and_comes_out() -> None:
    value = {"text": {"string": "x"}, "raw": "\u00ff", "day": 3, "share": 0.5}
    data = one(AVRO, value)
    schema: Any = fastavro.parse_schema(json.loads(AVRO.text))
    found: Any = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
    assert found["raw"] == b"\xff"
    assert read(AVRO, [data]) == [value]


def test_a_branch_may_be_left_out_where_the_schema_says_which() -> None:
    source = avro(record(field("text", ["null", "string"]), field("n", ["null", "long"])))
    assert read(source, [one(source, {"text": "x", "n": None})]) == [
        {"text": {"string": "x"}, "n": None}
    ]


def test_avro_reads_types_of_what_it_imports() -> None:
    source = avro(record(field("inner", "Inner")), Inner=record(field("n", "int"), name="Inner"))
    assert read(source, [one(source, {"inner": {"n": 5}})]) == [{"inner": {"n": 5}}]


def test_what_is_no_number_is_told_by_name() -> None:
    source = avro("double")
    data = io.BytesIO()
    fastavro.schemaless_writer(data, "double", float("nan"))
    assert read(source, [data.getvalue()]) == ["NaN"]


def test_json_is_valid_by_its_schema_or_refused() -> None:
    source = json_schema(
        {"type": "object", "properties": {"n": {"$ref": "n.json"}}},
        **{"n.json": {"type": "integer"}},
    )
    assert one(source, {"n": 1}) == b'{"n":1}'
    assert read(source, [b'{"n": "whatever"}']) == [{"n": "whatever"}]
    wrong = written(source, [{"n": "x"}])[0]
    assert isinstance(wrong, Unfit)
    assert "#/n" in str(wrong)


def test_protobufs_message_is_the_first_or_the_named_one() -> None:
    assert one(PROTO, {"n": 3}) == b"\0\x08\x03"
    # Three numbers: two levels, the first message, the first in it (zigzag).
    assert one(PROTO, {"s": "x"}, "p.A.B") == b"\x04\0\0\x0a\x01x"
    assert one(PROTO, {"b": True}, "p.C") == b"\x02\x02\x08\x01"
    datas = [b"\0\x08\x03", b"\x04\0\0\x0a\x01x", b"\x02\x02\x08\x01", b"\x02\0\x08\x03"]
    assert read(PROTO, datas) == [{"n": 3}, {"s": "x"}, {"b": True}, {"n": 3}]


@pytest.mark.parametrize(
    ("source", "value", "message"),
    [
        (AVRO, {"text": 3}, None),
        (AVRO, [], None),
        (AVRO, {}, "R"),
        (avro("int"), 2**40, None),
        (json_schema({"type": "string"}), 3, None),
        (PROTO, {"unknown": 3}, None),
        (PROTO, {"n": "x"}, None),
        (PROTO, [], None),
        (PROTO, {}, "p.None"),
        (PROTO, {}, "google.protobuf.Any"),
    ],
)
def test_a_value_that_does_not_fit_is_told_why(
    source: Source, value: Any, message: str | None
) -> None:
    assert isinstance(written(source, [value], message)[0], Unfit)


@pytest.mark.parametrize(
    ("source", "data"),
    [
        (AVRO, b""),
        (AVRO, b"\xff" * 20),
        (avro("int"), b"\x02\x02"),
        (json_schema({}), b"{"),
        (PROTO, b""),
        (PROTO, b"\x80"),
        (PROTO, b"\xff" * 9),
        (PROTO, b"\x02\x0e"),
        (PROTO, b"\0\x08"),
    ],
)
def test_bytes_that_are_no_value_are_told_so(source: Source, data: bytes) -> None:
    assert isinstance(read(source, [data])[0], Unfit)


def test_protobuf_knows_what_it_imports() -> None:
    text = 'syntax = "proto3"; package p; import "o.proto"; message M { o.O o = 1; }'
    source = protobuf(text, {"o.proto": 'syntax = "proto3"; package o; message O { int32 n = 1; }'})
    assert read(source, [one(source, {"o": {"n": 7}})]) == [{"o": {"n": 7}}]


@pytest.mark.parametrize(
    "items",
    ["null", record(), record(field("none", "null")), {"type": "fixed", "name": "F", "size": 0}],
)
def test_a_list_of_nothings_without_end_is_none(items: Any) -> None:
    """Ten bytes say that they are four billion billion of them."""
    source = avro(record(field("list", {"type": "array", "items": items}), name="L"))
    assert isinstance(read(source, [b"\xfe" * 8 + b"\x7f\x00"])[0], Unfit)
    assert len(read(source, [b"\x04\x00"])[0]["list"]) == 2
