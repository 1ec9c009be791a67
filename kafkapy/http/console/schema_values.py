"""Keys and values that serializers of a schema registry wrote, read by their schemas.

    00 | id, 4 bytes | data            the first byte and an id before the data
    header __value_schema_id           or there: 01 | guid, and for Protobuf which message

They are read by the registry's worker, all of one schema at a time, within bounds. What cannot be
read so is shown as any other bytes: anybody may write a zero first.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkapy.http.console.asked import Asked
from kafkapy.http.console.decoding import Shown, shown
from kafkapy.http.console.schemas import Schemas
from kafkapy.http.registry.entities import SchemaId, SchemaType, StoredSchema
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.registry.subjects import context_of
from kafkapy.protocol.batches.records import Record

_HEAD: Final = 5
_GUID_HEAD: Final = 17
_MOST_KEY: Final = 80
_MOST_VALUE: Final = 300
# One value, and all of one question: both are packed in one call.
_MOST_BYTES: Final = 256 * 1024
_MOST_ASKED: Final = 1024 * 1024
_NAMES: Final = {SchemaType.AVRO: "Avro", SchemaType.JSON: "JSON Schema"}

# Which record of those that are shown, and whether its key or its value.
Where = tuple[int, str]


class _Framed(NamedTuple):
    schema_id: int | bytes
    data: bytes


class SchemaValues:
    """Of one topic, for one request."""

    def __init__(self, asked: Asked, topic: str) -> None:
        self.topic = topic
        self._schemas = Schemas(asked)
        # None: there is no such schema, or it may not be seen.
        self._known: dict[tuple[int | bytes, str], StoredSchema | None] = {}

    async def shown(
        self,
        records: Sequence[Record],
        way: str,
        most: int = _MOST_VALUE,
        *,
        is_pretty: bool = False,
    ) -> list[tuple[Shown, Shown]]:
        """Key and value of each."""
        read: dict[Where, Shown] = {}
        if way in ("auto", "schema"):
            read = await self._read(records, most, is_pretty)
        plain = "auto" if way == "schema" else way
        of_key = most if is_pretty else _MOST_KEY
        return [
            (
                read.get((at, "key")) or shown(one.key, plain, of_key, is_pretty=is_pretty),
                read.get((at, "value")) or shown(one.value, plain, most, is_pretty=is_pretty),
            )
            for at, one in enumerate(records)
        ]

    async def _read(
        self, records: Sequence[Record], most: int, is_pretty: bool
    ) -> dict[Where, Shown]:
        by_schema: dict[tuple[str, int], tuple[StoredSchema, list[tuple[Where, _Framed, int]]]] = {}
        for at, one in enumerate(records):
            for part, data in (("key", one.key), ("value", one.value)):
                framed = None if data is None else _framed(one, part, data)
                if data is None or framed is None or len(data) > _MOST_BYTES:
                    continue
                stored = await self._schema(framed.schema_id, part)
                if stored is not None:
                    _, some = by_schema.setdefault(stored.key, (stored, []))
                    some.append(((at, part), framed, len(data)))
        found: dict[Where, Shown] = {}
        for stored, rows in by_schema.values():
            for some in _in_parts(rows):
                await self._ask(stored, some, most, is_pretty, found)
        return found

    async def _ask(
        self,
        stored: StoredSchema,
        rows: list[tuple[Where, _Framed, int]],
        most: int,
        is_pretty: bool,
        found: dict[Where, Shown],
    ) -> None:
        registry = self._schemas.registry
        values = [framed.data for _, framed, _ in rows]
        try:
            source = await registry.source(stored, visible=self._schemas.visible)
            # One more, to see that there is more.
            said = await registry.workers.readable(source, values, most + 1, is_pretty=is_pretty)
        except RegistryError:
            return
        kind = _NAMES.get(stored.schema.type, "Protobuf")
        by = stored.subject, int(stored.version), int(stored.id)
        for (where, _, size), text in zip(rows, said, strict=True):
            if text is not None:
                found[where] = Shown(kind, text[:most], size, len(text) > most, by)

    async def _schema(self, schema_id: int | bytes, part: str) -> StoredSchema | None:
        """By what is known here now: any bytes may look like an id, and are not asked about."""
        key = schema_id, part
        if key not in self._known:
            self._known[key] = await self._found(schema_id, f"{self.topic}-{part}")
        return self._known[key]

    async def _found(self, schema_id: int | bytes, subject: str) -> StoredSchema | None:
        state = self._schemas.registry.store.state
        if isinstance(schema_id, bytes):
            stored = next((one for _, one in state.by_guid(schema_id)), None)
        else:
            stored = state.by_id(SchemaId(schema_id), subject)
        if stored is None:
            return None
        # One schema may be there under several names: that of the topic says most.
        keys = state.keys_of(context_of(stored.subject), stored.id)
        seen = set(await self._schemas.visible({name for name, _ in keys}))
        wanted = sorted((key for key in keys if key[0] in seen), key=lambda one: one[0] != subject)
        return state.get(*wanted[0], deleted=True) if wanted else None


def _framed(record: Record, part: str, data: bytes) -> _Framed | None:
    name = f"__{part}_schema_id"
    for header, value in record.headers:
        if header == name and value is not None and len(value) >= _GUID_HEAD and value[0] == 1:
            return _Framed(value[1:_GUID_HEAD], value[_GUID_HEAD:] + data)
    if len(data) < _HEAD or data[0] != 0:
        return None
    return _Framed(int.from_bytes(data[1:_HEAD]), data[_HEAD:])


def _in_parts(
    rows: list[tuple[Where, _Framed, int]],
) -> list[list[tuple[Where, _Framed, int]]]:
    parts: list[list[tuple[Where, _Framed, int]]] = [[]]
    size = 0
    for row in rows:
        if parts[-1] and size + row[2] > _MOST_ASKED:
            parts.append([])
            size = 0
        parts[-1].append(row)
        size += row[2]
    return parts
