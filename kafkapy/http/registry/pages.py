"""Every page of the registry: THE table of what may be asked, and how.

A pattern's `*` is a part of the path that the page gets. Pages are translation: what they ask and
change is in registry.py, who may is in access.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from kafkapy import __version__
from kafkapy.http.registry import deleting, setting
from kafkapy.http.registry.configs import request_form
from kafkapy.http.registry.entities import (
    HIGHEST,
    SchemaId,
    SchemaType,
    StoredSchema,
    properties_of,
    schema_from_json,
    to_json,
)
from kafkapy.http.registry.errors import (
    ErrorCode,
    RegistryError,
    schema_not_found,
    subject_not_found,
    unprocessable,
)
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.registry import Registry, version_of
from kafkapy.http.registry.requests import Asked
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import (
    ANY_CONTEXT,
    DEFAULT_CONTEXT,
    Subject,
    context_of,
    is_valid,
    normalized,
    parse,
    referred,
)
from kafkapy.kraft.acls import Operation

Page = Callable[[Registry, Asked], Awaitable[Any]]
O = Operation  # noqa: E741  (read beside the table, it is Kafka's word for it)


# Schemas by id


async def get_schema(registry: Registry, asked: Asked) -> Any:
    subject = asked.word("subject") or None
    stored = await registry.by_id(_id(asked.parts[0]), subject)
    await asked.access.require_any(O.DESCRIBE, _subjects_of(registry.store.state, stored))
    said = await _shown(registry, stored, asked)
    said.pop("id")
    if asked.flag("fetchMaxId"):
        context = context_of(stored.subject)
        said["maxId"] = registry.store.state.highest_id(context)
    return said


async def get_schema_text(registry: Registry, asked: Asked) -> Any:
    stored = await registry.by_id(_id(asked.parts[0]), asked.word("subject") or None)
    await asked.access.require_any(O.DESCRIBE, _subjects_of(registry.store.state, stored))
    return await registry.formatted(stored, asked.word("format"))


async def get_subjects_of_id(registry: Registry, asked: Asked) -> Any:
    keys = await _keys_of_id(registry, asked)
    visible = await asked.access.visible(subject for subject, _ in keys)
    return asked.page([name for name in dict.fromkeys(k[0] for k in keys) if name in visible])


async def get_versions_of_id(registry: Registry, asked: Asked) -> Any:
    keys = await _keys_of_id(registry, asked)
    visible = await asked.access.visible(subject for subject, _ in keys)
    return asked.page(
        [{"subject": name, "version": version} for name, version in keys if name in visible]
    )


async def get_schema_by_guid(registry: Registry, asked: Asked) -> Any:
    found = await registry.by_guid(_guid(asked.parts[0]), asked.parts[0])
    stored = found[0][1]
    await asked.access.require_any(O.DESCRIBE, _subjects_of(registry.store.state, stored))
    said = await _shown(registry, stored, asked)
    said.pop("id")
    return said


async def get_ids_of_guid(registry: Registry, asked: Asked) -> Any:
    found = await registry.by_guid(_guid(asked.parts[0]), asked.parts[0])
    visible = await asked.access.visible(stored.subject for _, stored in found)
    return [
        {"context": context, "id": stored.id}
        for context, stored in found
        if stored.subject in visible
    ]


async def get_types(registry: Registry, asked: Asked) -> Any:
    return [str(each) for each in SchemaType]


async def get_schemas(registry: Registry, asked: Asked) -> Any:
    state = await registry.store.caught_up()
    deleted, rule_type = asked.flag("deleted"), asked.word("ruleType")
    prefix = asked.word("subjectPrefix")
    names = _with_prefix(state.all_subjects(deleted=deleted), prefix)
    visible = await asked.access.visible(names)
    found: list[StoredSchema] = []
    for name in names:
        if name in visible:
            versions = state.versions(name, deleted=deleted)
            found += versions[-1:] if asked.flag("latestOnly") else versions
    if rule_type:
        found = [stored for stored in found if _has_rules(stored, rule_type)]
    return [_entity(stored) for stored in asked.page(found)]


# Subjects


async def get_subjects(registry: Registry, asked: Asked) -> Any:
    state = await registry.store.caught_up()
    names = state.all_subjects(deleted=asked.flag("deleted") or asked.flag("deletedOnly"))
    if asked.flag("deletedOnly"):
        names = [name for name in names if any(s.is_deleted for s in _all(state, name))]
    names = _with_prefix(names, asked.word("subjectPrefix", ANY_CONTEXT))
    visible = await asked.access.visible(names)
    return asked.page([name for name in names if name in visible])


async def look_up(registry: Registry, asked: Asked) -> Any:
    subject = _subject(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    stored = await registry.look_up(
        subject,
        schema_from_json(await asked.body()),
        normalize=asked.flag("normalize"),
        deleted=asked.flag("deleted"),
    )
    return await _shown(registry, stored, asked)


async def get_with_metadata(registry: Registry, asked: Asked) -> Any:
    """The newest version whose metadata has these properties."""
    subject = _subject(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    state = await registry.store.caught_up()
    wanted = dict(zip(asked.words("key"), asked.words("value"), strict=False))
    deleted = asked.flag("deleted")
    for stored in reversed(state.versions(subject, deleted=deleted)):
        metadata = stored.schema.metadata
        if metadata is not None and wanted.items() <= dict(properties_of(metadata)).items():
            return await _shown(registry, stored, asked)
    raise schema_not_found() if state.has(subject, deleted=deleted) else subject_not_found(subject)


async def delete_subject(registry: Registry, asked: Asked) -> Any:
    subject = _subject(registry, asked)
    await asked.access.require(O.DELETE, subject)
    permanently = asked.flag("permanent")
    return await registry.change(
        lambda state: deleting.subject(state, subject, permanently=permanently)
    )


async def get_versions(registry: Registry, asked: Asked) -> Any:
    subject = _subject(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    state = await registry.store.caught_up()
    only, negative = asked.flag("deletedOnly"), asked.flag("deletedAsNegative")
    deleted = asked.flag("deleted") or only or negative
    if not state.has(subject, deleted=deleted):
        raise subject_not_found(subject)
    return asked.page(
        [
            -stored.version if negative and stored.is_deleted else stored.version
            for stored in state.versions(subject, deleted=deleted)
            if stored.is_deleted or not only
        ]
    )


async def register(registry: Registry, asked: Asked) -> Any:
    subject = _subject(registry, asked)
    if not is_valid(subject):
        raise RegistryError(
            ErrorCode.INVALID_SUBJECT, f"The specified subject '{subject}' is not a valid subject."
        )
    await asked.access.require(O.WRITE, subject)
    body = await asked.body()
    schema_id = _whole(body, "id", -1)
    stored = await registry.register(
        Registration(
            subject,
            schema_from_json(body),
            id=None if schema_id < 0 else SchemaId(schema_id),
            version=_whole(body, "version", 0),
            normalize=asked.flag("normalize"),
            is_forced=asked.flag("force"),
        )
    )
    said: dict[str, Any] = {"id": stored.id, "version": stored.version, "guid": stored.schema.guid}
    if registry.store.state.config(subject).shapes_schemas:
        # Otherwise it is what was sent, and clients remember it as they sent it: confluent-kafka
        # takes a Protobuf schema from here for the serialized form that it had sent.
        said.update(to_json(stored.schema))
    return said


async def get_version(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=asked.flag("deleted"))
    said = await _shown(registry, stored, asked)
    if asked.word("referenceFormat") == "qualified" and "references" in said:
        for reference in said["references"]:
            reference["subject"] = referred(stored.subject, reference["subject"])
    return said


async def get_version_text(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=asked.flag("deleted"))
    return await registry.formatted(stored, asked.word("format"))


async def get_referrers(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=True)
    found = registry.store.state.referrers(stored.key, deleted=asked.flag("deleted"))
    return asked.page(list(dict.fromkeys(each.id for each in found)))


async def delete_version(registry: Registry, asked: Asked) -> Any:
    subject = _subject(registry, asked)
    await asked.access.require(O.DELETE, subject)
    version, permanently = version_of(asked.parts[1]), asked.flag("permanent")
    return await registry.change(
        lambda state: deleting.version(state, subject, version, permanently=permanently)
    )


# Compatibility


async def compare(registry: Registry, asked: Asked) -> Any:
    """With one version, or as registering would."""
    subject = _subject(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    which = asked.parts[1] if len(asked.parts) > 1 else None
    schema = schema_from_json(await asked.body())
    try:
        found = await registry.differences(
            subject, schema, which, normalize=asked.flag("normalize")
        )
    except RegistryError as invalid:
        if invalid.code != ErrorCode.INVALID_SCHEMA or not asked.flag("verbose"):
            raise
        found = [invalid.message]
    said: dict[str, Any] = {"is_compatible": not found}
    if asked.flag("verbose"):
        said["messages"] = found
    return said


# Modes and configurations


async def get_mode(registry: Registry, asked: Asked) -> Any:
    scope = _scope(asked)
    await asked.access.require(O.DESCRIBE_CONFIGS, scope)
    state = await registry.store.caught_up()
    own = state.own_mode(scope)
    if own is None and (scope is None or asked.flag("defaultToGlobal")):
        own = state.mode(scope)
    if own is None:
        raise RegistryError(
            ErrorCode.SUBJECT_MODE_NOT_CONFIGURED,
            f"Subject '{scope}' does not have subject-level mode configured",
        )
    return {"mode": str(own)}


async def set_mode(registry: Registry, asked: Asked) -> Any:
    scope, body = _checked_scope(asked), await asked.body()
    await asked.access.require(O.ALTER_CONFIGS, scope)
    is_forced = asked.flag("force")
    return await registry.change(
        lambda state: setting.mode(state, scope, body, is_forced=is_forced)
    )


async def forget_mode(registry: Registry, asked: Asked) -> Any:
    scope = _scope(asked)
    await asked.access.require(O.ALTER_CONFIGS, scope)
    recursively = asked.flag("recursive")
    return await registry.change(
        lambda state: setting.forgotten_mode(state, scope, recursively=recursively)
    )


async def get_config(registry: Registry, asked: Asked) -> Any:
    scope = _scope(asked)
    await asked.access.require(O.DESCRIBE_CONFIGS, scope)
    state = await registry.store.caught_up()
    own = state.own_config(scope)
    if scope is None or asked.flag("defaultToGlobal"):
        own = state.config(scope)
    if own is None:
        raise RegistryError(
            ErrorCode.SUBJECT_COMPATIBILITY_NOT_CONFIGURED,
            f"Subject '{scope}' does not have subject-level compatibility configured",
        )
    return own.to_json()


async def set_config(registry: Registry, asked: Asked) -> Any:
    scope, body = _checked_scope(asked), await asked.body()
    await asked.access.require(O.ALTER_CONFIGS, scope)
    made = await registry.change(lambda state: setting.config(state, scope, body))
    return request_form(made)


async def forget_config(registry: Registry, asked: Asked) -> Any:
    scope = _scope(asked)
    await asked.access.require(O.ALTER_CONFIGS, scope)
    return await registry.change(lambda state: setting.forgotten_config(state, scope))


# The rest


async def get_contexts(registry: Registry, asked: Asked) -> Any:
    await asked.access.require(O.DESCRIBE, None)
    state = await registry.store.caught_up()
    prefix = asked.word("contextPrefix")
    return asked.page([each for each in state.contexts() if each.startswith(prefix)])


async def delete_context(registry: Registry, asked: Asked) -> Any:
    await asked.access.require(O.ALTER, None)
    said = asked.parts[0].strip(":")
    context = said if said.startswith(".") else f".{said}"
    await registry.change(lambda state: deleting.context(state, context))
    return None


async def get_no_associations(registry: Registry, asked: Asked) -> Any:
    """Confluent's newer clients ask before anything else which subject a topic is bound to:
    to none, so they go by its name. Binding one is not offered."""
    return []


async def get_cluster_id(registry: Registry, asked: Asked) -> Any:
    cluster = {"kafka-cluster": registry.cluster_id, "schema-registry-cluster": "kafkapy"}
    return {"scope": {"path": [], "clusters": cluster}}


async def get_server_version(registry: Registry, asked: Asked) -> Any:
    return {"version": f"kafkapy {__version__}", "commitId": ""}


PAGES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "schemas", get_schemas),
    ("GET", "schemas/types", get_types),
    ("GET", "schemas/ids/*", get_schema),
    ("GET", "schemas/ids/*/schema", get_schema_text),
    ("GET", "schemas/ids/*/subjects", get_subjects_of_id),
    ("GET", "schemas/ids/*/versions", get_versions_of_id),
    ("GET", "schemas/guids/*", get_schema_by_guid),
    ("GET", "schemas/guids/*/ids", get_ids_of_guid),
    ("GET", "subjects", get_subjects),
    ("POST", "subjects/*", look_up),
    ("DELETE", "subjects/*", delete_subject),
    ("GET", "subjects/*/metadata", get_with_metadata),
    ("GET", "subjects/*/versions", get_versions),
    ("POST", "subjects/*/versions", register),
    ("GET", "subjects/*/versions/*", get_version),
    ("DELETE", "subjects/*/versions/*", delete_version),
    ("GET", "subjects/*/versions/*/schema", get_version_text),
    ("GET", "subjects/*/versions/*/referencedby", get_referrers),
    ("POST", "compatibility/subjects/*/versions", compare),
    ("POST", "compatibility/subjects/*/versions/*", compare),
    ("GET", "mode", get_mode),
    ("PUT", "mode", set_mode),
    ("DELETE", "mode", forget_mode),
    ("GET", "mode/*", get_mode),
    ("PUT", "mode/*", set_mode),
    ("DELETE", "mode/*", forget_mode),
    ("GET", "config", get_config),
    ("PUT", "config", set_config),
    ("DELETE", "config", forget_config),
    ("GET", "config/*", get_config),
    ("PUT", "config/*", set_config),
    ("DELETE", "config/*", forget_config),
    ("GET", "contexts", get_contexts),
    ("DELETE", "contexts/*", delete_context),
    ("GET", "associations/subjects/*", get_no_associations),
    ("GET", "associations/resources/*", get_no_associations),
    ("GET", "associations/resources/*/*", get_no_associations),
    ("GET", "v1/metadata/id", get_cluster_id),
    ("GET", "v1/metadata/version", get_server_version),
)


def _entity(stored: StoredSchema) -> dict[str, Any]:
    return {
        "subject": stored.subject,
        "version": stored.version,
        "id": stored.id,
        "guid": stored.schema.guid,
        **to_json(stored.schema),
        "ts": stored.timestamp,
        "deleted": stored.is_deleted,
    }


async def _shown(registry: Registry, stored: StoredSchema, asked: Asked) -> dict[str, Any]:
    said = _entity(stored)
    said["schema"] = await registry.formatted(stored, asked.word("format"))
    return said


def _subject(registry: Registry, asked: Asked) -> str:
    """The subject of the path, or the one that it is an alias of."""
    subject = normalized(asked.parts[0])
    alias = registry.store.state.aliases().get(subject)
    return subject if alias is None else normalized(referred(subject, alias))


def _scope(asked: Asked) -> str | None:
    """What a mode or configuration is of: a subject, a context, or everything."""
    if not asked.parts:
        return None
    named = parse(asked.parts[0])
    return None if named == Subject(DEFAULT_CONTEXT, "") else str(named)


def _checked_scope(asked: Asked) -> str | None:
    scope = _scope(asked)
    if scope is not None and not is_valid(scope, for_settings=True):
        raise RegistryError(
            ErrorCode.INVALID_SUBJECT, f"The specified subject '{scope}' is not a valid subject."
        )
    return scope


async def _version(registry: Registry, asked: Asked, *, deleted: bool) -> StoredSchema:
    subject = _subject(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    return await registry.version(subject, asked.parts[1], deleted=deleted)


async def _keys_of_id(registry: Registry, asked: Asked) -> list[tuple[str, Any]]:
    schema_id, subject = _id(asked.parts[0]), asked.word("subject")
    stored = await registry.by_id(schema_id, subject or None)
    state = registry.store.state
    keys = state.keys_of(context_of(stored.subject), schema_id)
    return [
        (name, version)
        for name, version in keys
        if (not parse(subject).name or name == subject)
        and (asked.flag("deleted") or state.get(name, version) is not None)
    ]


def _subjects_of(state: State, stored: StoredSchema) -> list[str]:
    keys = state.keys_of(context_of(stored.subject), stored.id)
    return [name for name, _ in keys] or [stored.subject]


def _all(state: State, subject: str) -> list[StoredSchema]:
    return state.versions(subject, deleted=True)


def _with_prefix(names: list[str], prefix: str) -> list[str]:
    """`:*:` before it means any context; without a context it is the default one."""
    if prefix.startswith(ANY_CONTEXT):
        rest = prefix.removeprefix(ANY_CONTEXT)
        return [name for name in names if parse(name).name.startswith(rest)]
    named = parse(prefix)
    return [
        name
        for name in names
        if parse(name).context == named.context and parse(name).name.startswith(named.name)
    ]


def _has_rules(stored: StoredSchema, rule_type: str) -> bool:
    rules = stored.schema.rule_set or {}
    phases = (rules.get(key) for key in ("migrationRules", "domainRules", "encodingRules"))
    return any(rule.get("type") == rule_type for phase in phases for rule in phase or ())


def _id(said: str) -> SchemaId:
    if not said.isascii() or not said.isdigit() or int(said) > HIGHEST:
        raise schema_not_found(said[:40])
    return SchemaId(int(said))


def _guid(said: str) -> bytes:
    try:
        return uuid.UUID(said).bytes
    except ValueError:
        raise schema_not_found(said[:40]) from None


def _whole(body: dict[str, Any], key: str, default: int) -> int:
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value > HIGHEST:
        raise unprocessable(f"{key} is a number")
    return value
