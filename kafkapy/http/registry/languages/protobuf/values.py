"""What a message says, by its descriptor; before it stands which message of the file it is.

indexes    their count, then each, all as zigzag varints: 1.0 is the first message in the
           second; a single zero is short for the first one
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kafkapy.http.registry.languages.protobuf.reading import MAIN, read
from kafkapy.http.registry.languages.source import Source, Unfit

MAX_DEPTH = 30


@lru_cache(maxsize=50)
def reader(source: Source) -> Callable[[bytes], Any]:
    pool = DescriptorPool()
    added: set[str] = set()
    files = read(source).by_name

    def add(name: str) -> None:
        """Each after those that it needs."""
        if name in added:
            return
        added.add(name)
        for each in files[name].dependency:
            add(each)
        pool.Add(files[name])

    add(MAIN)
    file = pool.FindFileByName(MAIN)
    top = [file.message_types_by_name[each.name] for each in files[MAIN].message_type]

    def said(value: bytes) -> Any:
        """Unfit for what is no such message."""
        indexes, at = _indexes(value)
        message = GetMessageClass(_chosen(top, indexes))()
        try:
            message.ParseFromString(value[at:])
            return MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=pool)
        except (DecodeError, TypeError, ValueError) as why:
            raise Unfit(str(why)) from None

    return said


def _chosen(top: list[Descriptor], indexes: list[int]) -> Descriptor:
    messages, found = top, None
    for index in indexes:
        if not 0 <= index < len(messages):
            raise Unfit("no such message in the file")
        found = messages[index]
        messages = list(found.nested_types)
    assert found is not None, "there is one index at least"
    return found


def _indexes(value: bytes) -> tuple[list[int], int]:
    count, at = _varint(value, 0)
    if count == 0:
        return [0], at
    if not 0 < count <= MAX_DEPTH:
        raise Unfit("no indexes of a message")
    found = []
    for _ in range(count):
        index, at = _varint(value, at)
        found.append(index)
    return found, at


def _varint(value: bytes, at: int) -> tuple[int, int]:
    raw = shift = 0
    while shift < 35:
        if at >= len(value):
            raise Unfit("it ends too early")
        byte = value[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
    raise Unfit("no index")
