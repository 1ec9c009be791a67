"""Can a reader with one Avro schema read what was written with another?

By the specification's schema resolution, and where that is silent as Java's Avro does: names of
records count without their namespace, aliases of the reader count, an enum's default takes
symbols that the reader does not know, a field that by its aliases is several of the writer's
cannot be read. `avro.compatibility` knows the same rules but gives its
messages and locations as two sets, so that nobody can say what is wrong where.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kafkapy.http.registry.languages.source import Difference

_PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
#: Of one pair of types: a person reads no more, and a hostile schema has millions.
MAX_DIFFERENCES = 100


class Comparison:
    """One pair of schemas; pairs of types in them are compared once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Difference, ...]] = {}

    def differences(self, reader: Any, writer: Any, path: str = "") -> tuple[Difference, ...]:
        pair = id(reader), id(writer)
        known = self._known.get(pair)
        if known is None:
            # A type that contains itself is as compatible as the rest of it.
            self._known[pair] = ()
            known = tuple(islice(self._between(reader, writer, path), MAX_DIFFERENCES))
            self._known[pair] = known
        return known

    def _between(self, reader: Any, writer: Any, path: str) -> Iterator[Difference]:
        kind, written = _kind(reader), _kind(writer)
        if written == "union":
            yield from self._every_branch(reader, writer, path)
        elif kind == "union":
            if not any(not self.differences(each, writer, path) for each in reader.schemas):
                yield Difference(
                    "MISSING_UNION_BRANCH", path or "/", f"the union has no {_named(writer)}"
                )
        elif kind != written:
            if written not in _PROMOTIONS.get(kind, ()):
                found = f"reader type: {kind.upper()} not compatible with writer type: "
                yield Difference("TYPE_MISMATCH", path or "/", found + written.upper())
        elif kind == "array":
            yield from self.differences(reader.items, writer.items, f"{path}/items")
        elif kind == "map":
            yield from self.differences(reader.values, writer.values, f"{path}/values")
        elif kind not in _PRIMITIVES:
            yield from self._named_types(kind, reader, writer, path)

    def _every_branch(self, reader: Any, writer: Any, path: str) -> Iterator[Difference]:
        for index, branch in enumerate(writer.schemas):
            found = self.differences(reader, branch, path)
            if found and _kind(reader) == "union":
                yield Difference(
                    "MISSING_UNION_BRANCH",
                    f"{path}/{index}",
                    f"the union has no {_named(branch)}",
                )
            else:
                yield from found

    def _named_types(self, kind: str, reader: Any, writer: Any, path: str) -> Iterator[Difference]:
        if reader.name != writer.name and writer.fullname not in _aliases(reader):
            yield Difference("NAME_MISMATCH", f"{path}/name", f"expected: {writer.fullname}")
        match kind:
            case "fixed":
                if reader.size != writer.size:
                    found = f"expected: {writer.size}, found: {reader.size}"
                    yield Difference("FIXED_SIZE_MISMATCH", f"{path}/size", found)
            case "enum":
                missing = [each for each in writer.symbols if each not in reader.symbols]
                if missing and reader.props.get("default") not in reader.symbols:
                    found = f"[{', '.join(missing)}]"
                    yield Difference("MISSING_ENUM_SYMBOLS", f"{path}/symbols", found)
            case _:
                yield from self._fields(reader, writer, path)

    def _fields(self, reader: Any, writer: Any, path: str) -> Iterator[Difference]:
        written = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            where = f"{path}/fields/{index}"
            names = dict.fromkeys([field.name, *(field.props.get("aliases") or ())])
            sources = [written[name] for name in names if name in written]
            if len(sources) > 1:
                found = f"{field.name} is {', '.join(each.name for each in sources)} of the writer"
                yield Difference("READER_FIELD_AMBIGUOUS", where, found)
            elif sources:
                yield from self.differences(field.type, sources[0].type, f"{where}/type")
            elif not field.has_default:
                yield Difference("READER_FIELD_MISSING_DEFAULT_VALUE", where, field.name)


def _kind(schema: Any) -> str:
    kind = str(schema.type)
    return "record" if kind == "error" else "union" if kind == "error_union" else kind


def _named(schema: Any) -> str:
    return str(getattr(schema, "fullname", None) or schema.type)


def _aliases(schema: Any) -> list[str]:
    """In full: an alias without a namespace is in the type's own."""
    space = schema.fullname.rpartition(".")[0]
    return [
        alias if "." in alias or not space else f"{space}.{alias}"
        for alias in schema.props.get("aliases") or ()
    ]
