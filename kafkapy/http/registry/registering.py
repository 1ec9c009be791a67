"""Registering a schema: what is asked of the evaluator, and then what becomes true.

    prepared(state, registration)          what exactly is to be registered
        evaluation: its canonical text
    existing(state, canonical)             it is there already: its id, nothing is written
        evaluation: against earlier versions, as the compatibility level asks
    decided(state, canonical, differences) records

Nothing here parses a schema: texts come in canonical, differences as sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kafkapy.core.data import dataclass
from kafkapy.core.step import Step
from kafkapy.http.registry.configs import Config, Mode
from kafkapy.http.registry.entities import (
    Json,
    Schema,
    SchemaId,
    StoredSchema,
    Version,
    merged_metadata,
    merged_rule_sets,
    metadata_from_json,
    properties_of,
    reserved_fields,
)
from kafkapy.http.registry.errors import (
    ErrorCode,
    RegistryError,
    invalid_schema,
    not_permitted,
    unprocessable,
)
from kafkapy.http.registry.languages.source import Difference
from kafkapy.http.registry.records import ContextSet, Record, SchemaForgotten, SchemaWritten
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import DEFAULT_CONTEXT, context_of

#: Schemas that carry it are numbered by their version, inside.
VERSION_PROPERTY = "confluent:version"
MAX_REFERENCES = 200


@dataclass(frozen=True, slots=True)
class Registration:
    """What a client asks for. Version 0: whichever is next; -1: the same, written into it."""

    subject: str
    schema: Schema
    id: SchemaId | None = None
    version: int = 0
    normalize: bool = False


RegisterStep = Step[Record, StoredSchema]


def prepared(state: State, asked: Registration) -> Registration:
    """With what the configuration adds. Raises RegistryError if the mode does not allow it."""
    mode = state.mode(asked.subject)
    _check_mode(asked, mode)
    if len(asked.schema.references) > MAX_REFERENCES:
        raise invalid_schema(f"more than {MAX_REFERENCES} references")
    if mode.is_import:
        if not asked.schema.text.strip():
            raise invalid_schema("Empty schema")
        return asked
    config = state.config(asked.subject)
    previous = state.latest(asked.subject)
    schema = asked.schema
    if not schema.text.strip():
        if previous is None:
            raise invalid_schema("Empty schema")
        earlier = previous.schema
        schema = replace(
            schema, type=earlier.type, text=earlier.text, references=earlier.references
        )
    schema = shaped(schema, config, previous)
    if asked.version != 0 or VERSION_PROPERTY in properties_of(schema.metadata):
        schema = numbered(schema, next_version(state, asked.subject))
    return replace(asked, schema=schema, normalize=asked.normalize or config.normalize)


def shaped(schema: Schema, config: Config, previous: StoredSchema | None) -> Schema:
    """With the metadata and rules that it inherits, and those that the configuration imposes."""
    metadata, rule_set = schema.metadata, schema.rule_set
    if previous is not None:
        metadata = previous.schema.metadata if metadata is None else metadata
        rule_set = previous.schema.rule_set if rule_set is None else rule_set
    metadata = merged_metadata(config.default("metadata"), metadata)
    metadata = merged_metadata(metadata, config.override("metadata"))
    rule_set = merged_rule_sets(config.default("ruleSet"), rule_set)
    rule_set = merged_rule_sets(rule_set, config.override("ruleSet"))
    return replace(schema, metadata=metadata, rule_set=rule_set)


def numbered(schema: Schema, version: Version) -> Schema:
    metadata = dict(schema.metadata or {})
    metadata["properties"] = {**properties_of(schema.metadata), VERSION_PROPERTY: str(version)}
    return replace(schema, metadata=metadata_from_json(metadata))


def existing(
    state: State, subject: str, schema: Schema, *, deleted: bool = False
) -> StoredSchema | None:
    """The version of the subject that is exactly this, if there is one."""
    schema_id = state.id_of(context_of(subject), schema)
    if schema_id is None:
        return None
    versions = [
        version
        for name, version in state.keys_of(context_of(subject), schema_id)
        if name == subject and state.get(subject, version, deleted=deleted)
    ]
    return state.get(subject, max(versions), deleted=True) if versions else None


def alike(schema: Schema, other: Schema) -> bool:
    """Whether they say the same apart from the text: then equal texts make them one schema."""
    return (
        schema.type == other.type
        and schema.references == other.references
        and _unnumbered(schema.metadata) == _unnumbered(other.metadata)
        and schema.rule_set == other.rule_set
    )


def _unnumbered(metadata: Json | None) -> Json:
    """Without its version: a numbered schema is found by one that is not."""
    properties = {k: v for k, v in properties_of(metadata).items() if k != VERSION_PROPERTY}
    rest = {k: v for k, v in (metadata or {}).items() if k != "properties" and v}
    return {**rest, **({"properties": properties} if properties else {})}


def compared_with(state: State, subject: str, schema: Schema) -> list[StoredSchema]:
    """The earlier versions it must be compatible with, the newest first."""
    config = state.config(subject)
    newest_first = of_its_group(config, schema, state.versions(subject)[::-1])
    return newest_first if config.level.is_transitive else newest_first[:1]


def of_its_group(
    config: Config, schema: Schema, versions: Sequence[StoredSchema]
) -> list[StoredSchema]:
    """Those of them with which it is to be compatible at all."""
    if config.group is None:
        return list(versions)
    mine = schema.group(config.group)
    return [each for each in versions if each.schema.group(config.group) == mine]


def reserved_differences(
    schema: Schema, previous: Schema | None, fields: Collection[str]
) -> list[str]:
    """By `confluent:reserved`: a name once reserved stays so, and none of the schema's `fields`
    has one. Whatever the level; the version before is the newest, of any group."""
    reserved = reserved_fields(schema)
    lost = frozenset() if previous is None else reserved_fields(previous) - reserved
    found = [Difference("RESERVED_FIELD_REMOVED", "/", name) for name in sorted(lost)]
    taken = sorted(reserved.intersection(fields))
    found += [Difference("FIELD_CONFLICTS_WITH_RESERVED_FIELD", "/", name) for name in taken]
    return [each.sentence("new", "old") for each in found]


def next_version(state: State, subject: str) -> Version:
    taken = [each.version for each in state.versions(subject, deleted=True)]
    return Version(max(taken, default=0) + 1)


def decided(state: State, asked: Registration, differences: list[str]) -> RegisterStep:
    """The records of a schema that is not there yet, under the id of its content."""
    subject, schema = asked.subject, asked.schema
    mode = state.mode(subject)
    if differences and not mode.is_import:
        raise incompatible(subject, differences)
    version = next_version(state, subject)
    if asked.version > 0:
        if asked.version != version and not mode.is_import:
            raise invalid_schema("Version is not one more than previous version")
        version = Version(asked.version)
    context = context_of(subject)
    schema_id = _id(state, asked, context)
    stored = StoredSchema(subject, version, schema_id, schema)
    records: list[Record] = []
    if context != DEFAULT_CONTEXT and context not in state.contexts():
        records.append(ContextSet(context, True))
    # One that was deleted softly and comes again with its id: its old number is let go, unless
    # somebody refers to it by that.
    records += [
        SchemaForgotten(subject, old.version)
        for old in state.versions(subject, deleted=True)
        if old.is_deleted
        and old.id == schema_id
        and old.version < version
        and not state.referrers(old.key, deleted=True)
    ]
    return Step(records=(*records, SchemaWritten(stored)), reply=stored)


def incompatible(subject: str, differences: list[str]) -> RegistryError:
    return RegistryError(
        ErrorCode.INCOMPATIBLE_SCHEMA,
        "Schema being registered is incompatible with an earlier schema for subject "
        f'"{subject}", details: [{", ".join(differences)}]',
    )


def _id(state: State, asked: Registration, context: str) -> SchemaId:
    known = state.id_of(context, asked.schema)
    if asked.id is None:
        return state.next_id(context) if known is None else known
    taken = state.keys_of(context, asked.id)
    if taken:
        other = state.get(*taken[0], deleted=True)
        if other is not None and other.schema != asked.schema:
            raise not_permitted(
                f"Overwrite new schema with id {asked.id} in context {context} is not permitted."
            )
    return asked.id


def _check_mode(asked: Registration, mode: Mode) -> None:
    where = f"Subject {asked.subject} in context {context_of(asked.subject)}"
    if mode.is_read_only:
        raise not_permitted(f"{where} is in read-only mode")
    if asked.id is not None and not mode.is_import:
        raise not_permitted(f"{where} is not in import mode")
    if asked.id is None and mode is not Mode.READWRITE:
        raise not_permitted(f"{where} is not in read-write mode")
    if asked.version < -1:
        raise unprocessable("version is -1, 0, or a version")
