"""Words for JSON Schema (2020-12), in which pages say what they take and tell.

One with a `title` stands in the document once, under that name.
"""

from collections.abc import Mapping
from typing import Any, Final

Shape = Mapping[str, Any]

ANYTHING: Final[Shape] = {}
TEXT: Final[Shape] = {"type": "string"}
FLAG: Final[Shape] = {"type": "boolean"}
WHOLE: Final[Shape] = {"type": "integer"}
FRACTION: Final[Shape] = {"type": "number"}


def number(least: int, most: int) -> Shape:
    return {"type": "integer", "minimum": least, "maximum": most}


def word(*allowed: str) -> Shape:
    return {"type": "string", "enum": list(allowed)}


def text(*, least: int = 0, most: int | None = None, pattern: str | None = None) -> Shape:
    found: dict[str, Any] = {"type": "string"}
    if least:
        found["minLength"] = least
    if most is not None:
        found["maxLength"] = most
    if pattern is not None:
        found["pattern"] = pattern
    return found


def nullable(one: Shape) -> Shape:
    return {"anyOf": [one, {"type": "null"}]}


def either(*several: Shape) -> Shape:
    return {"anyOf": list(several)}


def several(one: Shape, *, least: int = 0, most: int | None = None) -> Shape:
    found: dict[str, Any] = {"type": "array", "items": one}
    if least:
        found["minItems"] = least
    if most is not None:
        found["maxItems"] = most
    return found


def by_name(one: Shape, *, least: int = 0) -> Shape:
    """An object whose fields are whatever somebody named them."""
    found: dict[str, Any] = {"type": "object", "additionalProperties": one}
    if least:
        found["minProperties"] = least
    return found


def fields(
    needed: Mapping[str, Shape] | None = None,
    maybe: Mapping[str, Shape] | None = None,
    *,
    title: str | None = None,
    told: str | None = None,
) -> Shape:
    """An object with these fields and no other."""
    found: dict[str, Any] = {} if title is None else {"title": title}
    if told is not None:
        found["description"] = told
    found |= {"type": "object", "properties": {**(needed or {}), **(maybe or {})}}
    if needed:
        found["required"] = list(needed)
    found["additionalProperties"] = False
    return found
