"""Everything that needs a schema to be understood: questions, asked of plain texts.

The answers depend on nothing but what is asked, so they can be given anywhere: by a worker
process, as the registry does (workers.py), or on the spot, as tests do. Each language's libraries
are imported when its first schema comes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import SchemaType
from kafkapy.http.registry.languages.source import Difference, InvalidSchema, Source, Unfit

_MOST_READ = 100
_LANGUAGES = {
    SchemaType.AVRO: "avro",
    SchemaType.JSON: "json_schema",
    SchemaType.PROTOBUF: "protobuf",
}


def canonical(source: Source, *, is_normalized: bool = False, is_strict: bool = False) -> str:
    """The text to store; InvalidSchema if it is none. Strict is what `validateFields` asks for."""
    if source.type is SchemaType.PROTOBUF:
        files = _room(source, "reading").read(source)
        text: str = _room(source, "writing").text_of(
            files.main, files.by_name, is_normalized=is_normalized
        )
        return text
    found = _room(source, "reading").read(source)
    if is_strict and source.type is SchemaType.JSON:
        _room(source, "nodes").check_names(found)
    writing = _room(source, "writing" if source.type is SchemaType.AVRO else "reading")
    shown: str = (writing.normalized if is_normalized else writing.canonical)(source.text)
    return shown


def fields(source: Source) -> list[str]:
    """Names at the top of a schema, as Confluent's registry counts them: those of a record, of an
    object, of all messages that are in no other. A oneof's members are not counted."""
    found = _room(source, "reading").read(source)
    match source.type:
        case SchemaType.AVRO:
            return [each.name for each in getattr(found, "fields", ())]
        case SchemaType.JSON:
            properties = found.root.get("properties") if isinstance(found.root, dict) else None
            return list(properties) if isinstance(properties, dict) else []
        case SchemaType.PROTOBUF:
            return [
                each.name
                for message in found.main.message_type
                for each in message.field
                if each.proto3_optional or not each.HasField("oneof_index")
            ]
    raise AssertionError(source.type)


def formatted(source: Source, form: str) -> str:
    """The text in another form. One that is not known, or not of this language, changes nothing."""
    if form == "serialized" and source.type is SchemaType.PROTOBUF:
        file = _room(source, "reading").read(source).main
        return base64.b64encode(file.SerializeToString()).decode()
    if form == "resolved" and source.type is SchemaType.AVRO and source.imports:
        resolved: str = _room(source, "resolving").resolved(source)
        return resolved
    return source.text


def readable(
    source: Source, values: Sequence[bytes], most: int, *, is_pretty: bool
) -> list[str | None]:
    """What values say that were written by the schema, as JSON for people, each in at most `most`
    characters; None for one that it does not fit. Without what serializers put before them, but
    for Protobuf's indexes of a message."""
    room = _values(source)
    found: list[str | None] = []
    for value in values:
        try:
            said = room.plain(value)
            text = json.dumps(
                said, ensure_ascii=False, indent=2 if is_pretty else None, default=_plain
            )
        except (Unfit, ValueError, RecursionError):
            found.append(None)
        else:
            found.append(text[:most])
    return found


def _plain(said: Any) -> str:
    return said.hex() if isinstance(said, bytes) else str(said)


@dataclass(frozen=True, slots=True)
class Rules:
    """How a newer schema is compared."""

    level: Level
    is_lenient: bool = False


def incompatibilities(new: Source, olds: Sequence[Source], rules: Rules) -> list[str]:
    """Sentences for what is wrong with the first of the older ones that it does not fit."""
    for old in olds:
        found: list[str] = []
        if rules.level.new_reads_old:
            found += [each.sentence("new", "old") for each in _differences(new, old, rules)]
        if rules.level.old_reads_new:
            found += [each.sentence("old", "new") for each in _differences(old, new, rules)]
        if found:
            return list(dict.fromkeys(found))
    return []


def _differences(reader: Source, writer: Source, rules: Rules) -> Sequence[Difference]:
    """What the reader cannot read of what the writer writes."""
    if reader.type != writer.type:
        what = f"{writer.type} -> {reader.type}"
        return [Difference("SCHEMA_TYPE_CHANGED", "/", what)]
    reading, comparing = _room(reader, "reading"), _room(reader, "comparing")
    found: Sequence[Difference]
    try:
        match reader.type:
            case SchemaType.AVRO:
                comparison = comparing.Comparison()
                found = comparison.differences(reading.read(reader), reading.read(writer))
            case SchemaType.JSON:
                nodes = _room(reader, "nodes").Nodes
                old, new = nodes(reading.read(writer)), nodes(reading.read(reader))
                found = comparing.differences(old.root(), new.root(), is_lenient=rules.is_lenient)
            case SchemaType.PROTOBUF:
                found = comparing.differences(reading.read(writer), reading.read(reader))
    except RecursionError:
        raise InvalidSchema("too deep to be compared") from None
    return found


def written(
    source: Source, values: Sequence[Any], message: str | None = None
) -> list[bytes | Unfit]:
    """Each value's bytes, or why it does not fit the schema."""
    room = _values(source)
    return [_or_why(partial(room.write, value, message)) for value in values]


def read(source: Source, datas: Sequence[bytes]) -> list[Any]:
    """Each value, or Unfit."""
    room = _values(source)
    return [_or_why(partial(room.read, data)) for data in datas]


def _or_why(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Unfit as why:
        return why
    except RecursionError:
        return Unfit("nested too deep")


@lru_cache(maxsize=_MOST_READ)
def _values(source: Source) -> Any:
    """Schemas that are asked about again and again are read once."""
    return _room(source, "values").Values(source)


def _room(source: Source, module: str) -> ModuleType:
    return import_module(f"{__package__}.languages.{_LANGUAGES[source.type]}.{module}")
