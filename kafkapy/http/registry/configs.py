"""Modes, compatibility levels, and what else is configured for a subject or a context."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from kafkapy.http.registry.entities import Json, metadata_from_json, rule_set_from_json
from kafkapy.http.registry.errors import ErrorCode, RegistryError, unprocessable


class Mode(StrEnum):
    """What may be done to subjects."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def is_read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)

    @property
    def is_import(self) -> bool:
        """Schemas come with their ids, and are not compared."""
        return self in (Mode.IMPORT, Mode.FORWARD)


class Level(StrEnum):
    """Which earlier schemas a new one is compared with, and in which direction."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.name.endswith("_TRANSITIVE")

    @property
    def new_reads_old(self) -> bool:
        return self.name.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        return self.name.startswith(("FORWARD", "FULL"))


DEFAULT_LEVEL = Level.BACKWARD

_FLAGS = ("normalize", "validateFields", "validateNewSchemas", "validateRules")
_NAMES = ("alias", "compatibilityGroup")
#: Kept where another registry has stored them, and not acted on here: so they cannot be set.
_NOT_OFFERED = ("validateNewSchemas", "validateRules", "aliasForDeks")
#: What a subject that has a configuration of its own still takes from the global one.
_INHERITED = (*_FLAGS, "compatibilityPolicy", "compatibilityGroup")
_METADATA = ("defaultMetadata", "overrideMetadata")
_RULE_SETS = ("defaultRuleSet", "overrideRuleSet")
KEYS = (
    *_NAMES,
    "aliasForDeks",
    *_FLAGS,
    "compatibilityLevel",
    "compatibilityPolicy",
    *_METADATA,
    *_RULE_SETS,
)


class Config:
    """A configuration, as stored: a JSON object in which what is not said is missing."""

    def __init__(self, said: Json, default_level: Level = DEFAULT_LEVEL) -> None:
        self.said = said
        self._default_level = default_level

    @property
    def level(self) -> Level:
        # What a registry of another make has stored may be a level that this one does not know.
        return Level.__members__.get(self.said.get("compatibilityLevel", ""), self._default_level)

    @property
    def group(self) -> str | None:
        return self.said.get("compatibilityGroup")

    @property
    def alias(self) -> str | None:
        return self.said.get("alias")

    @property
    def normalize(self) -> bool:
        return bool(self.said.get("normalize"))

    @property
    def validates_fields(self) -> bool:
        """Names that metadata reserves are not taken, and stay reserved."""
        return bool(self.said.get("validateFields"))

    @property
    def is_lenient(self) -> bool:
        """JSON Schema's optional properties may come and go."""
        return self.said.get("compatibilityPolicy") == "LENIENT"

    def default(self, what: str) -> Json | None:
        """`metadata` or `ruleSet` for schemas that have none."""
        return self.said.get(f"default{what[0].upper()}{what[1:]}")

    def override(self, what: str) -> Json | None:
        """`metadata` or `ruleSet` that no schema may have otherwise."""
        return self.said.get(f"override{what[0].upper()}{what[1:]}")

    @property
    def shapes_schemas(self) -> bool:
        """Whether what is registered may differ from what was sent."""
        return any(self.said.get(key) for key in (*_METADATA, *_RULE_SETS))

    def to_json(self) -> dict[str, Any]:
        """As GET answers it: a level always."""
        shown = {key: self.said[key] for key in KEYS if self.said.get(key) is not None}
        shown["compatibilityLevel"] = str(self.level)
        return shown


def within(said: Json, outer: Json) -> Json:
    """A subject's own configuration, with what it takes from the global one."""
    return {**{key: outer[key] for key in _INHERITED if key in outer}, **said}


def mode_from_json(body: Json) -> str | None:
    """The mode that a request asks for; None takes it back."""
    mode = body.get("mode")
    if mode is None:
        return None
    if not isinstance(mode, str) or mode.upper() not in Mode.__members__:
        raise RegistryError(
            ErrorCode.INVALID_MODE, f"Invalid mode. Valid values are {', '.join(Mode)}"
        )
    return mode.upper()


def updated(old: Json | None, body: Json) -> dict[str, Any]:
    """The old configuration with what a request changes: null takes a value back."""
    made = dict(old or {})
    for key, value in _asked(body).items():
        made.pop(key, None)
        if value is not None:
            made[key] = value
    return {key: made[key] for key in KEYS if key in made}


def request_form(config: Json) -> dict[str, Any]:
    """What PUT answers: it calls the level `compatibility`, unlike GET."""
    shown = dict(config)
    if "compatibilityLevel" in shown:
        shown = {"compatibility": shown.pop("compatibilityLevel"), **shown}
    return shown


def _asked(body: Json) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    for key, value in body.items():
        if key in _NOT_OFFERED:
            if value:
                raise unprocessable(f"{key} is not offered here")
        elif key in ("normalize", "validateFields"):
            if value is not None and not isinstance(value, bool):
                raise unprocessable(f"{key} is true or false")
            asked[key] = value
        elif key in _NAMES:
            if value is not None and not isinstance(value, str):
                raise unprocessable(f"{key} is a string")
            asked[key] = value
        elif key == "compatibility":
            asked["compatibilityLevel"] = _one_of(value, Level.__members__, key)
        elif key == "compatibilityPolicy":
            # LOGICAL compares by the types of Flink and Iceberg: not offered.
            asked[key] = _one_of(value, ("STRICT", "LENIENT"), key)
        elif key in _METADATA:
            asked[key] = metadata_from_json(value)
        elif key in _RULE_SETS:
            asked[key] = rule_set_from_json(value)
        else:
            raise unprocessable(f"Unrecognized field: {key[:80]}")
    return asked


def _one_of(value: Any, known: Any, key: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value.upper() not in known:
        raise RegistryError(
            ErrorCode.INVALID_COMPATIBILITY, f"Invalid {key}. Valid values are {', '.join(known)}"
        )
    return value.upper()
