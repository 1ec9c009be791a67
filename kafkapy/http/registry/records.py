"""Records of the `_schemas` topic, as Confluent's registry writes and reads them.

Keys and values are JSON. The topic is compacted: the last record of a key is what is so, a null
value takes back. Two kinds are commands over many keys, and stay true because what they speak
of is written again after them: DELETE_SUBJECT softly deletes a subject's versions up to one,
CLEAR_SUBJECT forgets what is softly deleted.

    {"keytype":"SCHEMA","subject":"s","version":1,"magic":1}   a version, deleted or not
    {"keytype":"CONFIG","subject":"s","magic":0}               compatibility and the rest
    {"keytype":"MODE","subject":"s","magic":0}
    {"keytype":"DELETE_SUBJECT","subject":"s","magic":0}       {"subject":"s","version":3}
    {"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}
    {"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}
    {"keytype":"NOOP","magic":0}                               says where the end was

The subject of what is set for the default context is left out (older registries: null). A record
of another kind (ASSOC) or one that cannot be read is skipped and counted: it is somebody else's.
"""

from __future__ import annotations

import json
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.http.registry.entities import (
    HIGHEST,
    Json,
    SchemaId,
    StoredSchema,
    Version,
    schema_from_json,
    to_json,
)
from kafkapy.http.registry.errors import RegistryError


@dataclass(frozen=True, slots=True)
class SchemaWritten:
    stored: StoredSchema


@dataclass(frozen=True, slots=True)
class SchemaForgotten:
    """A tombstone: permanently deleted."""

    subject: str
    version: Version


@dataclass(frozen=True, slots=True)
class SubjectDeleted:
    """Softly, up to a version."""

    subject: str
    version: Version


@dataclass(frozen=True, slots=True)
class SubjectCleared:
    """What is softly deleted under a subject, or a context, is forgotten."""

    subject: str | None


@dataclass(frozen=True, slots=True)
class ConfigSet:
    """`config` None: no configuration of its own."""

    subject: str | None
    config: Json | None


@dataclass(frozen=True, slots=True)
class ModeSet:
    """`mode` None: no mode of its own."""

    subject: str | None
    mode: str | None


@dataclass(frozen=True, slots=True)
class ContextSet:
    context: str
    is_there: bool


@dataclass(frozen=True, slots=True)
class Noop:
    """Written to learn where the log ends."""


Record = (
    SchemaWritten
    | SchemaForgotten
    | SubjectDeleted
    | SubjectCleared
    | ConfigSet
    | ModeSet
    | ContextSet
    | Noop
)


class Unreadable(Exception):
    """Not a record that this registry knows."""


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value."""
    match record:
        case SchemaWritten(stored):
            value = {
                "subject": stored.subject,
                "version": stored.version,
                "id": stored.id,
                **to_json(stored.schema),
                "deleted": stored.is_deleted,
            }
            return _schema_key(stored.subject, stored.version), _dumped(value)
        case SchemaForgotten(subject, version):
            return _schema_key(subject, version), None
        case SubjectDeleted(subject, version):
            until = {"subject": subject, "version": version}
            return _key("DELETE_SUBJECT", subject), _dumped(until)
        case SubjectCleared(subject):
            return _key("CLEAR_SUBJECT", subject), _dumped(_of(subject))
        case ConfigSet(subject, config):
            said = None if config is None else _dumped({**_of(subject), **config})
            return _key("CONFIG", subject), said
        case ModeSet(subject, mode):
            said = None if mode is None else _dumped({**_of(subject), "mode": mode})
            return _key("MODE", subject), said
        case ContextSet(context, is_there):
            fields = {"tenant": "default", "context": context}
            key = _dumped({"keytype": "CONTEXT", **fields, "magic": 0})
            return key, _dumped(fields) if is_there else None
        case Noop():
            return _dumped({"keytype": "NOOP", "magic": 0}), None


def decode(key: bytes | None, value: bytes | None, timestamp: int = 0) -> Record:
    """Unreadable: skip it."""
    try:
        named = json.loads(key or b"")
        said = None if value is None else json.loads(value)
        if not isinstance(named, dict) or not (said is None or isinstance(said, dict)):
            raise Unreadable("a key and a value are JSON objects")
        return _decoded(named, said, timestamp)
    except (ValueError, KeyError, TypeError, RecursionError, RegistryError) as unread:
        raise Unreadable(str(unread)) from None


def _decoded(key: dict[str, Any], value: dict[str, Any] | None, timestamp: int) -> Record:
    subject = _subject(key.get("subject"))
    match key["keytype"]:
        case "SCHEMA":
            return _schema(_named(subject), _version(key["version"]), value, timestamp)
        case "CONFIG":
            if value is None:
                return ConfigSet(subject, None)
            said = {k: v for k, v in value.items() if k != "subject" and v is not None}
            return ConfigSet(subject, said)
        case "MODE":
            return ModeSet(subject, None if value is None else str(value["mode"]))
        case "DELETE_SUBJECT" if value is not None:
            return SubjectDeleted(_named(subject), _version(value["version"]))
        case "CLEAR_SUBJECT" if value is not None:
            return SubjectCleared(subject)
        case "CONTEXT":
            return ContextSet(str(key["context"]), value is not None)
        case "NOOP" | "DELETE_SUBJECT" | "CLEAR_SUBJECT":
            return Noop()
        case other:
            raise Unreadable(f"records of kind {other} are not known here")


def _schema(subject: str, version: Version, value: dict[str, Any] | None, timestamp: int) -> Record:
    if value is None:
        return SchemaForgotten(subject, version)
    stored = StoredSchema(
        subject,
        version,
        SchemaId(_version(value["id"])),
        schema_from_json(value),
        bool(value.get("deleted")),
        timestamp,
    )
    return SchemaWritten(stored)


def _version(value: Any) -> Version:
    if not isinstance(value, int) or not 0 <= value <= HIGHEST:
        raise Unreadable(f"no version or id: {str(value)[:40]}")
    return Version(value)


def _subject(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Unreadable("a subject is a string")
    return value


def _named(subject: str | None) -> str:
    if subject is None:
        raise Unreadable("no subject")
    return subject


def _schema_key(subject: str, version: Version) -> bytes:
    return _dumped({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})


def _key(kind: str, subject: str | None) -> bytes:
    return _dumped({"keytype": kind, **_of(subject), "magic": 0})


def _of(subject: str | None) -> dict[str, Any]:
    return {} if subject is None else {"subject": subject}


def _dumped(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
