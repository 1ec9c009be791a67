"""What several pages read out of a request, or tell of a schema."""

from __future__ import annotations

from typing import Any

from kafkapy.http.registry.entities import StoredSchema, to_json
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked
from kafkapy.http.registry.subjects import ANY_CONTEXT, normalized, parse, referred


async def subject_of(registry: Registry, asked: Asked) -> str:
    """The subject of the path, or the one that it is an alias of."""
    subject = normalized(asked.parts[0])
    alias = (await registry.store.caught_up()).aliases().get(subject)
    return subject if alias is None else normalized(referred(subject, alias))


def with_prefix(names: list[str], prefix: str) -> list[str]:
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


def entity(stored: StoredSchema) -> dict[str, Any]:
    return {
        "subject": stored.subject,
        "version": stored.version,
        "id": stored.id,
        "guid": stored.schema.guid,
        **to_json(stored.schema),
        "ts": stored.timestamp,
        "deleted": stored.is_deleted,
    }


async def shown(registry: Registry, stored: StoredSchema, asked: Asked) -> dict[str, Any]:
    said = entity(stored)
    said["schema"] = await formatted(registry, stored, asked)
    return said


async def formatted(registry: Registry, stored: StoredSchema, asked: Asked) -> str:
    """The text in the form that is asked for, if who asks may read what goes into it."""
    return await registry.formatted(stored, asked.word("format"), visible=asked.access.visible)
