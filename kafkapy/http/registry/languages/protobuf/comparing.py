"""Can what was written with an older Protobuf schema be read with a newer one?

By Confluent's rules, which are the language guide's and stricter in places: messages do not
disappear, a field keeps its number's kind, fields that could be set together do not become
members of one oneof. Fields are told apart by number; names may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from kafkapy.http.registry.languages.protobuf.reading import MAIN, Files
from kafkapy.http.registry.languages.source import Difference

MAX_DIFFERENCES = 100

_F = FieldDescriptorProto
#: Types whose bytes another of the same group can read.
_GROUPS = {
    **dict.fromkeys(
        (_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL, _F.TYPE_ENUM),
        "general number",
    ),
    **dict.fromkeys((_F.TYPE_SINT32, _F.TYPE_SINT64), "signed number"),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_BYTES), "string or bytes"),
    **dict.fromkeys((_F.TYPE_FIXED32, _F.TYPE_SFIXED32), "fixed32"),
    **dict.fromkeys((_F.TYPE_FIXED64, _F.TYPE_SFIXED64), "fixed64"),
    _F.TYPE_FLOAT: "float",
    _F.TYPE_DOUBLE: "double",
}


class _Type:
    """A message or an enum, and where it is from."""

    def __init__(
        self, package: str, file: str, described: DescriptorProto | EnumDescriptorProto
    ) -> None:
        self.package = package
        self.file = file
        self.described = described


def differences(old: Files, new: Files) -> list[Difference]:
    """What the newer schema cannot read any more."""
    comparison = _Comparison(old, new)
    found: list[Difference] = []
    if old.main.package != new.main.package:
        what = f"{old.main.package} -> {new.main.package}"
        found.append(Difference("PACKAGE_CHANGED", "#/", what))
    found += comparison.messages(old.main.message_type, new.main.message_type, "")
    return found[:MAX_DIFFERENCES]


class _Comparison:
    def __init__(self, old: Files, new: Files) -> None:
        self._old, self._new = _types(old), _types(new)
        # Of the files whose messages are being compared.
        self._is_proto2 = _is_proto2(old, MAIN), _is_proto2(new, MAIN)
        self._files = old, new
        self._under_way: set[tuple[str, str]] = set()

    def messages(
        self, old: Iterable[DescriptorProto], new: Iterable[DescriptorProto], path: str
    ) -> Iterator[Difference]:
        before, after = _named(old), _named(new)
        for name, message in before.items():
            where = f"{path}/{name}"
            if name in after:
                yield from self._message(message, after[name], where)
            elif not message.options.map_entry:
                yield Difference("MESSAGE_REMOVED", f"#{where}", name)

    def _message(
        self, old: DescriptorProto, new: DescriptorProto, path: str
    ) -> Iterator[Difference]:
        before = {field.number: field for field in old.field}
        after = {field.number: field for field in new.field}
        homes = _oneofs(old), _oneofs(new)
        yield from _newly_exclusive(before, homes[0], homes[1], path)
        gone = _gone_altogether(homes[0], homes[1], after)
        for number in sorted({*before, *after}):
            if number not in after:
                yield from _removed(before[number], homes[0].get(number), gone, path)
            elif number not in before:
                if after[number].label == _F.LABEL_REQUIRED:
                    name = after[number].name
                    yield Difference("REQUIRED_FIELD_ADDED", f"#{path}/{number}", name)
            else:
                where = f"{path}/{number}"
                home = homes[1].get(number)
                where = f"{path}/{home}/{number}" if home else where
                yield from self._field(before[number], after[number], where)
        yield from self.messages(old.nested_type, new.nested_type, path)

    def _field(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str
    ) -> Iterator[Difference]:
        entries = _entry(self._old, old), _entry(self._new, new)
        kinds = _kind(old, entries[0]), _kind(new, entries[1])
        if kinds[0] != kinds[1]:
            yield Difference("FIELD_KIND_CHANGED", f"#{path}", f"{kinds[0]} -> {kinds[1]}")
        elif entries[0] is not None and entries[1] is not None:
            pairs = zip(_by_number(entries[0]), _by_number(entries[1]), strict=False)
            for before, after in pairs:
                yield from self._value(before, after, path, is_labelled=False)
        else:
            yield from self._value(old, new, path, is_labelled=True)

    def _value(
        self,
        old: FieldDescriptorProto,
        new: FieldDescriptorProto,
        path: str,
        *,
        is_labelled: bool,
    ) -> Iterator[Difference]:
        groups = _GROUPS.get(old.type), _GROUPS.get(new.type)
        if (groups[0] is None) != (groups[1] is None):
            yield Difference("FIELD_KIND_CHANGED", f"#{path}", old.name)
        elif groups[0] is None:
            yield from self._message_type(old, new, path)
        elif groups[0] != groups[1]:
            what = f"{groups[0]} -> {groups[1]}"
            yield Difference("FIELD_SCALAR_KIND_CHANGED", f"#{path}", what)
        elif is_labelled and groups[0] != "string or bytes":
            labels = _label(old, self._is_proto2[0]), _label(new, self._is_proto2[1])
            if None not in labels and labels[0] != labels[1]:
                yield Difference("FIELD_NUMERIC_LABEL_CHANGED", f"#{path}", old.name)

    def _message_type(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str
    ) -> Iterator[Difference]:
        """The same name in its package; and of imported ones, the same content."""
        before, after = self._old.get(old.type_name), self._new.get(new.type_name)
        names = _local(old.type_name, before), _local(new.type_name, after)
        if names[0] != names[1]:
            yield Difference("FIELD_NAMED_TYPE_CHANGED", f"#{path}", f"{names[0]} -> {names[1]}")
            return
        if before is None or after is None or (before.file == MAIN and after.file == MAIN):
            return
        pair = old.type_name, new.type_name
        if pair in self._under_way:
            return
        self._under_way.add(pair)
        assert isinstance(before.described, DescriptorProto)
        assert isinstance(after.described, DescriptorProto)
        outside = self._is_proto2
        old_files, new_files = self._files
        self._is_proto2 = _is_proto2(old_files, before.file), _is_proto2(new_files, after.file)
        found = list(self._message(before.described, after.described, path))
        self._is_proto2 = outside
        self._under_way.discard(pair)
        yield from found
        if found:
            yield Difference("FIELD_NAMED_TYPE_CHANGED", f"#{path}", names[0])


def _types(files: Files) -> dict[str, _Type]:
    found: dict[str, _Type] = {}
    for name, file in files.by_name.items():
        prefix = f".{file.package}" if file.package else ""
        _collect(found, prefix, file, name, file.package)
    return found


def _collect(
    found: dict[str, _Type],
    prefix: str,
    holder: FileDescriptorProto | DescriptorProto,
    file: str,
    package: str,
) -> None:
    inside = holder.message_type if isinstance(holder, FileDescriptorProto) else holder.nested_type
    for message in inside:
        found[f"{prefix}.{message.name}"] = _Type(package, file, message)
        _collect(found, f"{prefix}.{message.name}", message, file, package)
    for enum in holder.enum_type:
        found[f"{prefix}.{enum.name}"] = _Type(package, file, enum)


def _named(messages: Iterable[DescriptorProto]) -> dict[str, DescriptorProto]:
    return {message.name: message for message in messages}


def _oneofs(message: DescriptorProto) -> dict[int, str]:
    """By field number, the oneof it is in. An optional field of proto3 is in none."""
    return {
        field.number: message.oneof_decl[field.oneof_index].name
        for field in message.field
        if field.HasField("oneof_index") and not field.proto3_optional
    }


def _newly_exclusive(
    before: Mapping[int, FieldDescriptorProto],
    old: Mapping[int, str],
    new: Mapping[int, str],
    path: str,
) -> Iterator[Difference]:
    """Fields that could be set together are now members of one oneof."""
    for name in dict.fromkeys(new.values()):
        known = [number for number, home in new.items() if home == name and number in before]
        loose = [number for number in known if number not in old]
        origins = len({old[number] for number in known if number in old}) + len(loose)
        if origins > 1:
            several = len(loose) > 1
            kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF"
            yield Difference(kind, f"#{path}/{name}", name)


def _gone_altogether(
    old: Mapping[int, str], new: Mapping[int, str], after: Mapping[int, FieldDescriptorProto]
) -> set[str]:
    """Oneofs of which nothing is left: removing one whole is as good as removing a field."""
    left = {home for number, home in old.items() if number in after} | set(new.values())
    return {home for home in old.values() if home not in left}


def _removed(
    field: FieldDescriptorProto, home: str | None, gone: set[str], path: str
) -> Iterator[Difference]:
    if home is not None:
        if home not in gone:
            where = f"#{path}/{home}/{field.number}"
            yield Difference("ONEOF_FIELD_REMOVED", where, field.name)
    elif field.label == _F.LABEL_REQUIRED:
        yield Difference("REQUIRED_FIELD_REMOVED", f"#{path}/{field.number}", field.name)


def _entry(types: Mapping[str, _Type], field: FieldDescriptorProto) -> DescriptorProto | None:
    """The entry type of a map."""
    found = types.get(field.type_name)
    described = None if found is None else found.described
    if isinstance(described, DescriptorProto) and described.options.map_entry:
        return described
    return None


def _kind(field: FieldDescriptorProto, entry: DescriptorProto | None) -> str:
    if entry is not None:
        return "map"
    return "scalar" if field.type in _GROUPS else "message"


def _by_number(entry: DescriptorProto) -> list[FieldDescriptorProto]:
    return sorted(entry.field, key=lambda field: field.number)


def _label(field: FieldDescriptorProto, is_proto2: bool) -> int | None:
    """None where none is written: in proto3, and in a oneof."""
    if field.HasField("oneof_index") and not field.proto3_optional:
        return None
    if field.label == _F.LABEL_OPTIONAL and not (is_proto2 or field.proto3_optional):
        return None
    return int(field.label)


def _is_proto2(files: Files, name: str) -> bool:
    return files.by_name[name].syntax in ("", "proto2")


def _local(name: str, known: _Type | None) -> str:
    prefix = f".{known.package}." if known is not None and known.package else "."
    return name.removeprefix(prefix)
