"""A schema that somebody is writing: would it fit, and if so let it be registered.

Checking is a form that changes nothing; it is sent as one because a schema is too long for an
address.
"""

from typing import Any

from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.schemas import Schemas, said, text_of
from kafkapy.http.problems import Problem
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import (
    HIGHEST,
    Reference,
    Schema,
    SchemaType,
    StoredSchema,
    Version,
)
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.registering import Registration, compared_with
from kafkapy.http.registry.subjects import is_valid, normalized
from kafkapy.kraft.acls import Operation


async def ask(asked: Asked) -> Any:
    """With the latest version as what one begins from."""
    schemas, name = Schemas(asked), normalized(asked.query("subject"))
    latest = None
    if name:
        await schemas.require(Operation.DESCRIBE, name)
        latest = (await schemas.registry.store.caught_up()).latest(name)
    if latest is None:
        return _page(asked, name, Schema(SchemaType.AVRO, ""))
    shown = Schema(latest.schema.type, text_of(latest.schema), latest.schema.references)
    return _page(asked, name, shown)


async def check(asked: Asked) -> Any:
    schemas = Schemas(asked)
    name, schema = _draft(await asked.fields())
    await schemas.require(Operation.DESCRIBE, name)
    state = await schemas.registry.store.caught_up()
    beside = compared_with(state, name, schema) if state.has(name) else []
    level = state.config(name).level
    try:
        known = await _known(schemas, name, schema)
        found = await schemas.registry.differences(
            name, schema, None, normalize=False, visible=schemas.visible
        )
    except RegistryError as failed:
        if failed.code != ErrorCode.INVALID_SCHEMA:
            raise
        return _page(asked, name, schema, invalid=failed.message)
    return _page(
        asked,
        name,
        schema,
        is_checked=True,
        known=known,
        wrong=[said(one) for one in found if not one.startswith("{compatibility:")],
        level=level,
        beside=[] if level is Level.NONE else [one.version for one in beside],
    )


async def register(asked: Asked) -> Any:
    schemas = Schemas(asked)
    name, schema = _draft(await asked.fields())
    await schemas.require(Operation.WRITE, name)
    wanted = Registration(name, schema)
    made = await schemas.registry.register(wanted, visible=schemas.visible)
    return asked.go("/console/schema", subject=name, version=str(made.version), done="registered")


async def _known(schemas: Schemas, name: str, schema: Schema) -> StoredSchema | None:
    """The version that is exactly this."""
    try:
        return await schemas.registry.look_up(
            name, schema, normalize=False, deleted=False, visible=schemas.visible
        )
    except RegistryError as failed:
        if failed.code in (ErrorCode.SUBJECT_NOT_FOUND, ErrorCode.SCHEMA_NOT_FOUND):
            return None
        raise


def _draft(fields: dict[str, str]) -> tuple[str, Schema]:
    name = normalized(fields.get("subject", "").strip())
    if not name or not is_valid(name):
        raise Problem(400, "a schema is registered under a subject: orders-value, for instance")
    kind = fields.get("type", "AVRO")
    if kind not in SchemaType.__members__:
        raise Problem(400, f"a schema's type is one of {', '.join(SchemaType)}")
    references = tuple(
        _reference(line) for line in fields.get("references", "").splitlines() if line.strip()
    )
    return name, Schema(SchemaType(kind), fields.get("schema", ""), references)


def _reference(line: str) -> Reference:
    match line.split():
        case [name, subject, version] if version.isdecimal() and int(version) <= HIGHEST:
            return Reference(name, subject, Version(int(version)))
    raise Problem(400, f"{line.strip()[:200]}: a reference is written: name subject version")


def _page(
    asked: Asked,
    name: str,
    schema: Schema,
    *,
    invalid: str | None = None,
    is_checked: bool = False,
    known: StoredSchema | None = None,
    wrong: list[str] | None = None,
    level: Level | None = None,
    beside: list[Version] | None = None,
) -> Any:
    return asked.page(
        "draft.html",
        name=name,
        schema=schema,
        types=SchemaType,
        invalid=invalid,
        is_checked=is_checked,
        known=known,
        wrong=wrong,
        level=level,
        beside=beside,
    )


PAGES: Pages = (
    ("GET", "/console/schema/check", ask),
    ("POST", "/console/schema/check", check),
    ("POST", "/console/schema/register", register),
)
