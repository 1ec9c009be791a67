"""Modes and configurations: of a subject, of a context, of all."""

from __future__ import annotations

from typing import Any

from kafkapy.http.registry import setting
from kafkapy.http.registry.configs import request_form
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked
from kafkapy.http.registry.subjects import DEFAULT_CONTEXT, Subject, is_valid, parse
from kafkapy.kraft.acls import Operation

O = Operation  # noqa: E741  (read beside the table, it is Kafka's word for it)


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
