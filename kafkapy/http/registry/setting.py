"""Setting modes and configurations, for a subject, a context, or all of them."""

from __future__ import annotations

from typing import Any

from kafkapy.core.step import Step
from kafkapy.http.registry.configs import Mode, mode_from_json, updated
from kafkapy.http.registry.entities import Json
from kafkapy.http.registry.errors import ErrorCode, RegistryError, not_permitted, subject_not_found
from kafkapy.http.registry.records import (
    ConfigSet,
    ModeSet,
    Record,
    SchemaForgotten,
    SubjectCleared,
)
from kafkapy.http.registry.state import State
from kafkapy.http.registry.subjects import GLOBAL_CONTEXT, context_of, context_prefix, lies_in


def mode(
    state: State, scope: str | None, body: Json, *, is_forced: bool = False
) -> Step[Record, dict[str, Any]]:
    """Importing begins with nothing there, unless it is forced: ids would mean two things."""
    asked = mode_from_json(body)
    if asked == Mode.FORWARD and scope != context_prefix(GLOBAL_CONTEXT):
        raise RegistryError(ErrorCode.INVALID_MODE, "Forward mode only supported on global level")
    records: list[Record] = []
    if asked == Mode.IMPORT and state.mode(scope) is not Mode.IMPORT and not is_forced:
        if state.has(scope):
            raise not_permitted("Cannot import since found existing subjects")
        for stored in state.all(scope, deleted=True):
            if any(
                not lies_in(by.subject, scope) for by in state.referrers(stored.key, deleted=True)
            ):
                raise RegistryError(
                    ErrorCode.REFERENCE_EXISTS,
                    f"One or more references exist to the schema {stored.key}.",
                )
            records.append(SchemaForgotten(*stored.key))
        records.append(SubjectCleared(scope))
    return Step(records=(*records, ModeSet(scope, asked)), reply={"mode": asked})


def forgotten_mode(
    state: State, scope: str | None, *, recursively: bool = False
) -> Step[Record, dict[str, Any]]:
    """What is around it applies again."""
    own = state.own_mode(scope)
    if own is None and scope is None:
        own = Mode.READWRITE
    if own is None and not recursively:
        raise subject_not_found(scope)
    records: list[Record] = [ModeSet(scope, None)]
    if recursively:
        records += [
            ModeSet(each, None)
            for each in state.scopes_with_mode()
            if each != scope and lies_in(each, scope)
        ]
    return Step(records=tuple(records), reply={"mode": None if own is None else str(own)})


def config(state: State, scope: str | None, body: Json) -> Step[Record, dict[str, Any]]:
    """What the request names is changed, the rest stays."""
    old = state.own_config(scope)
    made = updated(None if old is None else old.said, body)
    _check_writable(state, scope)
    return Step(records=(ConfigSet(scope, made),), reply=made)


def forgotten_config(state: State, scope: str | None) -> Step[Record, dict[str, Any]]:
    """What is around it applies again."""
    own = state.own_config(scope)
    if own is None and scope is not None:
        raise subject_not_found(scope)
    _check_writable(state, scope)
    shown = (own if own is not None else state.config(None)).to_json()
    return Step(records=(ConfigSet(scope, None),), reply=shown)


def _check_writable(state: State, scope: str | None) -> None:
    if state.mode(scope).is_read_only:
        where = f"Subject {scope} in context {context_of(scope)}"
        raise not_permitted(f"{where} is in read-only mode")
