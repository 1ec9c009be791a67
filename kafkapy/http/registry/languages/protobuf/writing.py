"""Protobuf descriptors as text: how the registry stores and shows them.

The order within a message is reserved, options, fields, oneofs, extensions, nested types: that of
Confluent's registry. Types are named in full, with a dot before them. Normalized: fields, values
and imports in the order of their numbers and names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import DecodeError

from kafkapy.http.registry.languages.source import InvalidSchema

Lines = Iterator[str]
_MAX_NUMBER = 536870911
_SCALARS = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}


def text_of(
    file: FileDescriptorProto,
    others: Mapping[str, FileDescriptorProto],
    *,
    is_normalized: bool = False,
) -> str:
    """The text of a file; `others` are those it imports, which may define its options."""
    return "\n".join(_Writer(file, others, is_normalized).lines()) + "\n"


class _Writer:
    def __init__(
        self,
        file: FileDescriptorProto,
        others: Mapping[str, FileDescriptorProto],
        is_normalized: bool,
    ) -> None:
        self._file = file
        self._is_normalized = is_normalized
        self._is_proto2 = file.syntax in ("", "proto2")
        self._pool = _pool(file, others)

    def lines(self) -> Lines:
        file = self._file
        if file.syntax == "editions":
            name = descriptor_pb2.Edition.Name(file.edition).removeprefix("EDITION_")
            yield f'edition = "{name}";'
        elif not (self._is_proto2 and self._is_normalized):
            yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield from _after_a_gap(self._imports())
        yield from _after_a_gap(self._options(file.options))
        yield from _after_a_gap(self._types(file.message_type, file.enum_type))
        yield from _after_a_gap(self._extensions(file.extension))
        yield from _after_a_gap(line for service in file.service for line in self._service(service))

    def _imports(self) -> Lines:
        """Plain ones first."""
        public = set(self._file.public_dependency)
        names = [(index in public, name) for index, name in enumerate(self._file.dependency)]
        for is_public, name in (
            sorted(names) if self._is_normalized else sorted(names, key=lambda each: each[0])
        ):
            yield f'import {"public " if is_public else ""}"{name}";'

    def _types(
        self, messages: Iterable[DescriptorProto], enums: Iterable[EnumDescriptorProto]
    ) -> Lines:
        for message in messages:
            if not message.options.map_entry:
                yield from self._block(f"message {message.name}", self._message(message))
        for enum in enums:
            yield from self._block(f"enum {enum.name}", self._enum(enum))

    def _message(self, message: DescriptorProto) -> Lines:
        entries = {each.name: each for each in message.nested_type if each.options.map_entry}
        groups = {
            field.type_name.rpartition(".")[2]
            for field in (*message.field, *message.extension)
            if field.type == FieldDescriptorProto.TYPE_GROUP
        }
        ranges = [(each.start, each.end - 1) for each in message.reserved_range]
        yield from self._reserved(ranges, message.reserved_name, _MAX_NUMBER)
        yield from self._options(message.options)
        fields = sorted(message.field, key=lambda each: each.number)
        fields = fields if self._is_normalized else list(message.field)
        for field in fields:
            if not field.HasField("oneof_index") or field.proto3_optional:
                yield from self._field(field, message, entries)
        oneofs = [
            [f for f in fields if f.HasField("oneof_index") and f.oneof_index == index]
            for index in range(len(message.oneof_decl))
        ]
        places = [i for i, members in enumerate(oneofs) if members]
        if self._is_normalized:
            places.sort(key=lambda index: oneofs[index][0].number)
        for index in places:
            if oneofs[index][0].proto3_optional:
                continue
            inside = [*self._options(message.oneof_decl[index].options)]
            for field in oneofs[index]:
                inside += self._field(field, message, entries, is_in_oneof=True)
            yield from self._block(f"oneof {message.oneof_decl[index].name}", inside)
        for each in message.extension_range:
            yield f"extensions {_range(each.start, each.end - 1, _MAX_NUMBER)};"
        yield from self._extensions(message.extension)
        nested = [each for each in message.nested_type if each.name not in groups]
        yield from self._types(nested, message.enum_type)

    def _reserved(self, ranges: list[tuple[int, int]], names: Iterable[str], highest: int) -> Lines:
        for start, end in sorted(ranges) if self._is_normalized else ranges:
            yield f"reserved {_range(start, end, highest)};"
        quote = "" if self._file.syntax == "editions" else '"'
        for name in sorted(names) if self._is_normalized else names:
            yield f"reserved {quote}{name}{quote};"

    def _field(
        self,
        field: FieldDescriptorProto,
        parent: DescriptorProto | None,
        entries: Mapping[str, DescriptorProto],
        *,
        is_in_oneof: bool = False,
    ) -> Lines:
        entry = entries.get(field.type_name.rpartition(".")[2]) if field.type_name else None
        if entry is not None and field.type == FieldDescriptorProto.TYPE_MESSAGE:
            key, value = (self._type(each) for each in sorted(entry.field, key=_number))
            head = f"map<{key}, {value}> {field.name}"
        else:
            head = f"{self._label(field, is_in_oneof)}{self._type(field)} {field.name}"
        if field.type == FieldDescriptorProto.TYPE_GROUP and parent is not None:
            name = field.type_name.rpartition(".")[2]
            group = next(each for each in parent.nested_type if each.name == name)
            head = f"{self._label(field, is_in_oneof)}group {name} = {field.number}"
            yield from self._block(head, self._message(group))
            return
        options = [*self._pseudo_options(field), *self._pairs(field.options)]
        yield f"{head} = {field.number}{_bracketed(options)};"

    def _label(self, field: FieldDescriptorProto, is_in_oneof: bool) -> str:
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        is_said = field.proto3_optional or (self._is_proto2 and not is_in_oneof)
        return "optional " if is_said else ""

    def _type(self, field: FieldDescriptorProto) -> str:
        return field.type_name or _SCALARS[field.type]

    def _pseudo_options(self, field: FieldDescriptorProto) -> Iterator[tuple[str, str]]:
        if field.HasField("default_value"):
            yield "default", _default(field)
        if field.HasField("json_name") and field.json_name != _json_name(field.name):
            yield "json_name", _quoted(field.json_name)

    def _enum(self, enum: EnumDescriptorProto) -> Lines:
        ranges = [(each.start, each.end) for each in enum.reserved_range]
        yield from self._reserved(ranges, enum.reserved_name, 2**31 - 1)
        yield from self._options(enum.options)
        values = list(enum.value)
        if self._is_normalized:
            values.sort(key=lambda each: (each.number, each.name))
        for value in values:
            yield f"{value.name} = {value.number}{_bracketed([*self._pairs(value.options)])};"

    def _extensions(self, extensions: Iterable[FieldDescriptorProto]) -> Lines:
        for field in extensions:
            if field.type == FieldDescriptorProto.TYPE_GROUP:
                # Its type stands beside it, as if it were a message of its own.
                raise InvalidSchema(f"extension {field.name} is a group: not supported")
            yield from self._block(f"extend {field.extendee}", self._field(field, None, {}))

    def _service(self, service: ServiceDescriptorProto) -> Lines:
        inside = [*self._options(service.options)]
        for method in service.method:
            asked = f"{'stream ' if method.client_streaming else ''}{method.input_type}"
            given = f"{'stream ' if method.server_streaming else ''}{method.output_type}"
            head = f"rpc {method.name} ({asked}) returns ({given})"
            options = [*self._options(method.options)]
            inside += self._block(head, options) if options else [f"{head};"]
        yield from self._block(f"service {service.name}", inside)

    def _options(self, options: Any) -> Lines:
        for name, value in self._pairs(options):
            yield f"option {name} = {value};"

    def _pairs(self, options: Any) -> Iterator[tuple[str, str]]:
        """Options, with those that other files define: a plain descriptor keeps them as bytes."""
        if not options.ByteSize():
            return
        known = self._known(options)
        pairs = []
        for field, value in known.ListFields():
            if field.name == "map_entry" and not field.is_extension:
                continue
            name = f"({field.full_name})" if field.is_extension else field.name
            values = value if _is_repeated(field) else [value]
            pairs += [(name, _option_value(field, each)) for each in values]
        yield from sorted(pairs) if self._is_normalized else pairs

    def _known(self, options: Any) -> Any:
        """The same message by a pool that knows the extensions."""
        if self._pool is None:
            return options
        described = self._pool.FindMessageTypeByName(options.DESCRIPTOR.full_name)
        known = message_factory.GetMessageClass(described)()
        try:
            known.ParseFromString(options.SerializeToString())
        except DecodeError:
            return options
        return known

    def _block(self, head: str, inside: Iterable[str]) -> Lines:
        yield f"{head} {{"
        for line in inside:
            yield f"  {line}"
        yield "}"


def _pool(
    file: FileDescriptorProto, others: Mapping[str, FileDescriptorProto]
) -> descriptor_pool.DescriptorPool | None:
    """None where nobody defines options."""
    if not any(each.extension for each in (file, *others.values())):
        return None
    pool = descriptor_pool.DescriptorPool()
    wanted = {**others, file.name: file}
    wanted.setdefault("google/protobuf/descriptor.proto", _descriptor_file())
    added: set[str] = set()

    def add(name: str) -> None:
        if name in added or name not in wanted:
            return
        added.add(name)
        for dependency in wanted[name].dependency:
            add(dependency)
        pool.Add(wanted[name])

    add("google/protobuf/descriptor.proto")
    for name in wanted:
        add(name)
    return pool


def _descriptor_file() -> FileDescriptorProto:
    file = FileDescriptorProto()
    descriptor_pb2.DESCRIPTOR.CopyToProto(file)
    return file


def _after_a_gap(lines: Iterable[str]) -> Lines:
    for index, line in enumerate(lines):
        if index == 0:
            yield ""
        yield line


def _number(field: FieldDescriptorProto) -> int:
    return field.number


def _range(start: int, end: int, highest: int) -> str:
    if start == end:
        return str(start)
    return f"{start} to {'max' if end >= highest else end}"


def _bracketed(options: list[tuple[str, str]]) -> str:
    if not options:
        return ""
    return f" [{', '.join(f'{name} = {value}' for name, value in options)}]"


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def _option_value(field: Any, value: Any) -> str:
    if field.message_type is not None:
        text = text_format.MessageToString(value, as_one_line=True)
        return f"{{ {text} }}" if text else "{}"
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else str(known.name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes)):
        return _quoted(value)
    return repr(value)


def _quoted(value: str | bytes) -> str:
    if isinstance(value, bytes):
        return '"' + "".join(_byte(each) for each in value) + '"'
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _byte(value: int) -> str:
    character = chr(value)
    if character in '"\\':
        return "\\" + character
    return character if 0x20 <= value < 0x7F else f"\\{value:03o}"


def _default(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return _quoted(field.default_value)
    if field.type == FieldDescriptorProto.TYPE_BYTES:
        # Escaped already, by protoc.
        return f'"{field.default_value}"'
    return field.default_value


def _json_name(name: str) -> str:
    """What protoc makes of a name that says nothing else."""
    made, is_next_upper = "", False
    for character in name:
        if character == "_":
            is_next_upper = True
        else:
            made += character.upper() if is_next_upper else character
            is_next_upper = False
    return made
