"""Schemas by id and by guid, and all of them."""

from __future__ import annotations

import uuid
from typing import Any

from kafkapy.http.registry.entities import HIGHEST, SchemaId, SchemaType, StoredSchema
from kafkapy.http.registry.errors import schema_not_found
from kafkapy.http.registry.pages.asking import entity, formatted, shown, with_prefix
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked
from kafkapy.http.registry.subjects import context_of, parse


async def get_schema(registry: Registry, asked: Asked) -> Any:
    subject = asked.word("subject") or None
    stored = await registry.by_id(_id(asked.parts[0]), subject)
    await registry.require_readable(stored, asked.access)
    said = await shown(registry, stored, asked)
    said.pop("id")
    if asked.flag("fetchMaxId"):
        state = await registry.store.caught_up()
        said["maxId"] = state.highest_id(context_of(stored.subject))
    return said


async def get_schema_text(registry: Registry, asked: Asked) -> Any:
    stored = await registry.by_id(_id(asked.parts[0]), asked.word("subject") or None)
    await registry.require_readable(stored, asked.access)
    return await formatted(registry, stored, asked)


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
    await registry.require_readable(stored, asked.access)
    said = await shown(registry, stored, asked)
    said.pop("id")
    return said


async def get_ids_of_guid(registry: Registry, asked: Asked) -> Any:
    await registry.store.caught_up()
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
    names = with_prefix(state.all_subjects(deleted=deleted), prefix)
    visible = await asked.access.visible(names)
    found: list[StoredSchema] = []
    for name in names:
        if name in visible:
            versions = state.versions(name, deleted=deleted)
            found += versions[-1:] if asked.flag("latestOnly") else versions
    if rule_type:
        found = [stored for stored in found if _has_rules(stored, rule_type)]
    return [entity(stored) for stored in asked.page(found)]


async def _keys_of_id(registry: Registry, asked: Asked) -> list[tuple[str, Any]]:
    schema_id, subject = _id(asked.parts[0]), asked.word("subject")
    await registry.store.caught_up()
    stored = await registry.by_id(schema_id, subject or None)
    state = registry.store.state
    keys = state.keys_of(context_of(stored.subject), schema_id)
    return [
        (name, version)
        for name, version in keys
        if (not parse(subject).name or name == subject)
        and (asked.flag("deleted") or state.get(name, version) is not None)
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
