"""Protobuf: what is read, how it is stored, and what a newer schema can read."""

from __future__ import annotations

import pytest

from kafkapy.http.registry.evaluation import canonical, formatted
from kafkapy.http.registry.languages.source import InvalidSchema
from tests.http.registry.languages.texts import proto3, protobuf, wrong

ONE = "message M { int32 a = 1; }"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (ONE, "message M { int32 a = 1; string b = 2; }", ""),
        ("message M { int32 a = 1; string b = 2; }", ONE, ""),
        (ONE, "message M { int32 renamed = 1; }", ""),
        (ONE, f"message New {{}} {ONE}", ""),
        (f"message Old {{}} {ONE}", ONE, "MESSAGE_REMOVED"),
        # The language guide: types whose bytes are read alike.
        (ONE, "message M { int64 a = 1; }", ""),
        (ONE, "message M { bool a = 1; }", ""),
        (ONE, "message M { sint32 a = 1; }", "FIELD_SCALAR_KIND_CHANGED"),
        (ONE, "message M { string a = 1; }", "FIELD_SCALAR_KIND_CHANGED"),
        ("message M { string a = 1; }", "message M { bytes a = 1; }", ""),
        ("message M { fixed32 a = 1; }", "message M { sfixed32 a = 1; }", ""),
        (
            "message M { fixed32 a = 1; }",
            "message M { fixed64 a = 1; }",
            "FIELD_SCALAR_KIND_CHANGED",
        ),
        ("message M { float a = 1; }", "message M { double a = 1; }", "FIELD_SCALAR_KIND_CHANGED"),
        (ONE, "enum E { Z = 0; } message M { E a = 1; }", ""),
        (ONE, "message M { M a = 1; }", "FIELD_KIND_CHANGED"),
        (ONE, "message M { map<string, int32> a = 1; }", "FIELD_KIND_CHANGED"),
        ("message M { map<string, int32> a = 1; }", "message M { map<string, int64> a = 1; }", ""),
        (
            "message M { map<string, int32> a = 1; }",
            "message M { map<string, string> a = 1; }",
            "FIELD_SCALAR_KIND_CHANGED",
        ),
        (
            "message M { optional int32 a = 1; }",
            "message M { repeated int32 a = 1; }",
            "FIELD_NUMERIC_LABEL_CHANGED",
        ),
        ("message M { optional string a = 1; }", "message M { repeated string a = 1; }", ""),
        (
            "message A {} message B {} message M { A a = 1; }",
            "message A {} message B {} message M { B a = 1; }",
            "FIELD_NAMED_TYPE_CHANGED",
        ),
        (
            "enum E { Z = 0; A = 1; } message M { E a = 1; }",
            "enum E { Z = 0; } message M { E a = 1; }",
            "",
        ),
        # Oneofs.
        (ONE, "message M { oneof o { int32 a = 1; } }", ""),
        (
            "message M { int32 a = 1; int32 b = 2; }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        ),
        (
            "message M { int32 a = 1; oneof o { int32 b = 2; } }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "FIELD_MOVED_TO_EXISTING_ONEOF",
        ),
        (
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "message M { oneof o { int32 a = 1; } }",
            "ONEOF_FIELD_REMOVED",
        ),
        ("message M { oneof o { int32 a = 1; } string s = 3; }", "message M { string s = 3; }", ""),
        (
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "message M { int32 a = 1; int32 b = 2; }",
            "",
        ),
        # Nested.
        (
            "message M { message N { int32 a = 1; } N n = 1; }",
            "message M { message N { string a = 1; } N n = 1; }",
            "FIELD_SCALAR_KIND_CHANGED",
        ),
        ("message M { message N {} }", "message M {}", "MESSAGE_REMOVED"),
    ],
)
def test_what_a_newer_schema_reads(old: str, new: str, expected: str) -> None:
    assert wrong(proto3(old), proto3(new)) == expected


def test_required_fields_neither_come_nor_go() -> None:
    with_it = protobuf('syntax = "proto2"; message M { required int32 a = 1; }')
    without = protobuf('syntax = "proto2"; message M { }')
    assert wrong(without, with_it) == "REQUIRED_FIELD_ADDED"
    assert wrong(with_it, without) == "REQUIRED_FIELD_REMOVED"


def test_the_members_of_a_oneof_have_no_labels() -> None:
    """So leaving one is no change of a label, in proto2 either."""
    inside = protobuf('syntax = "proto2"; message M { oneof o { int32 a = 1; } }')
    for label in ("optional", "required", "repeated"):
        outside = protobuf(f'syntax = "proto2"; message M {{ {label} int32 a = 1; }}')
        assert not wrong(inside, outside), label


@pytest.mark.parametrize(
    ("imported", "main", "expected"),
    [
        ("proto2", "proto3", "FIELD_NUMERIC_LABEL_CHANGED"),
        ("proto3", "proto2", ""),
    ],
)
def test_labels_are_those_of_the_file_that_a_message_is_from(
    imported: str, main: str, expected: str
) -> None:
    """Proto2 labels every field; in proto3 none is a label like any other."""
    label = "optional" if main == "proto2" else ""
    text = f'syntax = "{main}"; import "o.proto"; message M {{ {label} x.O o = 1; }}'
    before = "optional" if imported == "proto2" else ""
    old, new = (
        protobuf(
            text,
            {"o.proto": f'syntax = "{imported}"; package x; message O {{ {each} int32 a = 1; }}'},
        )
        for each in (before, "repeated")
    )
    assert wrong(old, new) == expected


def test_a_package_stays() -> None:
    assert wrong(proto3(ONE), protobuf(f'syntax = "proto3"; package q; {ONE}')) == "PACKAGE_CHANGED"


def test_imported_messages_are_compared_too() -> None:
    text = 'syntax = "proto3"; import "o.proto"; message M { x.O o = 1; }'
    old = protobuf(text, {"o.proto": 'syntax = "proto3"; package x; message O { int32 a = 1; }'})
    new = protobuf(text, {"o.proto": 'syntax = "proto3"; package x; message O { string a = 1; }'})
    assert wrong(old, new) == "FIELD_SCALAR_KIND_CHANGED"
    assert not wrong(old, old)


RICH = """
syntax = "proto3";
package a.b;
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
option java_package = "com.example";
message M {
  option (confluent.message_meta).doc = "said \\"so\\"";
  google.protobuf.Timestamp t = 2;
  int32 a = 1 [(confluent.field_meta).tags = "PII", deprecated = true, json_name = "other"];
  map<string, Other> m = 5;
  optional int32 may = 9;
  reserved 10 to 12, 15;
  reserved "foo";
  enum E { Z = 0; Y = 1; reserved 5 to max; }
  E e = 11111;
  repeated E es = 20 [packed = false];
  oneof choice { string q = 21; bytes r = 22; }
}
message Other { google.type.Date d = 1; confluent.type.Decimal n = 2; }
service S { rpc A (M) returns (stream M); }
"""

OLD = """
syntax = "proto2";
message M {
  required int32 a = 1;
  optional string s = 2 [default = "x\\"y"];
  repeated group G = 3 { optional int32 z = 1; }
  extensions 100 to 199;
  enum E { option allow_alias = true; A = 0; B = 0; }
  optional E e = 4 [default = B];
  optional bytes b = 5 [default = "\\001x"];
  optional float f = 6 [default = inf];
}
extend M { optional int32 more = 100; }
"""


@pytest.mark.parametrize("text", [RICH, OLD, 'edition = "2023"; message M { int32 a = 1; }'])
def test_the_stored_text_says_the_same_as_the_written_one(text: str) -> None:
    """By what protoc makes of both; and writing it again changes nothing."""
    stored = canonical(protobuf(text))
    assert formatted(protobuf(stored), "serialized") == formatted(protobuf(text), "serialized")
    assert canonical(protobuf(stored)) == stored


@pytest.mark.parametrize("text", [RICH, OLD])
def test_a_serialized_descriptor_is_the_same_schema(text: str) -> None:
    serialized = formatted(protobuf(text), "serialized")
    assert canonical(protobuf(serialized)) == canonical(protobuf(text))


def test_normalized_fields_are_in_the_order_of_their_numbers() -> None:
    first = "message M { string b = 2; int32 a = 1; }"
    second = "message M { int32 a = 1; string b = 2; }"
    assert canonical(proto3(first)) != canonical(proto3(second))
    assert canonical(proto3(first), is_normalized=True) == canonical(
        proto3(second), is_normalized=True
    )


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        'syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }',
        'syntax = "proto3"; message M { Unknown a = 1; }',
        'syntax = "proto3"; import "nowhere.proto";',
        'syntax = "proto3"; import "../../etc/passwd";',
        'syntax = "proto3"; import "/etc/passwd";',
        'syntax = "proto3";' + "message M {" * 1000 + "}" * 1000,
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        canonical(protobuf(text))
    assert "kafkapy-protobuf" not in str(refused.value)


@pytest.mark.parametrize("name", ["../o.proto", "/tmp/o.proto", "", "a/../../b.proto"])
def test_imports_stay_where_they_are_put(name: str) -> None:
    with pytest.raises(InvalidSchema):
        canonical(protobuf(f'syntax = "proto3"; {ONE}', {name: 'syntax = "proto3";'}))
