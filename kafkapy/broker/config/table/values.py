"""Text <-> value, as Kafka reads and writes configuration values.

Values travel as text: in server.properties, in ConfigRecords, in DescribeConfigs. Text
is trimmed, lists are split at commas, doubles are written as Java writes them.
"""

import re
from typing import Any, Final

from kafkapy.broker.config.table.key import ConfigType, Key, Value
from kafkapy.broker.config.table.validators import Invalid

_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
# As Double.parseDouble takes it, hexadecimal aside; Java's d or f may follow the digits.
_NUMBER: Final = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?|NaN|Infinity)", re.ASCII
)
_COMMA: Final = re.compile(r"\s*,\s*")


class ConfigError(Exception):
    """`key` cannot have `value`; the sentence says what is allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"Invalid value {_shown(value)} for configuration {key}: {allowed}")
        self.key = key
        self.value = value
        self.allowed = allowed


def parse(key: Key[Any], text: str | None) -> Value:
    """The value that `text` means for `key`; ConfigError if it means none."""
    if text is None:
        value: Value = None
    else:
        try:
            value = parse_as(key.kind, text)
        except ValueError as bad:
            raise ConfigError(key.name, text.strip(), str(bad)) from None
    check(key, value)
    return value


def check(key: Key[Any], value: Value) -> None:
    try:
        key.validator.check(value)
    except Invalid as bad:
        shown = value if bad.item is None else bad.item
        raise ConfigError(key.name, shown, bad.allowed) from None


def parse_as(kind: ConfigType, text: str) -> Value:
    """`text` read as `kind`; ValueError with a sentence otherwise."""
    trimmed = text.strip()
    if kind is ConfigType.BOOLEAN:
        lowered = trimmed.lower()
        if lowered not in ("true", "false"):
            raise ValueError("Expected value to be either true or false")
        return lowered == "true"
    if kind in _BITS:
        return _whole_number(kind, trimmed)
    if kind is ConfigType.DOUBLE:
        return _double(trimmed)
    if kind is ConfigType.LIST:
        return tuple(_COMMA.split(trimmed)) if trimmed else ()
    return trimmed


def _whole_number(kind: ConfigType, text: str) -> int:
    half = 1 << (_BITS[kind] - 1)
    if _WHOLE_NUMBER.fullmatch(text) is None or not -half <= int(text) < half:
        raise ValueError(f"Not a number of type {kind.name}")
    return int(text)


def _double(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"Not a number of type {ConfigType.DOUBLE.name}")
    return float(text if text[-1] in "Ny" else text.rstrip("dDfF"))


def to_text(value: Value) -> str | None:
    """`value` as Kafka's tools show it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return java_double(value)
    return str(value)


def java_double(value: float) -> str:
    """Java's Double.toString: plain between 10^-3 and 10^7, else d.dddE±n."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return _plain(value)
    mantissa, _, exponent = f"{value:e}".partition("e")
    digits = repr(value).partition("e")[0].replace(".", "").replace("-", "").strip("0")
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{int(exponent)}"


def _plain(value: float) -> str:
    text = repr(value)
    return text if "e" not in text else f"{value:.20f}".rstrip("0")


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    if isinstance(value, bool | int | float):
        return to_text(value) or ""
    return "null" if value is None else str(value)
