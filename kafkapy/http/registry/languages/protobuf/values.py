"""Values of a Protobuf schema, between its JSON mapping and its binary encoding.

The message is the first of its file unless another is named. Which one it is stands before the
data, as Confluent's serializers write it: how many numbers follow, then for each level of nesting
which message of that level; zigzag varints, and for the first message of the file a single zero.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, EncodeError

from kafkapy.http.registry.languages.protobuf import reading
from kafkapy.http.registry.languages.source import InvalidSchema, Source, Unfit

_MAX_LEVELS = 100


class Values:
    """Of one schema."""

    def __init__(self, source: Source) -> None:
        files = reading.read(source)
        self._pool = descriptor_pool.DescriptorPool()
        try:
            for file in files.by_name.values():
                self._pool.Add(file)
            self._file = self._pool.FindFileByName(files.main.name)
        except (TypeError, KeyError) as why:
            raise InvalidSchema(str(why)[:500]) from None
        by_name = self._file.message_types_by_name
        self._top = [by_name[each.name] for each in files.main.message_type]
        if not self._top:
            raise InvalidSchema("there is no message in it")

    def write(self, value: Any, message: str | None) -> bytes:
        found, path = self._named(message)
        if not isinstance(value, dict):
            raise Unfit("a message is an object")
        made = message_factory.GetMessageClass(found)()
        try:
            json_format.ParseDict(value, made, descriptor_pool=self._pool)
            return _packed(path) + made.SerializeToString()
        except (json_format.ParseError, EncodeError, TypeError, ValueError, AttributeError) as why:
            raise Unfit(str(why)[:500]) from None

    def read(self, data: bytes) -> Any:
        path, at = _unpacked(data)
        level, found = self._top, None
        for index in path:
            if not 0 <= index < len(level):
                raise Unfit(f"the schema has no message {path}")
            found = level[index]
            level = list(found.nested_types)
        assert found is not None
        made = message_factory.GetMessageClass(found)()
        try:
            made.ParseFromString(data[at:])
            return json_format.MessageToDict(
                made, preserving_proto_field_name=True, descriptor_pool=self._pool
            )
        except (DecodeError, json_format.SerializeToJsonError, TypeError, ValueError) as why:
            raise Unfit(str(why)[:500]) from None

    plain = read

    def _named(self, message: str | None) -> tuple[Descriptor, list[int]]:
        if message is None:
            return self._top[0], [0]
        try:
            found = self._pool.FindMessageTypeByName(message)
        except KeyError:
            found = None
        if found is None or found.file.name != self._file.name:
            raise Unfit(f"the schema has no message {message[:200]!r}")
        path: list[int] = []
        one: Any = found
        while one is not None:
            parent = one.containing_type
            siblings = self._top if parent is None else parent.nested_types
            path.insert(0, [each.full_name for each in siblings].index(one.full_name))
            one = parent
        return found, path


def _packed(path: list[int]) -> bytes:
    if path == [0]:
        return b"\0"
    return b"".join(_varint(each) for each in (len(path), *path))


def _unpacked(data: bytes) -> tuple[list[int], int]:
    count, at = _number(data, 0)
    if count == 0:
        return [0], at
    if not 0 < count <= _MAX_LEVELS:
        raise Unfit("no message of a Protobuf schema")
    path = []
    for _ in range(count):
        index, at = _number(data, at)
        path.append(index)
    return path, at


def _varint(number: int) -> bytes:
    rest, out = number << 1, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _number(data: bytes, at: int) -> tuple[int, int]:
    found, shift = 0, 0
    while at < len(data) and shift < 35:
        found |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return (found >> 1) ^ -(found & 1), at
    raise Unfit("it ends before it says which message it is")
