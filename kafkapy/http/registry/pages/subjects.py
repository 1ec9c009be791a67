"""Subjects and their versions: listed, looked up, registered, compared, deleted."""

from __future__ import annotations

from typing import Any

from kafkapy.http.registry import deleting
from kafkapy.http.registry.entities import (
    HIGHEST,
    SchemaId,
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
from kafkapy.http.registry.pages.asking import formatted, shown, subject_of, with_prefix
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.registry import Registry, version_of
from kafkapy.http.registry.requests import Asked
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import ANY_CONTEXT, is_valid, referred
from kafkapy.kraft.acls import Operation

O = Operation  # noqa: E741  (read beside the table, it is Kafka's word for it)


async def get_subjects(registry: Registry, asked: Asked) -> Any:
    state = await registry.store.caught_up()
    names = state.all_subjects(deleted=asked.flag("deleted") or asked.flag("deletedOnly"))
    if asked.flag("deletedOnly"):
        names = [name for name in names if any(s.is_deleted for s in _all(state, name))]
    names = with_prefix(names, asked.word("subjectPrefix", ANY_CONTEXT))
    visible = await asked.access.visible(names)
    return asked.page([name for name in names if name in visible])


async def look_up(registry: Registry, asked: Asked) -> Any:
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    stored = await registry.look_up(
        subject,
        schema_from_json(await asked.body()),
        normalize=asked.flag("normalize"),
        deleted=asked.flag("deleted"),
        visible=asked.access.visible,
    )
    return await shown(registry, stored, asked)


async def get_with_metadata(registry: Registry, asked: Asked) -> Any:
    """The newest version whose metadata has these properties."""
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    state = await registry.store.caught_up()
    wanted = dict(zip(asked.words("key"), asked.words("value"), strict=False))
    deleted = asked.flag("deleted")
    for stored in reversed(state.versions(subject, deleted=deleted)):
        metadata = stored.schema.metadata
        if metadata is not None and wanted.items() <= dict(properties_of(metadata)).items():
            return await shown(registry, stored, asked)
    raise schema_not_found() if state.has(subject, deleted=deleted) else subject_not_found(subject)


async def delete_subject(registry: Registry, asked: Asked) -> Any:
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DELETE, subject)
    permanently = asked.flag("permanent")
    return await registry.change(
        lambda state: deleting.subject(state, subject, permanently=permanently)
    )


async def get_versions(registry: Registry, asked: Asked) -> Any:
    subject = await subject_of(registry, asked)
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
    subject = await subject_of(registry, asked)
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
        ),
        visible=asked.access.visible,
    )
    said: dict[str, Any] = {"id": stored.id, "version": stored.version, "guid": stored.schema.guid}
    if registry.store.state.config(subject).shapes_schemas:
        # Otherwise it is what was sent, and clients remember it as they sent it: confluent-kafka
        # takes a Protobuf schema from here for the serialized form that it had sent.
        said.update(to_json(stored.schema))
    return said


async def get_version(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=asked.flag("deleted"))
    said = await shown(registry, stored, asked)
    if asked.word("referenceFormat") == "qualified" and "references" in said:
        for reference in said["references"]:
            reference["subject"] = referred(stored.subject, reference["subject"])
    return said


async def get_version_text(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=asked.flag("deleted"))
    return await formatted(registry, stored, asked)


async def get_referrers(registry: Registry, asked: Asked) -> Any:
    stored = await _version(registry, asked, deleted=True)
    found = registry.store.state.referrers(stored.key, deleted=asked.flag("deleted"))
    visible = await asked.access.visible(each.subject for each in found)
    ids = [each.id for each in found if each.subject in visible]
    return asked.page(list(dict.fromkeys(ids)))


async def delete_version(registry: Registry, asked: Asked) -> Any:
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DELETE, subject)
    version, permanently = version_of(asked.parts[1]), asked.flag("permanent")
    return await registry.change(
        lambda state: deleting.version(state, subject, version, permanently=permanently)
    )


async def compare(registry: Registry, asked: Asked) -> Any:
    """With one version, or as registering would."""
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    which = asked.parts[1] if len(asked.parts) > 1 else None
    schema = schema_from_json(await asked.body())
    try:
        found = await registry.differences(
            subject,
            schema,
            which,
            normalize=asked.flag("normalize"),
            visible=asked.access.visible,
        )
    except RegistryError as invalid:
        if invalid.code != ErrorCode.INVALID_SCHEMA or not asked.flag("verbose"):
            raise
        found = [invalid.message]
    said: dict[str, Any] = {"is_compatible": not found}
    if asked.flag("verbose"):
        said["messages"] = found
    return said


async def _version(registry: Registry, asked: Asked, *, deleted: bool) -> StoredSchema:
    subject = await subject_of(registry, asked)
    await asked.access.require(O.DESCRIBE, subject)
    return await registry.version(
        subject, asked.parts[1], deleted=deleted, visible=asked.access.visible
    )


def _all(state: State, subject: str) -> list[StoredSchema]:
    return state.versions(subject, deleted=True)


def _whole(body: dict[str, Any], key: str, default: int) -> int:
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value > HIGHEST:
        raise unprocessable(f"{key} is a number")
    return value
