"""Python source of a decoder: one function for each struct of a message.

`read_1(data, p, end)` gives the struct at `p` and the position behind it. Neighbours of
fixed size, with the length that follows them, are one unpack_from:

    f0, f1, n = unpack_iiB(data, p)
    p += 9
    if n > 127: n, p = read_uvarint(data, p - 1)
    ...
    q = p + n - 1
    if q > end: raise Corrupt("MetadataRequest.name is cut short")
    f2 = utf8(data[p:q], "replace")[0]

Nothing is allocated for a length before it was held against the bytes left: n elements
need at least n times their smallest size. A read past the data is a struct.error or an
IndexError, which codec.py turns into Corrupt. Like Kafka: strings that are not UTF-8 get
replacement characters, any negative legacy length is null, unknown tags are skipped, and no
string of a request is longer than what every version can write.

Objects are filled through a mutable twin of their frozen class (same slots, so Python
lets the instance change its class): a quarter of what the constructor costs.
"""

from codecs import utf_8_decode
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from struct import Struct, calcsize, unpack_from
from typing import Any, Final
from uuid import UUID

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.schemas.schema import FIXED, STRUCT, FieldPlan, StructPlan
from kafkapy.protocol.varint import read_uvarint

_ZERO_UUID: Final = bytes(16)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MOMENT_MS: Final = 253_402_300_799_999  # the end of year 9999
_LONGEST_MS: Final = 999_999_999 * 86_400_000  # the days that a timedelta can count
# Kafka reads no longer string, not even where its length is a varint (formats/primitives 1): keys
# of records, and answers of old versions, have 16 bits for it.
MAX_STRING_BYTES: Final = 2**15 - 1
# A byte that is not UTF-8 becomes a replacement character, which takes three.
MAX_BYTES_OF_ANY_STRING: Final = MAX_STRING_BYTES // 3


@lru_cache(maxsize=4096)
def read_uuid(raw: bytes) -> UUID | None:
    """Zero is none. Cached, since the same few topic ids come with every request."""
    return None if raw == _ZERO_UUID else UUID(bytes=raw)


@lru_cache(maxsize=256)
def read_duration(milliseconds: int) -> timedelta:
    """Held to what a timedelta can say: "for ever" stays far away, either side of now."""
    return timedelta(milliseconds=max(-_LONGEST_MS, min(_LONGEST_MS, milliseconds)))


def read_moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=max(0, min(_LAST_MOMENT_MS, milliseconds)))


def read_long_string(raw: bytes | memoryview, what: str) -> str:
    """One of more than MAX_BYTES_OF_ANY_STRING: it may have to be written again."""
    text = utf_8_decode(raw, "replace")[0]
    if len(text.encode()) > MAX_STRING_BYTES:
        raise Corrupt(f"{what} of {len(raw)} bytes is longer than {MAX_STRING_BYTES}")
    return text


_CODES: Final[Mapping[int, ErrorCode]] = {int(code): code for code in ErrorCode}
# What becomes of a value after unpacking. A code we do not know stays a number.
_CONVERTED: Final[Mapping[str, str]] = {
    "uuid": "read_uuid({})",
    "error_code": "codes.get({0}, {0})",
    "timedelta_i32": "read_duration({})",
    "timedelta_i64": "read_duration({})",
    "datetime_i64": "read_moment({})",
}


def decoder_source(
    root: StructPlan, *, bounds_strings: bool = False
) -> tuple[str, str, dict[str, Any]]:
    """The source, the name of the root's function in it, and the names it needs."""
    made = _Decoder(bounds_strings)
    name = made.struct(root)
    return "\n".join(made.lines), name, made.names


class _Batch:
    """Fixed-size values not yet read; `end` gives the lines that read them."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._letters = ""
        self._targets: list[str] = []
        self._conversions: list[str] = []

    def add(self, letter: str, target: str, conversion: str | None = None) -> None:
        self._letters += letter
        self._targets.append(target)
        if conversion is not None:
            self._conversions.append(f"{target} = {conversion}")

    def end(self) -> list[str]:
        if not self._letters:
            return []
        size = calcsize(f">{self._letters}")
        if self._letters == "B":
            lines = [f"{self._targets[0]} = data[p]", "p += 1"]
        else:
            name = f"unpack_{self._letters}".replace("?", "t")
            self._names[name] = Struct(f">{self._letters}").unpack_from
            lines = [f"{', '.join(self._targets)}, = {name}(data, p)", f"p += {size}"]
        lines += self._conversions
        self._letters = ""
        self._targets = []
        self._conversions = []
        return lines

    def end_with_uvarint(self, target: str) -> list[str]:
        self.add("B", target)
        return [
            *self.end(),
            f"if {target} > 127:",
            f"    {target}, p = read_uvarint(data, p - 1)",
        ]


class _Decoder:
    def __init__(self, bounds_strings: bool) -> None:
        self.lines: list[str] = []
        self._count = 0
        self._bounds_strings = bounds_strings
        self.names: dict[str, Any] = {
            "Corrupt": Corrupt,
            "codes": _CODES,
            "read_duration": read_duration,
            "read_long_string": read_long_string,
            "read_moment": read_moment,
            "read_uuid": read_uuid,
            "read_uvarint": read_uvarint,
            "unpack_from": unpack_from,
            "unpack_uuids": Struct("16s").iter_unpack,
            "utf8": utf_8_decode,
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
        batch = _Batch(self.names)
        body = []
        for at, part in enumerate(plan.untagged):
            body += self._field(plan, part, f"f{at}", batch, "end", inner)
        if plan.flexible:
            body += batch.end_with_uvarint("n")
            body += self._tags(plan, number, inner)
        else:
            body += batch.end()
        body += self._building(plan, number)
        self.lines += [f"def read_{number}(data, p, end):", *(f"    {line}" for line in body), ""]
        return f"read_{number}"

    def _building(self, plan: StructPlan, number: int) -> list[str]:
        values = {part.name: f"f{at}" for at, part in enumerate((*plan.untagged, *plan.tagged))}
        for name, default in plan.absent.items():
            values[name] = f"absent_{number}_{name}"
            self.names[values[name]] = default
        self.names[f"schema_{number}"] = plan.schema
        twin = _mutable_twin(plan.schema)
        if twin is None:
            given = ", ".join(f"{name}={value}" for name, value in values.items())
            return [f"return schema_{number}({given}), p"]
        self.names[f"twin_{number}"] = twin
        return [
            f"o = twin_{number}()",
            *(f"o.{name} = {value}" for name, value in values.items()),
            f"o.__class__ = schema_{number}",
            "return o, p",
        ]

    def _field(
        self,
        plan: StructPlan,
        part: FieldPlan,
        target: str,
        batch: _Batch,
        end: str,
        inner: Mapping[str, str],
    ) -> list[str]:
        what = ".".join((plan.schema.__name__, part.name))
        if part.is_array:
            return self._array(plan, part, target, batch, end, inner, what)
        if part.kind in FIXED:
            batch.add(FIXED[part.kind][0], target, _converted(part, target))
            return []
        if part.kind == STRUCT:
            read = f"{target}, p = {inner[part.name]}(data, p, {end})"
            if not part.nullable:
                return [*batch.end(), read]
            batch.add("b", "n")
            # A varint where it is tagged (0 is null), else a byte of which the sign counts.
            is_null = "if n < 0:" if part.tag is None else "if n <= 0:"
            return [*batch.end(), is_null, f"    {target} = None", "else:", f"    {read}"]
        return self._sized(part.kind, part.nullable, plan.flexible, target, batch, end, what)

    def _array(
        self,
        plan: StructPlan,
        part: FieldPlan,
        target: str,
        batch: _Batch,
        end: str,
        inner: Mapping[str, str],
        what: str,
    ) -> list[str]:
        lines = _length(batch, "i", plan.flexible)
        smallest = _smallest(part, plan.flexible)
        if part.kind == STRUCT:
            read = [f"x, p = {inner[part.name]}(data, p, {end})"]
        else:
            read = (
                self._sized(part.kind, False, plan.flexible, "x", _Batch(self.names), end, what)
                if part.kind not in FIXED
                else []
            )
        if read:
            fill = [
                "items = []",
                "for _ in range(n):",
                *(f"    {line}" for line in read),
                "    items.append(x)",
                f"{target} = tuple(items)",
            ]
        else:
            fill = _fixed_elements(part, target, smallest)
        return [
            *lines,
            "if n > 0:",
            f"    if n * {smallest} > {end} - p:",
            f'        raise Corrupt(f"{what} of {{n}} elements in {{{end} - p}} bytes")',
            *(f"    {line}" for line in fill),
            "elif n == 0:",
            f"    {target} = ()",
            "else:",
            _null(part.nullable, target, what),
        ]

    def _sized(
        self,
        kind: str,
        nullable: bool,
        flexible: bool,
        target: str,
        batch: _Batch,
        end: str,
        what: str,
    ) -> list[str]:
        """A string, bytes or records."""
        taken = {
            "string": f'{target} = utf8(data[p:q], "replace")[0]',
            "bytes": f"{target} = bytes(data[p:q])",
            "records": f"{target} = data[p:q]",
        }[kind]
        take = [taken]
        if kind == "string" and self._bounds_strings:
            take = [
                f"if n <= {MAX_BYTES_OF_ANY_STRING}:",
                f"    {taken}",
                "else:",
                f'    {target} = read_long_string(data[p:q], "{what}")',
            ]
        return [
            *_length(batch, "h" if kind == "string" else "i", flexible),
            "if n >= 0:",
            "    q = p + n",
            f"    if q > {end}:",
            f'        raise Corrupt(f"{what} of {{n}} bytes with {{{end} - p}} left")',
            *(f"    {line}" for line in take),
            "    p = q",
            "else:",
            _null(nullable, target, what),
        ]

    def _tags(self, plan: StructPlan, number: int, inner: Mapping[str, str]) -> list[str]:
        """`n` tags follow. Known ones are read, and must fill their size; others are skipped."""
        name = plan.schema.__name__
        first = len(plan.untagged)
        defaults, known = [], []
        for at, part in enumerate(plan.tagged, first):
            self.names[f"d{number}_{at}"] = part.default
            defaults.append(f"f{at} = d{number}_{at}")
            batch = _Batch(self.names)
            body = self._field(plan, part, f"f{at}", batch, "stop", inner) + batch.end()
            known += [
                f"        if tag == {part.tag}:",
                *(f"            {line}" for line in body),
                "            if p != stop:",
                f'                raise Corrupt("{name}.{part.name} does not fill its tag")',
            ]
        return [
            *defaults,
            "if n:",
            "    if n * 2 > end - p:",
            f'        raise Corrupt(f"{name} with {{n}} tags in {{end - p}} bytes")',
            "    for _ in range(n):",
            "        tag, p = read_uvarint(data, p)",
            "        stop, p = read_uvarint(data, p)",
            "        stop += p",
            "        if stop > end:",
            f'            raise Corrupt(f"{name} is cut short in tag {{tag}}")',
            *known,
            "        p = stop",
        ]


def _mutable_twin(schema: type) -> type | None:
    """A class with the same slots and nothing frozen; None where the trick does not hold."""
    slots = schema.__dict__.get("__slots__")
    if slots is None or schema.__bases__ != (object,) or hasattr(schema, "__post_init__"):
        return None
    if set(slots) != {part.name for part in fields(schema)}:
        return None
    return type(schema.__name__, (), {"__slots__": slots})


def _converted(part: FieldPlan, value: str) -> str | None:
    conversion = _CONVERTED.get(part.kind)
    if conversion is None:
        return None
    converted = conversion.format(value)
    if part.kind == "datetime_i64" and part.nullable:
        return f"None if {value} == -1 else {converted}"
    return converted


def _length(batch: _Batch, letter: str, flexible: bool) -> list[str]:
    """Lines that leave in `n` a length, negative for null."""
    if flexible:
        return [*batch.end_with_uvarint("n"), "n -= 1"]
    batch.add(letter, "n")
    return batch.end()


def _null(nullable: bool, target: str, what: str) -> str:
    return f"    {target} = None" if nullable else f'    raise Corrupt("{what} is null")'


def _fixed_elements(part: FieldPlan, target: str, size: int) -> list[str]:
    if part.kind == "uuid":
        return [
            f"q = p + n * {size}",
            f"{target} = tuple([read_uuid(raw) for raw, in unpack_uuids(data[p:q])])",
            "p = q",
        ]
    values = f'unpack_from(f">{{n}}{FIXED[part.kind][0]}", data, p)'
    conversion = _converted(part, "x")
    if conversion is not None:
        values = f"tuple([{conversion} for x in {values}])"
    return [f"{target} = {values}", f"p += n * {size}"]


def _smallest(part: FieldPlan, flexible: bool) -> int:
    """The fewest bytes one element can take."""
    if part.struct is None:
        return _smallest_value(part.kind, flexible)
    return max(1, _smallest_struct(part.struct))


def _smallest_struct(plan: StructPlan) -> int:
    total = int(plan.flexible)
    for part in plan.untagged:
        if part.is_array:
            total += 1 if plan.flexible else 4
        elif part.struct is not None:
            total += 1 if part.nullable else _smallest_struct(part.struct)
        else:
            total += _smallest_value(part.kind, plan.flexible)
    return total


def _smallest_value(kind: str, flexible: bool) -> int:
    if kind in FIXED:
        return calcsize(f">{FIXED[kind][0]}")
    if flexible:
        return 1
    return 2 if kind == "string" else 4
