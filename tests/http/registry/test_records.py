"""Records of `_schemas`, byte for byte, and what is not one."""

from __future__ import annotations

import base64
import hashlib

import pytest

from kafkapy.http.registry.entities import (
    Reference,
    Schema,
    SchemaId,
    SchemaType,
    StoredSchema,
    Version,
    metadata_from_json,
    rule_set_from_json,
)
from kafkapy.http.registry.records import (
    ConfigSet,
    ContextSet,
    ModeSet,
    Noop,
    Record,
    SchemaForgotten,
    SchemaWritten,
    SubjectCleared,
    SubjectDeleted,
    Unreadable,
    decode,
    encode,
)

STORED = StoredSchema(
    "s", Version(1), SchemaId(7), Schema(SchemaType.AVRO, '"string"'), timestamp=5
)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            SchemaWritten(STORED),
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            b'{"subject":"s","version":1,"id":7,"schemaType":"AVRO","schema":"\\"string\\"",'
            b'"deleted":false}',
        ),
        (
            SchemaForgotten("s", Version(1)),
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            None,
        ),
        (
            SubjectDeleted("s", Version(3)),
            b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
            b'{"subject":"s","version":3}',
        ),
        (
            SubjectCleared("s"),
            b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}',
            b'{"subject":"s"}',
        ),
        (
            ConfigSet(None, {"compatibilityLevel": "FULL"}),
            b'{"keytype":"CONFIG","magic":0}',
            b'{"compatibilityLevel":"FULL"}',
        ),
        (
            ConfigSet("s", {"compatibilityLevel": "NONE"}),
            b'{"keytype":"CONFIG","subject":"s","magic":0}',
            b'{"subject":"s","compatibilityLevel":"NONE"}',
        ),
        (ConfigSet("s", None), b'{"keytype":"CONFIG","subject":"s","magic":0}', None),
        (
            ModeSet("s", "IMPORT"),
            b'{"keytype":"MODE","subject":"s","magic":0}',
            b'{"subject":"s","mode":"IMPORT"}',
        ),
        (
            ContextSet(".c", True),
            b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}',
            b'{"tenant":"default","context":".c"}',
        ),
        (Noop(), b'{"keytype":"NOOP","magic":0}', None),
    ],
)
def test_a_record_is_written_as_confluents_registry_writes_it(
    record: Record, key: bytes, value: bytes | None
) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value, 5) == record


def test_what_older_registries_wrote_is_read() -> None:
    """A null subject, no type for Avro, a digest that is not needed."""
    assert decode(
        b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"FULL"}'
    ) == ConfigSet(None, {"compatibilityLevel": "FULL"})
    old = b'{"subject":"s","version":1,"id":7,"md5":"AA==","schema":"\\"string\\"","deleted":false}'
    key = b'{"magic":1,"keytype":"SCHEMA","subject":"s","version":1}'
    assert decode(key, old, 5) == SchemaWritten(STORED)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b""),
        (b"\xff", None),
        (b"[]", None),
        (b"{}", None),
        (b'{"keytype":"ASSOC","magic":0}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":"1"}', None),
        (b'{"keytype":"SCHEMA","subject":null,"version":1}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b"[]"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":-1,"schema":""}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":1,"schemaType":"XML"}'),
        (b'{"keytype":"MODE","subject":"s"}', b"{}"),
        (b'{"keytype":' + b"[" * 100_000, None),
    ],
)
def test_what_is_no_record_is_said_to_be_none(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(Unreadable):
        decode(key, value)


def test_a_schema_is_known_by_a_digest_over_all_that_belongs_to_it() -> None:
    """The digest of a schema alone is that of its text; the rest follows in Confluent's order."""
    text = '"string"'
    plain = Schema(SchemaType.AVRO, text)
    assert plain.digest() == hashlib.md5(text.encode()).digest()
    reference = Reference("n", "s", Version(2))
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "disabled": True}
    full = Schema(
        SchemaType.AVRO,
        text,
        (reference,),
        metadata_from_json({"properties": {"b": "2", "a": "1"}, "tags": {"p": ["y", "x"]}}),
        rule_set_from_json({"domainRules": [rule]}),
    )
    spelled = text + "ns\0\0\0\2" + "\1" + "pxy" + "a1b2" + "\1" + "rCONDITIONWRITECEL" + "\1"
    assert full.digest() == hashlib.md5(spelled.encode()).digest()
    assert base64.b16encode(full.digest()).decode().lower() == full.guid.replace("-", "")
