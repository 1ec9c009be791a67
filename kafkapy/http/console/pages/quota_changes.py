"""Quotas of one user, client or address: what is set, what would be, and done when confirmed."""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.seeing import until_seen
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import CLUSTER_NAME
from kafkapy.protocol.api_keys import ApiKey

TYPES: Final = ("user", "client-id", "ip")
_OF_CLIENTS: Final = {
    "producer_byte_rate": "bytes a second that are written",
    "consumer_byte_rate": "bytes a second that are read",
    "request_percentage": "of a thread's time, in percent",
    "controller_mutation_rate": "partitions a second that are created or deleted",
}
_OF_ADDRESSES: Final = {"connection_creation_rate": "connections a second that are opened"}
_EXACT, _DEFAULT = 0, 1
# Of an entity's part: left out, the default for all others, or by name.
HOW: Final = ("", "default", "name")


class Change(NamedTuple):
    key: str
    now: float | None
    then: float | None


Entity = tuple[tuple[str, str | None], ...]


async def ask(asked: Asked) -> Any:
    """Whose; then what is set, as a form; with `preview`, what would change."""
    said = asked.request.query_params
    entity: Entity = ()
    failed, changes = None, list[Change]()
    keys: dict[str, str] = {}
    now: dict[str, float] = {}
    try:
        entity = _entity(said)
        if entity:
            keys = _OF_ADDRESSES if entity[0][0] == "ip" else _OF_CLIENTS
            now = await _set(asked, entity)
        if entity and "preview" in said:
            changes = _changes(keys, now, said)
    except Problem as problem:
        failed = problem.detail
    return asked.page(
        "quota.html",
        types=TYPES,
        how=HOW,
        entity=entity,
        keys=keys,
        now=now,
        changes=changes,
        failed=failed,
        is_preview="preview" in said and not failed,
    )


async def change(asked: Asked) -> Any:
    fields = await asked.fields()
    entity = _entity(fields)
    if not entity:
        raise Problem(400, "say whose")
    keys = _OF_ADDRESSES if entity[0][0] == "ip" else _OF_CLIENTS
    changes = _changes(keys, await _set(asked, entity), fields)
    ops = [
        {"key": one.key, "value": one.then or 0.0, "remove": one.then is None} for one in changes
    ]
    if ops:
        named = [{"entity_type": kind, "entity_name": name} for kind, name in entity]
        body = {"entries": [{"entity": named, "ops": ops}], "validate_only": False}
        answer = (await asked.kafka.ask(ApiKey.ALTER_CLIENT_QUOTAS, body)).entries[0]
        with asked.needs("ALTER_CONFIGS", "CLUSTER", CLUSTER_NAME):
            check(answer.error_code, "quota", answer.error_message)

    async def has_come() -> bool:
        there = await _set(asked, entity)
        return all(there.get(one.key) == one.then for one in changes)

    await until_seen(has_come)
    return asked.go("/console/quotas", done="quota")


async def _set(asked: Asked, entity: Entity) -> dict[str, float]:
    """What is set for exactly this."""
    components = [
        {
            "entity_type": kind,
            "match_type": _DEFAULT if name is None else _EXACT,
            "match": name,
        }
        for kind, name in entity
    ]
    body = {"components": components, "strict": True}
    answer = await asked.kafka.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, body)
    with asked.needs("DESCRIBE_CONFIGS", "CLUSTER", CLUSTER_NAME):
        check(answer.error_code, "quotas", answer.error_message)
    return {one.key: one.value for entry in answer.entries or () for one in entry.values}


def _entity(said: Mapping[str, str]) -> Entity:
    found: list[tuple[str, str | None]] = []
    for kind in TYPES:
        how, name = said.get(f"{kind}-is", ""), said.get(kind, "").strip()
        if how not in HOW:
            raise Problem(400, "a part of an entity is left out, the default, or named")
        if how == "name" and not name:
            raise Problem(400, f"which {kind}?")
        if how:
            found.append((kind, name if how == "name" else None))
    if len(found) > 1 and found[-1][0] == "ip":
        raise Problem(400, "an address has quotas of its own, not together with users or clients")
    return tuple(found)


def _changes(
    keys: Mapping[str, str], now: Mapping[str, float], said: Mapping[str, str]
) -> list[Change]:
    """An empty field is no limit."""
    found = []
    for key in keys:
        text = said.get(key, "").strip().replace(",", "")
        then = None
        if text:
            try:
                then = float(text)
            except ValueError:
                raise Problem(400, f"{key} is a number, and not {text!r}") from None
            if not (math.isfinite(then) and then > 0):
                raise Problem(400, f"{key} is above 0, or empty for no limit")
        if then != now.get(key):
            found.append(Change(key, now.get(key), then))
    return found


PAGES: Pages = (
    ("GET", "/console/quotas/change", ask),
    ("POST", "/console/quotas/change", change),
)
