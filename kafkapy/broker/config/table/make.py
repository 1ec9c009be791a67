"""Short words for the rows of the table: `int32(9, "What it does.", at_least(0))`.

Every word takes the default and a sentence, then what deviates from the usual: the
validator; `dynamic`, `importance`, `internal`; and `ignored`, the reason why kafkapy
accepts the key without acting on it; `broker`, the broker's keys behind a topic's or group's.
"""

from typing import Any, TypedDict, Unpack, overload

from kafkapy.broker.config.table.key import ConfigType, Dynamic, Importance, Key, NoDefault
from kafkapy.broker.config.table.validators import ANYTHING, Validator


class Traits(TypedDict, total=False):
    valid: Validator
    dynamic: Dynamic
    importance: Importance
    internal: bool
    ignored: str
    note: str
    broker: tuple[str, ...]


def _key(kind: ConfigType, default: Any, documentation: str, traits: Traits) -> Key[Any]:
    ignored = traits.get("ignored", "")
    return Key(
        kind=kind,
        default=default,
        documentation=documentation,
        validator=traits.get("valid", ANYTHING),
        dynamic=traits.get("dynamic", Dynamic.READ_ONLY),
        importance=traits.get("importance", Importance.MEDIUM),
        is_internal=traits.get("internal", False),
        acted_on=not ignored,
        note=ignored or traits.get("note", ""),
        synonyms=traits.get("broker", ()),
    )


def boolean(default: bool, documentation: str, **traits: Unpack[Traits]) -> Key[bool]:
    return _key(ConfigType.BOOLEAN, default, documentation, traits)


@overload
def int32(default: int | NoDefault, documentation: str, **traits: Unpack[Traits]) -> Key[int]: ...
@overload
def int32(default: None, documentation: str, **traits: Unpack[Traits]) -> Key[int | None]: ...
def int32(default: Any, documentation: str, **traits: Unpack[Traits]) -> Any:
    return _key(ConfigType.INT, default, documentation, traits)


@overload
def int64(default: int, documentation: str, **traits: Unpack[Traits]) -> Key[int]: ...
@overload
def int64(default: None, documentation: str, **traits: Unpack[Traits]) -> Key[int | None]: ...
def int64(default: Any, documentation: str, **traits: Unpack[Traits]) -> Any:
    return _key(ConfigType.LONG, default, documentation, traits)


def int16(default: int, documentation: str, **traits: Unpack[Traits]) -> Key[int]:
    return _key(ConfigType.SHORT, default, documentation, traits)


def float64(default: float, documentation: str, **traits: Unpack[Traits]) -> Key[float]:
    return _key(ConfigType.DOUBLE, default, documentation, traits)


@overload
def string(default: str, documentation: str, **traits: Unpack[Traits]) -> Key[str]: ...
@overload
def string(default: None, documentation: str, **traits: Unpack[Traits]) -> Key[str | None]: ...
def string(default: Any, documentation: str, **traits: Unpack[Traits]) -> Any:
    return _key(ConfigType.STRING, default, documentation, traits)


@overload
def strings(
    default: tuple[str, ...] | NoDefault, documentation: str, **traits: Unpack[Traits]
) -> Key[tuple[str, ...]]: ...
@overload
def strings(
    default: None, documentation: str, **traits: Unpack[Traits]
) -> Key[tuple[str, ...] | None]: ...
def strings(default: Any, documentation: str, **traits: Unpack[Traits]) -> Any:
    return _key(ConfigType.LIST, default, documentation, traits)


@overload
def java_class(default: str, documentation: str, **traits: Unpack[Traits]) -> Key[str]: ...
@overload
def java_class(default: None, documentation: str, **traits: Unpack[Traits]) -> Key[str | None]: ...
def java_class(default: Any, documentation: str, **traits: Unpack[Traits]) -> Any:
    return _key(ConfigType.CLASS, default, documentation, traits)


def password(documentation: str, **traits: Unpack[Traits]) -> Key[str | None]:
    return _key(ConfigType.PASSWORD, None, documentation, traits)
