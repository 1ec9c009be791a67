"""Avro: what is read, how it is stored, and what a reader can make of what a writer wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.http.registry.evaluation import canonical, formatted
from kafkapy.http.registry.languages.source import InvalidSchema
from tests.http.registry.languages.texts import avro, field, record, wrong

ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
MORE = {**ENUM, "symbols": ["A", "B", "C"]}
INT, STRING = record(field("x", "int")), record(field("x", "string"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Confluent's documentation of schema evolution: fields.
        (INT, record(field("x", "int"), field("y", "int", default=1)), ""),
        (
            INT,
            record(field("x", "int"), field("y", "int")),
            "READER_FIELD_MISSING_DEFAULT_VALUE",
        ),
        (record(field("x", "int"), field("y", "int")), INT, ""),
        (INT, record(field("z", "int", aliases=["x"])), ""),
        (INT, record(field("z", "int")), "READER_FIELD_MISSING_DEFAULT_VALUE"),
        (
            record(field("x", "int"), field("y", "int")),
            record(field("x", "int", aliases=["y"])),
            "READER_FIELD_AMBIGUOUS",
        ),
        (INT, record(field("x", "int"), field("y", ["null", "int"], default=None)), ""),
        # The specification: promotions.
        (INT, record(field("x", "long")), ""),
        (INT, record(field("x", "float")), ""),
        (INT, record(field("x", "double")), ""),
        (record(field("x", "long")), INT, "TYPE_MISMATCH"),
        (record(field("x", "long")), record(field("x", "double")), ""),
        (record(field("x", "double")), record(field("x", "float")), "TYPE_MISMATCH"),
        (STRING, record(field("x", "bytes")), ""),
        (record(field("x", "bytes")), STRING, ""),
        (INT, STRING, "TYPE_MISMATCH"),
        # Unions.
        (INT, record(field("x", ["null", "int"])), ""),
        (record(field("x", ["null", "int"])), INT, "TYPE_MISMATCH"),
        (INT, record(field("x", ["null", "string"])), "MISSING_UNION_BRANCH"),
        (record(field("x", ["null", "int"])), record(field("x", ["int", "string", "null"])), ""),
        (
            record(field("x", ["null", "int", "string"])),
            record(field("x", ["null", "int"])),
            "MISSING_UNION_BRANCH",
        ),
        # Enums, fixed, arrays and maps.
        (ENUM, MORE, ""),
        (MORE, ENUM, "MISSING_ENUM_SYMBOLS"),
        (MORE, {**ENUM, "default": "A"}, ""),
        (
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "F", "size": 8},
            "FIXED_SIZE_MISMATCH",
        ),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, ""),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}, "TYPE_MISMATCH"),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "string"}, "TYPE_MISMATCH"),
        ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, "TYPE_MISMATCH"),
        # Names: without their namespaces, and aliases of the reader.
        (INT, record(field("x", "int"), name="Q"), "NAME_MISMATCH"),
        (INT, record(field("x", "int"), name="Q", aliases=["R"]), ""),
        (record(field("x", "int"), name="a.R"), record(field("x", "int"), name="b.R"), ""),
        # A type that contains itself.
        (
            record(field("v", "int"), field("next", ["null", "R"])),
            record(field("v", "long"), field("next", ["null", "R"])),
            "",
        ),
        (
            record(field("v", "long"), field("next", ["null", "R"])),
            record(field("v", "int"), field("next", ["null", "R"])),
            "TYPE_MISMATCH",
        ),
    ],
)
def test_what_a_newer_schema_reads(old: Any, new: Any, expected: str) -> None:
    assert wrong(avro(old), avro(new)) == expected


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (' {"type" : "string"} ', '"string"'),
        ("string", '"string"'),
        ('{"type":"int","logicalType":"date"}', '{"type":"int","logicalType":"date"}'),
        (
            '{"fields":[{"type":"int","name":"f","doc":"d","order":"ascending"}],"doc":"é",'
            '"zed":1,"namespace":"a.b","name":"R","type":"record","aliases":["a.b.Old"]}',
            '{"type":"record","name":"R","namespace":"a.b","doc":"é","fields":'
            '[{"name":"f","type":"int","doc":"d"}],"zed":1,"aliases":["Old"]}',
        ),
        (
            '{"type":"record","name":"a.R","fields":[{"name":"e","type":{"type":"enum","name":'
            '"a.E","symbols":["A"]}},{"name":"f","type":["null","a.E","R"]}]}',
            '{"type":"record","name":"R","namespace":"a","fields":[{"name":"e","type":{"type":'
            '"enum","name":"E","symbols":["A"]}},{"name":"f","type":["null","E","R"]}]}',
        ),
    ],
)
def test_the_stored_text_is_what_javas_avro_prints(written: str, stored: str) -> None:
    assert canonical(avro(written)) == stored
    assert canonical(avro(stored)) == stored


def test_normalized_texts_are_one_whatever_the_order_and_spelling() -> None:
    first = avro(record(field("x", "int", a=1, b=2), name="n.R", aliases=["p", "n.o"]))
    second = avro(
        {
            **record(field("x", {"type": "int"}, b=2, a=1), name="R", aliases=["n.o", "n.p"]),
            "namespace": "n",
        }
    )
    assert canonical(first) != canonical(second)
    assert canonical(first, is_normalized=True) == canonical(second, is_normalized=True)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '{"type":"record"}',
        '{"type":"record","name":"R","fields":[{"name":"x","type":"Unknown"}]}',
        '{"type":"enum","name":"E","symbols":["A","A"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"Z"}',
        '["int","int"]',
        '["int",["string"]]',
        '{"type":"record","name":"1R","fields":[]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},'
        '{"name":"a","type":"int"}]}',
        '{"type":"fixed","name":"F"}',
        "[" * 400 + '"int"' + "]" * 400,
        "[" * 100_000,
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        canonical(avro(text))


def test_references_are_known_by_their_names() -> None:
    other = record(field("y", "int"), name="Other", namespace="o")
    holder = avro(record(field("x", "o.Other")), **{"o.Other": other})
    assert canonical(holder) == json.dumps(json.loads(holder.text), separators=(",", ":"))
    assert json.loads(formatted(holder, "resolved"))["fields"][0]["type"]["name"] == "Other"
    changed = record(field("y", "int"), field("z", "int"), name="Other", namespace="o")
    newer = avro(record(field("x", "o.Other")), **{"o.Other": changed})
    assert wrong(holder, newer) == "READER_FIELD_MISSING_DEFAULT_VALUE"
