"""What a message looks like: field words for our own records, and plans for the codec.

A schema is a dataclass. Two kinds are understood, and both become the same `StructPlan`:

    kio.schema.*   one class per API and version (`__version__`, `__flexible__`)
    our records    one class for all versions: `@dataclass(frozen=True, slots=True,
                   kw_only=True)`, flexible from `__flexible_since__` on (0 if left out),
                   each field made with a word of this module:

        class PartitionRecord:
            partition_id: int = int32(default=-1)
            directories: tuple[UUID | None, ...] = array("uuid", since=1)
            last_known_elr: tuple[int, ...] | None = array("int32", since=2, tag=2, default=None)

Annotations say what is nullable ("| None"); a UUID is always `UUID | None`, as zero is
none. A field without default must be given, unless it is tagged or younger than version
0: then it is zero, "" or () (null where the annotation allows it). `since` and `until`
are both inclusive. Fields outside a version are not written, and read as their default.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Union, get_args, get_origin

from kafkapy.core.data import dataclass

# kafka_type -> (struct letter, zero). What is not here has a length of its own.
FIXED: Final[Mapping[str, tuple[str, object]]] = {
    "int8": ("b", 0),
    "int16": ("h", 0),
    "int32": ("i", 0),
    "int64": ("q", 0),
    "uint8": ("B", 0),
    "uint16": ("H", 0),
    "uint32": ("I", 0),
    "uint64": ("Q", 0),
    "float64": ("d", 0.0),
    "bool": ("?", False),
    "uuid": ("16s", None),
    "error_code": ("h", 0),
    "timedelta_i32": ("i", timedelta()),
    "timedelta_i64": ("q", timedelta()),
    "datetime_i64": ("q", 0),
}
_SIZED: Final[Mapping[str, object]] = {"string": "", "bytes": b"", "records": None}
STRUCT: Final = "struct"


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One field of one version: what to write, in which form, and what it is when absent."""

    name: str
    kind: str  # a kafka_type, or STRUCT
    struct: "StructPlan | None"
    is_array: bool
    nullable: bool
    tag: int | None
    default: Any


@dataclass(frozen=True, slots=True)
class StructPlan:
    """One struct of one version. `absent` are the fields this version does not have."""

    schema: type
    path: tuple[str, ...]
    flexible: bool
    untagged: tuple[FieldPlan, ...]
    tagged: tuple[FieldPlan, ...]  # ascending by tag
    absent: Mapping[str, Any]


def plan(
    schema: type, version: int, flexible: bool | None = None, path: tuple[str, ...] = ()
) -> StructPlan:
    """Read a dataclass once, for one version. Nested structs inherit `flexible`."""
    if flexible is None:
        since = getattr(schema, "__flexible_since__", 0)
        flexible = bool(getattr(schema, "__flexible__", version >= since))
    hints = typing.get_type_hints(schema)
    untagged, tagged, absent = [], [], {}
    for part in fields(schema):
        made = _field_plan(part, hints[part.name], version, flexible, path)
        if not part.metadata.get("since", 0) <= version <= part.metadata.get("until", version):
            absent[part.name] = made.default
        elif made.tag is None:
            untagged.append(made)
        else:
            assert flexible, f"{schema.__name__}.{part.name} is tagged, version {version} is not"
            tagged.append(made)
    tagged.sort(key=lambda one: one.tag or 0)
    return StructPlan(schema, path, flexible, tuple(untagged), tuple(tagged), absent)


def _field_plan(
    part: "Field[Any]", hint: Any, version: int, flexible: bool, path: tuple[str, ...]
) -> FieldPlan:
    hint, nullable = _without_none(hint)
    is_array = get_origin(hint) is tuple
    element = _without_none(get_args(hint)[0])[0] if is_array else hint
    metadata = part.metadata
    if version < metadata.get("nullable_since", 0):
        nullable = False
    struct = None
    if is_dataclass(element):
        assert isinstance(element, type), element
        kind = STRUCT
        struct = plan(element, version, flexible, (*path, part.name))
    else:
        kind = metadata["kafka_type"]
        assert kind in FIXED or kind in _SIZED, f"{part.name}: unknown kafka_type {kind!r}"
    default = part.default
    if default is MISSING:
        default = _implicit_default(kind, struct, is_array, nullable)
    may_be_none = nullable or (kind in ("uuid", "records") and not is_array)
    assert default is not None or may_be_none, f"{part.name} is not nullable, its default is"
    return FieldPlan(part.name, kind, struct, is_array, nullable, metadata.get("tag"), default)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    (kept,) = (one for one in get_args(hint) if one is not types.NoneType)
    return kept, True


def _implicit_default(
    kind: str, struct: StructPlan | None, is_array: bool, nullable: bool
) -> object:
    if nullable:
        return None
    if is_array:
        return ()
    if struct is not None:
        return struct.schema(
            **{one.name: one.default for one in (*struct.untagged, *struct.tagged)}
        )
    return FIXED[kind][1] if kind in FIXED else _SIZED[kind]


def milliseconds(value: int | timedelta | datetime | None) -> int:
    """A kio duration or moment as it travels: milliseconds, -1 for none."""
    if isinstance(value, int):
        return value
    if value is None:
        return -1
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return (value.days * 86_400 + value.seconds) * 1000 + value.microseconds // 1000


# The words for fields. They return Any, as dataclasses.field does, so that the annotation
# beside them is the type.


def _word(kind: str | None, zero: object, rules: dict[str, Any]) -> Any:
    default = rules.pop("default", MISSING)
    if default is MISSING and ("tag" in rules or rules.get("since", 0) > 0):
        default = zero
    metadata = rules if kind is None else {"kafka_type": kind, **rules}
    return field(default=default, metadata=metadata)


def int8(**rules: Any) -> Any:
    return _word("int8", 0, rules)


def int16(**rules: Any) -> Any:
    return _word("int16", 0, rules)


def int32(**rules: Any) -> Any:
    return _word("int32", 0, rules)


def int64(**rules: Any) -> Any:
    return _word("int64", 0, rules)


def uint16(**rules: Any) -> Any:
    return _word("uint16", 0, rules)


def uint32(**rules: Any) -> Any:
    return _word("uint32", 0, rules)


def float64(**rules: Any) -> Any:
    return _word("float64", 0.0, rules)


def boolean(**rules: Any) -> Any:
    return _word("bool", False, rules)


def uuid(**rules: Any) -> Any:
    return _word("uuid", None, rules)


def string(**rules: Any) -> Any:
    return _word("string", "", rules)


def byte_string(**rules: Any) -> Any:
    return _word("bytes", b"", rules)


def array(element: str | type, **rules: Any) -> Any:
    """An array of a kafka_type, or of a dataclass; annotate it `tuple[..., ...]`."""
    return _word(element if isinstance(element, str) else None, (), rules)


def struct(**rules: Any) -> Any:
    """A nested dataclass, named by the annotation; null when absent, if not said otherwise."""
    return _word(None, None, rules)
