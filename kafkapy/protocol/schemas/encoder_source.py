"""Python source of an encoder: one function for each struct of a message.

What is written looks as one would write it by hand for speed. For a flexible struct of an
id, an epoch, a name and no tags:

    def write_1(w, v):
        if v.__class__ is dict:
            if not v.keys() <= keys_1: unknown_1(v)
            get = v.get
            f0 = get("id", d1_0); f1 = get("epoch", d1_1); f2 = get("name", d1_2)
        else:
            f0 = v.id; f1 = v.epoch; f2 = v.name
        b = f2.encode()
        n = len(b) + 1
        w(pack_iiB(f0, f1, n) if n < 128 else pack_ii(f0, f1) + uvarint(n))
        w(b)
        w(zero)

`w` appends to the list of pieces. Neighbours of fixed size, with the length that follows
them, are one struct.pack. A tagged field is left out when its bytes are its default's.
"""

from collections.abc import Callable, Iterable, Mapping
from struct import Struct, pack
from typing import Any, Final
from uuid import UUID

from kafkapy.protocol.schemas.schema import FIXED, STRUCT, FieldPlan, StructPlan, milliseconds
from kafkapy.protocol.varint import ONE_BYTE, uvarint

Elsewhere = Callable[[tuple[str, ...], str], bool]
_ZERO_UUID: Final = bytes(16)
_IN_MILLISECONDS: Final = frozenset({"timedelta_i32", "timedelta_i64", "datetime_i64"})


def encoder_source(
    root: StructPlan, elsewhere: Elsewhere | None
) -> tuple[str, str, dict[str, Any]]:
    """The source, the name of the root's function in it, and the names it needs.

    `elsewhere(path, key)` may let a key pass that no field of this version has.
    """
    made = _Encoder(elsewhere)
    name = made.struct(root)
    return "\n".join(made.lines), name, made.names


class _Batch:
    """Fixed-size values not yet written; `end` gives the line that writes them."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._letters = ""
        self._values: list[str] = []

    def add(self, letter: str, value: str) -> None:
        self._letters += letter
        self._values.append(value)

    def add_zero(self) -> None:
        self._letters += "x"

    def end(self) -> list[str]:
        lines = [f"w({self._packed()})"] if self._letters else []
        self._letters = ""
        self._values = []
        return lines

    def end_with_uvarint(self, value: str) -> list[str]:
        """The batch and then a length, which in most cases fits one byte."""
        if not self._letters:
            return [f"w(one_byte[{value}] if {value} < 128 else uvarint({value}))"]
        long = f"{self._packed()} + uvarint({value})"
        self.add("B", value)
        short = self._packed()
        self.end()
        return [f"w({short} if {value} < 128 else {long})"]

    def _packed(self) -> str:
        name = f"pack_{self._letters}".replace("?", "t")
        self._names[name] = Struct(f">{self._letters}").pack
        return f"{name}({', '.join(self._values)})"


class _Encoder:
    def __init__(self, elsewhere: Elsewhere | None) -> None:
        self.lines: list[str] = []
        self._elsewhere = elsewhere
        self._count = 0
        self.names: dict[str, Any] = {
            "one_byte": ONE_BYTE,
            "uvarint": uvarint,
            "milliseconds": milliseconds,
            "zero_uuid": _ZERO_UUID,
            "is_mapping": _is_mapping,
            "tag_section": _tag_section,
            "pack": pack,
            "uuids": _uuids,
        }

    def struct(self, plan: StructPlan) -> str:
        """Write the function of one struct, after those of the structs inside it."""
        inner = {
            part.name: self.struct(part.struct)
            for part in (*plan.untagged, *plan.tagged)
            if part.struct is not None
        }
        number = self._count
        self._count += 1
        parts = (*plan.untagged, *plan.tagged)
        self._names_of(number, plan, parts)
        body = self._unpacking(number, parts)
        batch = _Batch(self.names)
        for at, part in enumerate(plan.untagged):
            body += self._field(part, f"f{at}", batch, plan.flexible, inner)
        if plan.tagged:
            body += batch.end()
            body += self._tags(number, plan, inner)
        else:
            if plan.flexible:
                batch.add_zero()
            body += batch.end()
        self._function(f"write_{number}(w, v)", body)
        return f"write_{number}"

    def _function(self, head: str, body: Iterable[str]) -> None:
        self.lines += [f"def {head}:", *(f"    {line}" for line in body), "    return", ""]

    def _names_of(self, number: int, plan: StructPlan, parts: tuple[FieldPlan, ...]) -> None:
        keys = {part.name for part in parts} | set(plan.absent)
        self.names[f"schema_{number}"] = plan.schema
        self.names[f"keys_{number}"] = keys
        self.names[f"unknown_{number}"] = _unknown(plan, keys, self._elsewhere)
        for at, part in enumerate(parts):
            default = part.default
            if part.kind in _IN_MILLISECONDS and not part.is_array:
                default = milliseconds(default)
            self.names[f"d{number}_{at}"] = default

    @staticmethod
    def _unpacking(number: int, parts: tuple[FieldPlan, ...]) -> list[str]:
        """Lines that bring the fields of a dict or an object into local variables."""
        gets = [f'    f{at} = get("{part.name}", d{number}_{at})' for at, part in enumerate(parts)]
        reads = [f"    f{at} = v.{part.name}" for at, part in enumerate(parts)]
        return [
            "kind = v.__class__",
            f"if kind is not dict and kind is not schema_{number} and is_mapping(v):",
            "    v = dict(v)",
            "    kind = dict",
            "if kind is dict:",
            f"    if not v.keys() <= keys_{number}:",
            f"        unknown_{number}(v)",
            "    get = v.get",
            *gets,
            "else:",
            *(reads or ["    pass"]),
        ]

    def _field(
        self, part: FieldPlan, value: str, batch: _Batch, flexible: bool, inner: Mapping[str, str]
    ) -> list[str]:
        if part.is_array:
            return self._array(part, value, batch, flexible, inner)
        if part.kind in FIXED:
            return self._fixed(part.kind, value, batch)
        if part.kind == STRUCT:
            return self._inner_struct(part, value, batch, inner)
        return self._sized(part.kind, part.nullable, value, batch, flexible)

    @staticmethod
    def _fixed(kind: str, value: str, batch: _Batch) -> list[str]:
        if kind == "uuid":
            batch.add("16s", f"(zero_uuid if {value} is None else {value}.bytes)")
            return []
        batch.add(FIXED[kind][0], value)
        if kind in _IN_MILLISECONDS:
            return [f"if {value}.__class__ is not int:", f"    {value} = milliseconds({value})"]
        return []

    @staticmethod
    def _inner_struct(
        part: FieldPlan, value: str, batch: _Batch, inner: Mapping[str, str]
    ) -> list[str]:
        write = f"{inner[part.name]}(w, {value})"
        if not part.nullable:
            return [*batch.end(), write]
        # A varint where it is tagged (0 is null), else a byte of which the sign counts.
        null = r"\0" if part.tag is not None else r"\xff"
        return [
            *batch.end(),
            f"if {value} is None:",
            f'    w(b"{null}")',
            "else:",
            r'    w(b"\x01")',
            f"    {write}",
        ]

    @staticmethod
    def _sized(kind: str, nullable: bool, value: str, batch: _Batch, flexible: bool) -> list[str]:
        """A string or bytes: its length joins the batch, its bytes follow."""
        present = f"{value}.encode()" if kind == "string" else value
        length = "len(b) + 1" if flexible else "len(b)"
        lines = [f"b = {present}", f"n = {length}"]
        if nullable:
            null = "0" if flexible else "-1"
            lines = [
                f"if {value} is None:",
                '    b = b""',
                f"    n = {null}",
                "else:",
                *(f"    {line}" for line in lines),
            ]
        if flexible:
            lines += batch.end_with_uvarint("n")
        else:
            batch.add("h" if kind == "string" else "i", "n")
            lines += batch.end()
        return [*lines, "w(b)"]

    def _array(
        self, part: FieldPlan, value: str, batch: _Batch, flexible: bool, inner: Mapping[str, str]
    ) -> list[str]:
        length = f"len({value}) + 1" if flexible else f"len({value})"
        if part.nullable:
            length = f"{'0' if flexible else '-1'} if {value} is None else {length}"
        lines = [f"n = {length}"]
        if flexible:
            lines += batch.end_with_uvarint("n")
        else:
            batch.add("i", "n")
            lines += batch.end()
        return [*lines, f"if {value}:", *self._elements(part, value, flexible, inner)]

    def _elements(
        self, part: FieldPlan, value: str, flexible: bool, inner: Mapping[str, str]
    ) -> list[str]:
        if part.kind == STRUCT:
            return [f"    for x in {value}:", f"        {inner[part.name]}(w, x)"]
        if part.kind == "uuid":
            return [f"    w(uuids({value}))"]
        if part.kind in FIXED:
            values = f"map(milliseconds, {value})" if part.kind in _IN_MILLISECONDS else value
            return [f'    w(pack(f">{{len({value})}}{FIXED[part.kind][0]}", *{values}))']
        each = self._sized(part.kind, False, "x", _Batch(self.names), flexible)
        return [f"    for x in {value}:", *(f"        {line}" for line in each)]

    def _tags(self, number: int, plan: StructPlan, inner: Mapping[str, str]) -> list[str]:
        """All defaults, which is nearly always: one zero. Else the long way."""
        writers = []
        first = len(plan.untagged)
        for at, part in enumerate(plan.tagged, first):
            payload = f"payload_{number}_{at}"
            batch = _Batch(self.names)
            body = self._field(part, "v", batch, True, inner) + batch.end()
            self._function(f"{payload}(w, v)", body)
            writers.append(f"({part.tag}, {payload}, d{number}_{at})")
        values = [f"f{at}" for at in range(first, first + len(plan.tagged))]
        defaults = " and ".join(f"{value} is d{number}_{value[1:]}" for value in values)
        self.lines.append(f"tags_{number} = tag_section({', '.join(writers)})")
        return [
            f"if {defaults}:",
            r'    w(b"\0")',
            "else:",
            f"    w(tags_{number}({', '.join(values)}))",
        ]


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _uuids(values: Iterable[UUID | None]) -> bytes:
    return b"".join(_ZERO_UUID if value is None else value.bytes for value in values)


def _unknown(
    plan: StructPlan, keys: set[str], elsewhere: Elsewhere | None
) -> Callable[[Mapping[str, Any]], None]:
    """What looks at a dict with keys that this version does not have, and remembers."""

    def unknown(value: Mapping[str, Any]) -> None:
        for key in value.keys() - keys:
            known = elsewhere is not None and elsewhere(plan.path, key)
            assert known, f"{'.'.join((plan.schema.__name__, *plan.path))} has no field {key!r}"
            keys.add(key)

    return unknown


def _tag_section(
    *writers: tuple[int, Callable[[Callable[[bytes], None], Any], None], Any],
) -> Callable[..., bytes]:
    """A tag section's writer; `writers` are (tag, payload's writer, default), ascending."""

    def payload(write: Callable[[Callable[[bytes], None], Any], None], value: Any) -> bytes:
        pieces: list[bytes] = []
        write(pieces.append, value)
        return b"".join(pieces)

    known = [(uvarint(tag), write, payload(write, default)) for tag, write, default in writers]

    def section(*values: Any) -> bytes:
        pieces = []
        for value, (tag, write, default) in zip(values, known, strict=True):
            data = payload(write, value)
            if data != default:
                pieces.append(tag + uvarint(len(data)) + data)
        return uvarint(len(pieces)) + b"".join(pieces)

    return section
