"""What the registry keeps: schemas with what belongs to them, as HTTP and the topic say it.

A schema's identity is an MD5 over its text, references, metadata and rules, in the order and the
form that Confluent's registry uses, so that a `_schemas` topic means the same to both. The same
digest, written as a UUID, is its guid.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, NamedTuple, NewType

from kafkapy.core.data import dataclass
from kafkapy.http.registry.errors import ErrorCode, RegistryError, unprocessable

SchemaId = NewType("SchemaId", int)
Version = NewType("Version", int)
Json = Mapping[str, Any]

HIGHEST = 2**31 - 1
RESERVED_PROPERTY = "confluent:reserved"


class SchemaType(StrEnum):
    """The languages that schemas are written in."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Reference(NamedTuple):
    """What a schema imports: `name` in its text is that version of that subject."""

    name: str
    subject: str
    version: Version


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as somebody registers it; `text` is canonical once it has been evaluated."""

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Json | None = field(default=None)
    rule_set: Json | None = field(default=None)

    def digest(self) -> bytes:
        """What it is known by."""
        return _digest(self)

    @property
    def guid(self) -> str:
        return str(uuid.UUID(bytes=self.digest()))

    def group(self, compatibility_group: str) -> str | None:
        """The group within which it is to be compatible, if the configuration asks for one."""
        return properties_of(self.metadata).get(compatibility_group)


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A version of a subject."""

    subject: str
    version: Version
    id: SchemaId
    schema: Schema
    is_deleted: bool = False
    #: When it was written, by its record.
    timestamp: int = 0

    @property
    def key(self) -> tuple[str, Version]:
        return self.subject, self.version


def properties_of(metadata: Json | None) -> Mapping[str, str]:
    return {} if metadata is None else metadata.get("properties") or {}


def reserved_fields(schema: Schema) -> frozenset[str]:
    """Names that its fields may not have: a list with commas."""
    names = properties_of(schema.metadata).get(RESERVED_PROPERTY, "").split(",")
    return frozenset(name.strip() for name in names if name.strip())


def to_json(schema: Schema) -> dict[str, Any]:
    """The fields that every answer about a schema has."""
    answer: dict[str, Any] = {"schemaType": str(schema.type), "schema": schema.text}
    if schema.references:
        answer["references"] = [reference._asdict() for reference in schema.references]
    if schema.metadata is not None:
        answer["metadata"] = schema.metadata
    if schema.rule_set is not None:
        answer["ruleSet"] = schema.rule_set
    return answer


def schema_from_json(body: Json) -> Schema:
    """What a client sends, or a record holds. RegistryError says what is wrong with it."""
    kind = body.get("schemaType") or "AVRO"
    if kind not in SchemaType.__members__:
        raise RegistryError(
            ErrorCode.INVALID_SCHEMA, f"Invalid schema type {str(kind)[:80]}; known: {_types()}"
        )
    text = body.get("schema")
    if text is not None and not isinstance(text, str):
        raise unprocessable("schema must be a string")
    return Schema(
        SchemaType(kind),
        text or "",
        tuple(_reference(each) for each in _list(body, "references")),
        metadata_from_json(body.get("metadata")),
        rule_set_from_json(body.get("ruleSet")),
    )


def _types() -> str:
    return ", ".join(SchemaType)


def _reference(body: Any) -> Reference:
    match body:
        case {"name": str(name), "subject": str(subject), "version": int(version)} if (
            -1 <= version <= HIGHEST
        ):
            return Reference(name, subject, Version(version))
        case _:
            raise unprocessable("a reference has a name, a subject and a version")


_METADATA = ("tags", "properties", "sensitive")


def metadata_from_json(body: Any) -> Json | None:
    """Metadata in the order in which it is digested: everything sorted."""
    if body is None:
        return None
    if not isinstance(body, Mapping):
        raise unprocessable("metadata must be an object")
    made: dict[str, Any] = {}
    tags = _map(body, "tags")
    if tags:
        made["tags"] = {key: sorted(_strings(tags[key], "tags")) for key in sorted(tags)}
    properties = _map(body, "properties")
    if properties:
        made["properties"] = {key: _string(properties[key]) for key in sorted(properties)}
    if body.get("sensitive"):
        made["sensitive"] = sorted(_strings(body["sensitive"], "sensitive"))
    return made


_KINDS = ("TRANSFORM", "CONDITION")
_MIGRATION_MODES = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DOMAIN_MODES = ("WRITE", "READ", "WRITEREAD")
_RULES = {
    "migrationRules": _MIGRATION_MODES,
    "domainRules": _DOMAIN_MODES,
    "encodingRules": _DOMAIN_MODES,
}
_TEXTS = ("doc", "type", "expr", "onSuccess", "onFailure")


def rule_set_from_json(body: Any) -> Json | None:
    """Rules as they are stored; who runs them is the client."""
    if body is None:
        return None
    if not isinstance(body, Mapping):
        raise unprocessable("ruleSet must be an object")
    made: dict[str, Any] = {}
    for phase, modes in _RULES.items():
        rules = [_rule(each, modes) for each in _list(body, phase)]
        if len({rule["name"] for rule in rules}) < len(rules):
            raise RegistryError(ErrorCode.INVALID_RULE_SET, f"two {phase} have one name")
        if rules:
            made[phase] = rules
    if body.get("enableAt"):
        made["enableAt"] = _string(body["enableAt"])
    return made


def _rule(body: Any, modes: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str) or not body["name"]:
        raise RegistryError(ErrorCode.INVALID_RULE_SET, "a rule must have a name")
    name = body["name"]
    kind = body.get("kind") or "TRANSFORM"
    mode = body.get("mode") or modes[-1]
    if kind not in _KINDS or mode not in modes:
        raise RegistryError(
            ErrorCode.INVALID_RULE_SET,
            f"rule {name}: kind is one of {_KINDS}, mode here one of {modes}",
        )
    made: dict[str, Any] = {"name": name, "kind": kind, "mode": mode}
    for key in _TEXTS:
        if body.get(key) is not None:
            made[key] = _string(body[key])
    if body.get("tags"):
        made["tags"] = sorted(_strings(body["tags"], "tags"))
    params = _map(body, "params")
    if params:
        made["params"] = {key: _string(params[key]) for key in sorted(params)}
    made["disabled"] = bool(body.get("disabled"))
    return made


def merged_metadata(first: Json | None, second: Json | None) -> Json | None:
    """Both, and where both say something the second's."""
    if first is None or second is None:
        return second if first is None else first
    made: dict[str, Any] = {}
    for key in ("tags", "properties"):
        both = {**(first.get(key) or {}), **(second.get(key) or {})}
        if both:
            made[key] = both
    if first.get("sensitive") or second.get("sensitive"):
        made["sensitive"] = [*(first.get("sensitive") or ()), *(second.get("sensitive") or ())]
        made["sensitive"] = sorted(set(made["sensitive"]))
    return metadata_from_json(made)


def merged_rule_sets(first: Json | None, second: Json | None) -> Json | None:
    """Both; a rule of the second takes the place of the first's with its name."""
    if first is None or second is None:
        return second if first is None else first
    made: dict[str, Any] = {}
    for phase in _RULES:
        newer = list(second.get(phase) or ())
        names = {rule["name"] for rule in newer}
        rules = [rule for rule in first.get(phase) or () if rule["name"] not in names] + newer
        if rules:
            made[phase] = rules
    enable_at = second.get("enableAt") or first.get("enableAt")
    if enable_at:
        made["enableAt"] = enable_at
    return made


def _digest(schema: Schema) -> bytes:
    digest = hashlib.md5(schema.text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in schema.references:
        digest.update(reference.name.encode())
        digest.update(reference.subject.encode())
        digest.update(reference.version.to_bytes(4, "big", signed=True))
    if schema.metadata is not None:
        digest.update(b"\x01")
        _texts(digest, [schema.metadata.get(key) for key in _METADATA])
    if schema.rule_set is not None:
        digest.update(b"\x01")
        for phase in _RULES:
            for rule in schema.rule_set.get(phase) or ():
                _texts(digest, [rule.get(key) for key in _RULE_ORDER])
                if rule.get("disabled"):
                    digest.update(b"\x01")
        _texts(digest, [schema.rule_set.get("enableAt")])
    return digest.digest()


_RULE_ORDER = (
    *("name", "doc", "kind", "mode", "type", "tags", "params", "expr"),
    *("onSuccess", "onFailure"),
)


def _texts(digest: Any, values: list[Any]) -> None:
    """Strings, and those in maps and lists, one after the other."""
    for value in values:
        match value:
            case None:
                pass
            case Mapping():
                for key, each in value.items():
                    _texts(digest, [key, each])
            case list():
                _texts(digest, value)
            case _:
                digest.update(str(value).encode())


def _list(body: Json, key: str) -> list[Any]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise unprocessable(f"{key} must be a list")
    return value


def _map(body: Json, key: str) -> Json:
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise unprocessable(f"{key} must be an object")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise unprocessable(f"{str(value)[:80]} must be a string")
    return value


def _strings(value: Any, key: str) -> list[str]:
    if not isinstance(value, list):
        raise unprocessable(f"{key} must be a list of strings")
    return sorted({_string(each) for each in value})
