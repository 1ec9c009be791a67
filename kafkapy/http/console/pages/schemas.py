"""Schemas: subjects, their versions beside each other, and whether a draft would fit.

Everything is the registry's (kafkapy/http/registry): its rights, its rules, its words.
"""

from itertools import pairwise
from typing import Any, Final

import trio

from kafkapy.http.console.asked import Asked, Pages, number
from kafkapy.http.console.paging import part_of
from kafkapy.http.console.schemas import Schemas, Verdict, diff, text_of
from kafkapy.http.problems import Problem
from kafkapy.http.registry import deleting, setting
from kafkapy.http.registry.access import topic_of
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import StoredSchema, Version
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import normalized
from kafkapy.kraft.acls import Operation

_VERSIONS: Final = 20
# Versions are compared for a page no longer than that; those that are left can be opened.
_COMPARING_SECONDS: Final = 2.0


async def show(asked: Asked) -> Any:
    schemas, text = Schemas(asked), asked.query("q")
    state = await schemas.registry.store.caught_up()
    wanted = text.lower()
    names = [one for one in state.all_subjects() if wanted in one.lower()]
    part = part_of(asked, await schemas.visible(names))
    rows = []
    for name in part.rows:
        latest = state.latest(name)
        if latest is not None:
            count, level = len(state.versions(name)), state.config(name).level
            rows.append({"name": name, "latest": latest, "count": count, "level": level})
    return asked.page(
        "schemas.html", part=part, rows=rows, text=text, levels=Level, own=state.config(None).level
    )


async def one_subject(asked: Asked) -> Any:
    schemas, name = Schemas(asked), _subject(asked)
    await schemas.require(Operation.DESCRIBE, name)
    state = await schemas.registry.store.caught_up()
    versions = _versions(state, name)[::-1]
    part = part_of(asked, versions, _VERSIONS)
    chosen = versions[0]
    if asked.query("version"):
        chosen = _version(state, name, asked.number("version", 1, 1))
    own = state.own_config(name)
    topic = topic_of(name)
    return asked.page(
        "schema.html",
        name=name,
        part=part,
        chosen=chosen,
        text=text_of(chosen.schema),
        before=_before(versions),
        verdicts=await _verdicts(schemas, part.rows, _before(versions)),
        level=state.config(name).level,
        is_own_level=own is not None and "compatibilityLevel" in own.said,
        levels=Level,
        mode=state.mode(name),
        topic=topic if topic in asked.kafka.image.topics_by_name else None,
        referrers=await _referrers(schemas, state, chosen),
    )


async def compare(asked: Asked) -> Any:
    schemas, name = Schemas(asked), _subject(asked)
    await schemas.require(Operation.DESCRIBE, name)
    state = await schemas.registry.store.caught_up()
    versions = _versions(state, name)
    new = _version(state, name, asked.number("to", versions[-1].version, 1))
    before = _before(versions[::-1]).get(new.version, new)
    old = _version(state, name, asked.number("from", before.version, 1))
    return asked.page(
        "schema_diff.html",
        name=name,
        versions=versions,
        old=old,
        new=new,
        verdict=await schemas.beside(new, old),
        lines=await diff(old.schema, new.schema),
    )


async def set_level(asked: Asked) -> Any:
    fields = await asked.fields()
    name = normalized(fields.get("subject", "")) or None
    schemas, level = Schemas(asked), fields.get("level", "")
    await schemas.require(Operation.ALTER_CONFIGS, name)
    if level:
        body = {"compatibility": level}
        await schemas.registry.change(lambda state: setting.config(state, name, body))
    else:
        await schemas.registry.change(lambda state: setting.forgotten_config(state, name))
    if name is None:
        return asked.go("/console/schemas", done="level")
    return asked.go("/console/schema", subject=name, done="level")


async def ask_delete(asked: Asked) -> Any:
    schemas, name = Schemas(asked), _subject(asked)
    await schemas.require(Operation.DESCRIBE, name)
    state = await schemas.registry.store.caught_up()
    chosen = None
    if asked.query("version"):
        chosen = _version(state, name, asked.number("version", 1, 1))
    return asked.page("delete_schema.html", name=name, chosen=chosen)


async def delete(asked: Asked) -> Any:
    fields, schemas = await asked.fields(), Schemas(asked)
    name = normalized(fields.get("subject", ""))
    if not name:
        raise Problem(400, "which subject?")
    await schemas.require(Operation.DELETE, name)
    version = Version(number(fields.get("version", ""), "version", 0))
    if version:
        await schemas.registry.change(
            lambda state: deleting.version(state, name, version, permanently=False)
        )
    else:
        if fields.get("confirm", "").strip() != name:
            raise Problem(400, f"to delete the subject, type its name: {name}")
        await schemas.registry.change(
            lambda state: deleting.subject(state, name, permanently=False)
        )
    if schemas.registry.store.state.has(name):
        return asked.go("/console/schema", subject=name, done="schema-deleted")
    return asked.go("/console/schemas", done="schema-deleted")


def _subject(asked: Asked) -> str:
    name = normalized(asked.query("subject"))
    if not name:
        raise Problem(404, "which subject? …?subject=")
    return name


def _versions(state: State, name: str) -> list[StoredSchema]:
    """Those that are not deleted, the oldest first."""
    found = state.versions(name)
    if not found:
        raise Problem(404, f"there is no subject {name} (any more)")
    return found


def _version(state: State, name: str, which: int) -> StoredSchema:
    found = state.get(name, Version(which))
    if found is None:
        raise Problem(404, f"{name} has no version {which} (any more)")
    return found


def _before(newest_first: list[StoredSchema]) -> dict[int, StoredSchema]:
    """Version -> the one that was there before it."""
    return {new.version: old for new, old in pairwise(newest_first)}


async def _verdicts(
    schemas: Schemas, rows: Any, before: dict[int, StoredSchema]
) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    deadline = trio.current_time() + _COMPARING_SECONDS
    for one in rows:
        if one.version in before and trio.current_time() < deadline:
            found[one.version] = await schemas.beside(one, before[one.version])
    return found


async def _referrers(schemas: Schemas, state: State, stored: StoredSchema) -> list[StoredSchema]:
    found = state.referrers(stored.key)
    seen = set(await schemas.visible({one.subject for one in found}))
    return [one for one in found if one.subject in seen]


PAGES: Pages = (
    ("GET", "/console/schemas", show),
    ("GET", "/console/schema", one_subject),
    ("GET", "/console/schema/diff", compare),
    ("POST", "/console/schema/level", set_level),
    ("GET", "/console/schema/delete", ask_delete),
    ("POST", "/console/schema/delete", delete),
)
