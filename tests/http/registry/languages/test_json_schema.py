"""JSON Schema: what is read, how it is stored, and what a newer one still takes."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.http.registry.evaluation import canonical
from kafkapy.http.registry.languages.source import InvalidSchema
from tests.http.registry.languages.texts import json_schema, wrong

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> dict[str, Any]:
    return {**obj(**properties), "additionalProperties": False}


def array(*items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": list(items), **more}


ONE, TWO = obj(a=STRING), obj(a=STRING, b=INTEGER)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Content models: Confluent's documentation of JSON Schema's compatibility.
        (ONE, TWO, "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
        (ONE, obj(a=STRING, b=True), ""),
        (TWO, ONE, ""),
        (closed(a=STRING), closed(a=STRING, b=INTEGER), ""),
        (closed(a=STRING), TWO, ""),
        (
            closed(a=STRING, b=INTEGER),
            closed(a=STRING),
            "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        ),
        (closed(a=STRING, b=False), closed(a=STRING), ""),
        (ONE, closed(a=STRING), "ADDITIONAL_PROPERTIES_REMOVED"),
        (closed(a=STRING), ONE, ""),
        (
            closed(a=STRING),
            {**closed(a=STRING, b=INTEGER), "required": ["b"]},
            "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        ),
        (
            closed(a=STRING),
            {**closed(a=STRING, b={**INTEGER, "default": 1}), "required": ["b"]},
            "",
        ),
        (
            {**ONE, "additionalProperties": STRING},
            {**obj(a=STRING, b=STRING), "additionalProperties": STRING},
            "",
        ),
        (
            {**ONE, "additionalProperties": STRING},
            {**TWO, "additionalProperties": STRING},
            "TYPE_CHANGED",
        ),
        (
            {**TWO, "additionalProperties": STRING},
            {**ONE, "additionalProperties": STRING},
            "TYPE_CHANGED",
        ),
        (ONE, {**ONE, "additionalProperties": STRING}, "ADDITIONAL_PROPERTIES_NARROWED"),
        (ONE, {**ONE, "required": ["a"]}, "REQUIRED_ATTRIBUTE_ADDED"),
        ({**ONE, "required": ["a"]}, ONE, ""),
        (ONE, obj(a=INTEGER), "TYPE_CHANGED"),
        # Limits.
        (STRING, {**STRING, "maxLength": 3}, "MAX_LENGTH_ADDED"),
        ({**STRING, "maxLength": 3}, {**STRING, "maxLength": 4}, ""),
        ({**STRING, "maxLength": 4}, {**STRING, "maxLength": 3}, "MAX_LENGTH_DECREASED"),
        ({**STRING, "minLength": 3}, {**STRING, "minLength": 4}, "MIN_LENGTH_INCREASED"),
        ({**STRING, "minLength": 4}, STRING, ""),
        (STRING, {**STRING, "pattern": "^a"}, "PATTERN_ADDED"),
        ({**STRING, "pattern": "^a"}, {**STRING, "pattern": "^b"}, "PATTERN_CHANGED"),
        ({**NUMBER, "maximum": 5}, {**NUMBER, "maximum": 4.5}, "MAXIMUM_DECREASED"),
        (NUMBER, {**NUMBER, "exclusiveMinimum": 0}, "EXCLUSIVE_MINIMUM_ADDED"),
        ({**NUMBER, "multipleOf": 2}, {**NUMBER, "multipleOf": 4}, "MULTIPLE_OF_EXPANDED"),
        ({**NUMBER, "multipleOf": 4}, {**NUMBER, "multipleOf": 2}, ""),
        ({**NUMBER, "multipleOf": 3}, {**NUMBER, "multipleOf": 2}, "MULTIPLE_OF_CHANGED"),
        ({**NUMBER, "multipleOf": 0.50}, {**NUMBER, "multipleOf": 0.5}, ""),
        (INTEGER, NUMBER, ""),
        (NUMBER, INTEGER, "TYPE_NARROWED"),
        ({**ONE, "maxProperties": 3}, {**ONE, "maxProperties": 2}, "MAX_PROPERTIES_DECREASED"),
        # Enumerations.
        ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}, ""),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, "ENUM_ARRAY_NARROWED"),
        ({"enum": ["a", "b"]}, {"enum": ["a", "c"]}, "ENUM_ARRAY_CHANGED"),
        ({"enum": [1]}, {"enum": [True]}, "ENUM_ARRAY_CHANGED"),
        ({"const": 1}, {"const": 2}, "ENUM_ARRAY_CHANGED"),
        # Several types, and combinations.
        (STRING, {"type": ["string", "null"]}, ""),
        ({"type": ["string", "null"]}, STRING, "TYPE_CHANGED"),
        (STRING, {"oneOf": [STRING, INTEGER]}, ""),
        ({"oneOf": [STRING, INTEGER]}, {"oneOf": [INTEGER, STRING, {"type": "null"}]}, ""),
        ({"oneOf": [STRING, INTEGER]}, {"oneOf": [STRING]}, "SUM_TYPE_NARROWED"),
        (
            {"oneOf": [STRING, INTEGER]},
            {"oneOf": [STRING, {"type": "null"}]},
            "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        ),
        ({"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}, ""),
        ({"anyOf": [STRING, INTEGER]}, {"oneOf": [STRING, INTEGER]}, "COMBINED_TYPE_CHANGED"),
        ({"allOf": [STRING, {"maxLength": 3}]}, STRING, ""),
        (
            {"allOf": [ONE]},
            {"allOf": [ONE, {**obj(), "minProperties": 1}]},
            "PRODUCT_TYPE_EXTENDED",
        ),
        ({"not": STRING}, {"not": {**STRING, "maxLength": 3}}, ""),
        ({"not": {**STRING, "maxLength": 3}}, {"not": STRING}, "NOT_TYPE_EXTENDED"),
        (STRING, True, ""),
        (STRING, {}, ""),
        ({}, STRING, "TYPE_CHANGED"),
        (False, STRING, ""),
        # Arrays.
        ({"type": "array", "items": STRING}, {"type": "array", "items": INTEGER}, "TYPE_CHANGED"),
        ({"type": "array"}, {"type": "array", "items": STRING}, "SCHEMA_ADDED"),
        ({"type": "array", "items": STRING}, {"type": "array"}, ""),
        (array(STRING), array(STRING, INTEGER), "ITEM_ADDED_TO_OPEN_CONTENT_MODEL"),
        (array(STRING, INTEGER), array(STRING), ""),
        (
            array(STRING, INTEGER, additionalItems=False),
            array(STRING, additionalItems=False),
            "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        ),
        (array(STRING, additionalItems=False), array(STRING, INTEGER, additionalItems=False), ""),
        (array(STRING), array(STRING, additionalItems=False), "ADDITIONAL_ITEMS_REMOVED"),
        ({"type": "array"}, {"type": "array", "uniqueItems": True}, "UNIQUE_ITEMS_ADDED"),
        ({"type": "array"}, {"type": "array", "maxItems": 2}, "MAX_ITEMS_ADDED"),
        # Dependencies.
        (ONE, {**ONE, "dependencies": {"a": ["b"]}}, "DEPENDENCY_ARRAY_ADDED"),
        (
            {**ONE, "dependencies": {"a": ["b"]}},
            {**ONE, "dependencies": {"a": ["b", "c"]}},
            "DEPENDENCY_ARRAY_EXTENDED",
        ),
        ({**ONE, "dependencies": {"a": ["b", "c"]}}, {**ONE, "dependencies": {"a": ["b"]}}, ""),
        (ONE, {**ONE, "dependencies": {"a": ONE}}, "DEPENDENCY_SCHEMA_ADDED"),
        # References, and schemas that contain themselves.
        (
            {"definitions": {"s": STRING}, **obj(a={"$ref": "#/definitions/s"})},
            {"definitions": {"s": INTEGER}, **obj(a={"$ref": "#/definitions/s"})},
            "TYPE_CHANGED",
        ),
        (obj(a=STRING, n={"$ref": "#"}), obj(a=STRING, n={"$ref": "#"}), ""),
        (obj(a=STRING, n={"$ref": "#"}), obj(a=INTEGER, n={"$ref": "#"}), "TYPE_CHANGED"),
        # What says nothing about what is taken.
        (STRING, {**STRING, "title": "t", "description": "d", "default": "x"}, ""),
    ],
)
def test_what_a_newer_schema_takes(old: Any, new: Any, expected: str) -> None:
    assert wrong(json_schema(old), json_schema(new)) == expected


ARRAY = {"type": "array"}


@pytest.mark.parametrize(
    ("old", "new", "before", "since"),
    [
        # Of arrays without places, all items are further ones.
        ({"additionalItems": True}, {"additionalItems": False}, "ADDITIONAL_ITEMS_REMOVED", ""),
        ({"additionalItems": STRING}, {"additionalItems": INTEGER}, "TYPE_CHANGED", ""),
        (ARRAY, {**ARRAY, "items": True}, "SCHEMA_ADDED", ""),
        (ARRAY, {**ARRAY, "items": False}, "SCHEMA_ADDED", "ADDITIONAL_ITEMS_REMOVED"),
        (
            {**ARRAY, "prefixItems": [STRING]},
            {**ARRAY, "prefixItems": [INTEGER]},
            "",
            "TYPE_CHANGED",
        ),
        ({**ARRAY, "unevaluatedItems": False}, ARRAY, "", ""),
        (ARRAY, {**ARRAY, "unevaluatedItems": False}, "", "UNEVALUATED_ITEMS_REMOVED"),
        (ONE, {**ONE, "unevaluatedProperties": False}, "", "UNEVALUATED_PROPERTIES_REMOVED"),
        (ONE, {**ONE, "dependentRequired": {"a": ["b"]}}, "", "DEPENDENCY_ARRAY_ADDED"),
        (ONE, {**ONE, "dependentSchemas": {"a": ONE}}, "", "DEPENDENCY_SCHEMA_ADDED"),
        # What contains something contains it once at least; without it, counts mean nothing.
        (ARRAY, {**ARRAY, "contains": STRING}, "", "MIN_CONTAINS_ADDED"),
        (
            {**ARRAY, "contains": STRING},
            {**ARRAY, "contains": STRING, "minContains": 2},
            "MIN_CONTAINS_ADDED",
            "MIN_CONTAINS_INCREASED",
        ),
        (
            {**ARRAY, "contains": STRING},
            {**ARRAY, "contains": STRING, "minContains": 1},
            "MIN_CONTAINS_ADDED",
            "",
        ),
        (ARRAY, {**ARRAY, "maxContains": 2}, "MAX_CONTAINS_ADDED", ""),
    ],
)
def test_a_draft_has_the_keywords_that_it_knows(
    old: Any, new: Any, before: str, since: str
) -> None:
    """Without `$schema` it is draft 7; 2020-12 has keywords of its own. As Confluent's loaders."""
    assert wrong(json_schema(old), json_schema(new)) == before
    for draft in ("draft-04", "draft-06", "draft-07"):
        named = {"$schema": f"http://json-schema.org/{draft}/schema#"}
        if draft == "draft-04" and new.get("items") in (True, False):
            # Draft 4 has no schemas that are true or false.
            continue
        assert wrong(json_schema({**named, **old}), json_schema({**named, **new})) == before
    newest = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    assert wrong(json_schema({**newest, **old}), json_schema({**newest, **new})) == since


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ONE, TWO),
        (ONE, closed(a=STRING)),
        (closed(a=STRING, b=INTEGER), closed(a=STRING)),
        (ONE, {**ONE, "additionalProperties": STRING}),
    ],
)
def test_lenient_lets_optional_properties_come_and_go(old: Any, new: Any) -> None:
    assert wrong(json_schema(old), json_schema(new))
    assert not wrong(json_schema(old), json_schema(new), lenient=True)


def test_an_incompatible_type_is_found_through_a_cycle_in_another_branch() -> None:
    """Both branches meet the pair (#/definitions/n): the first while it is being compared."""

    def schema(value: Any) -> Any:
        node = obj(left={"$ref": "#/definitions/n"}, value=value)
        either = {"oneOf": [{"$ref": "#/definitions/n"}, STRING]}
        return {"definitions": {"n": node}, **obj(root={"$ref": "#/definitions/n"}, other=either)}

    assert wrong(json_schema(schema(STRING)), json_schema(schema(INTEGER))) == "TYPE_CHANGED"


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        '{"type": "strin"}',
        '{"properties": 3}',
        '{"$ref": "#/definitions/nowhere"}',
        '{"$ref": "http://127.0.0.1:1/fetched.json"}',
        '{"properties": {"a": {"$ref": "other.json"}}}',
        '{"a":' * 300 + "1" + "}" * 300,
        '{"a":' * 100_000,
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        canonical(json_schema(text))


def test_the_stored_text_has_its_order_and_the_normalized_one_the_alphabets() -> None:
    source = json_schema('{ "type": "object",\n "a": "é" }')
    assert canonical(source) == '{"type":"object","a":"é"}'
    assert canonical(source, is_normalized=True) == '{"a":"é","type":"object"}'


def test_references_are_known_by_their_names() -> None:
    holder = obj(a={"$ref": "other.json#/definitions/s"})
    old = json_schema(holder, **{"other.json": {"definitions": {"s": STRING}}})
    new = json_schema(holder, **{"other.json": {"definitions": {"s": INTEGER}}})
    assert canonical(old)
    assert wrong(old, new) == "TYPE_CHANGED"
    assert not wrong(old, old)


def test_what_only_refers_to_itself_is_refused() -> None:
    endless = json_schema(
        {
            "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
            "$ref": "#/definitions/a",
        }
    )
    with pytest.raises(InvalidSchema):
        wrong(endless, endless)
