"""Keys and values with a schema of the registry: JSON out here, its language in the topic.

    "valueSchema": 7                                     the schema with this id
    "valueSchema": "latest"                              the newest of {topic}-value
    "valueSchema": {"subject": "s", "version": 2}        either may be left out
    "valueSchema": {"schemaType": "AVRO", "schema": "…"}  registered there first, if it is new
    "valueSchema": {..., "message": "p.M"}               of a Protobuf schema, which message

A message says it, or the whole request beside `messages`; `keySchema` says the same of keys. Bytes
are those of Confluent's serializers: a zero, the id in four bytes, the data. `?as=schema` reads
them, and those with a guid in a header.
"""

import base64
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.problems import Problem
from kafkapy.http.registry.access import Access
from kafkapy.http.registry.entities import (
    HIGHEST,
    SchemaId,
    SchemaType,
    StoredSchema,
    schema_from_json,
)
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.registry.languages.source import Source, Unfit
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.workers import Workers
from kafkapy.http.rest.values import shown
from kafkapy.kraft.acls import Operation
from kafkapy.protocol.batches.records import Record

PARTS: Final = ("key", "value")
_FIELDS: Final = frozenset(f"{part}Schema" for part in PARTS)
BY_SCHEMA: Final = "schema"
LATEST: Final = "latest"
_CHOSEN_BY: Final[Mapping[str, tuple[type, ...]]] = {
    "id": (int,),
    "subject": (str,),
    "version": (int, str),
    "schemaType": (str,),
    "schema": (str,),
    "references": (list,),
    "message": (str,),
}
_ENCODINGS: Final = {
    SchemaType.AVRO: "avro",
    SchemaType.JSON: "json-schema",
    SchemaType.PROTOBUF: "protobuf",
}
_HEAD: Final = 5
_GUID_HEAD: Final = b"\1"
_GUID_SIZE: Final = 17
# Values of one question to the worker, and letters of them: what waits behind it waits not long.
_MOST_ASKED: Final = 200
_MOST_LETTERS: Final = 256 << 10

SchemaKey = int | bytes


class Chosen(NamedTuple):
    id: int
    source: Source
    message: str | None


class Encoded(NamedTuple):
    """`schema_ids`: by part, of each different choice, in the order in which they first came."""

    messages: list[Any]
    schema_ids: dict[str, tuple[int, ...]]


class _Framed(NamedTuple):
    """The data of one record's key or value, and what says its schema."""

    at: int
    part: str
    schema: SchemaKey
    data: bytes


class Schemas:
    """One per site, with a worker of its own: who registers schemas does not wait for values."""

    def __init__(self, registry: Registry) -> None:
        self.workers = Workers()
        self._registry = registry

    # --- written ---

    async def encoded(
        self,
        kafka: Kafka,
        topic: str,
        messages: Sequence[Any],
        defaults: Mapping[str, Any],
        kept: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Encoded:
        """The messages, with bytes where a schema says what to make of a key or a value. `kept`:
        what was chosen when the same was encoded before, for the same who was allowed to."""
        if defaults.keys().isdisjoint(_FIELDS) and not any(map(_says_schema, messages)):
            return Encoded(list(messages), {})
        ids: dict[str, tuple[int, ...]] = {}
        made = [dict(one) if isinstance(one, Mapping) else one for one in messages]
        for part in PARTS:
            field, wanted = f"{part}Schema", dict[str, tuple[Any, list[int]]]()
            _check_choice(field, defaults.get(field))
            for at, message in enumerate(made):
                if isinstance(message, dict):
                    said = _check_choice(field, message.pop(field, defaults.get(field)))
                    if said is not None and message.get(part) is not None:
                        same = json.dumps(said, sort_keys=True)
                        wanted.setdefault(same, (said, []))[1].append(at)
            before = () if kept is None else kept.get(part, ())
            for said, places in wanted.values():
                nth = len(ids.get(part, ()))
                again = before[nth] if nth < len(before) else None
                try:
                    chosen = await self._chosen(Access(kafka), topic, part, said, again)
                    await self._encode(chosen, part, places, made)
                except RegistryError as refused:
                    raise of_registry(refused) from None
                ids[part] = (*ids.get(part, ()), int(chosen.id))
        return Encoded(made, ids)

    async def _encode(self, chosen: Chosen, part: str, places: list[int], made: list[Any]) -> None:
        head = b"\0" + chosen.id.to_bytes(4)
        sized = ((at, len(json.dumps(made[at][part]))) for at in places)
        for some in _slices(sized):
            values = [made[at][part] for at in some]
            told = await self.workers.written(chosen.source, values, chosen.message)
            for at, data in zip(some, told, strict=True):
                if isinstance(data, Unfit):
                    raise Problem(422, f"message {at}: the {part} does not fit: {data}")
                made[at][part] = head + data

    async def _chosen(
        self, access: Access, topic: str, part: str, said: Any, again: int | None
    ) -> Chosen:
        if said == LATEST:
            said = {}
        elif isinstance(said, int) and not isinstance(said, bool):
            said = {"id": said}
        message, subject = said.get("message"), said.get("subject", f"{topic}-{part}")
        if again is not None:
            stored = await self._registry.by_id(SchemaId(again), None)
        else:
            stored = await self._stored(access, subject, said)
        # What does not fit would tell of what it refers to.
        source = await self._registry.source(stored, visible=access.visible)
        return Chosen(stored.id, source, message)

    async def _stored(self, access: Access, subject: str, said: Mapping[str, Any]) -> StoredSchema:
        registry = self._registry
        if "schema" in said:
            await access.require(Operation.WRITE, subject)
            asked = Registration(subject, schema_from_json(dict(said)))
            return await registry.register(asked, visible=access.visible)
        if "id" in said:
            schema_id = said["id"]
            if not 0 <= schema_id <= HIGHEST:
                raise Problem(404, f"Schema {schema_id} not found")
            stored = await registry.by_id(SchemaId(schema_id), None)
            await registry.require_readable(stored, access)
            return stored
        await access.require(Operation.DESCRIBE, subject)
        which = str(said.get("version", LATEST))
        return await registry.version(subject, which, visible=access.visible)

    # --- read ---

    async def shown(
        self, kafka: Kafka, records: Sequence[Record], reading: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Each record as a message is told. By a schema, if who asks may read that: anybody may
        write an id into a topic of his own."""
        if reading != BY_SCHEMA:
            for record in records:
                yield message_of(record, reading)
            return
        sized = (
            (at, len(one.key or b"") + len(one.value or b"")) for at, one in enumerate(records)
        )
        for some in _slices(sized):
            known = await self._read(Access(kafka), [(at, records[at]) for at in some])
            for at in some:
                yield message_of(records[at], reading) | known.get(at, {})

    async def _read(
        self, access: Access, records: Iterable[tuple[int, Record]]
    ) -> dict[int, dict[str, Any]]:
        """What schemas say of these, by their places."""
        by_schema: dict[SchemaKey, list[_Framed]] = {}
        for at, record in records:
            for part in PARTS:
                framed = _framed(at, part, record)
                if framed is not None:
                    by_schema.setdefault(framed.schema, []).append(framed)
        told: dict[int, dict[str, Any]] = {}
        for key, several in by_schema.items():
            try:
                stored = await self._by_key(key)
                await self._registry.require_readable(stored, access)
                source = await self._registry.source(stored, visible=access.visible)
                found = await self.workers.read(source, [one.data for one in several])
            except RegistryError as refused:
                # Those that only look like it are told as what they are.
                if isinstance(key, bytes) or refused.status != 404:
                    for one in several:
                        told.setdefault(one.at, {})[f"{one.part}Error"] = refused.message
                continue
            encoding = _ENCODINGS[stored.schema.type]
            for one, value in zip(several, found, strict=True):
                row = told.setdefault(one.at, {})
                if isinstance(value, Unfit):
                    row[f"{one.part}Error"] = str(value)
                    row[one.part] = base64.b64encode(one.data).decode()
                    row[f"{one.part}Encoding"] = "base64"
                else:
                    row[one.part], row[f"{one.part}Encoding"] = value, encoding
                row[f"{one.part}SchemaId"] = stored.id
        return told

    async def _by_key(self, key: SchemaKey) -> StoredSchema:
        if isinstance(key, bytes):
            return (await self._registry.by_guid(key, key.hex()))[0][1]
        return await self._registry.by_id(SchemaId(key), None)


def message_of(record: Record, reading: str) -> dict[str, Any]:
    headers = [{"name": name, **shown("value", value, reading)} for name, value in record.headers]
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        **shown("key", record.key, reading),
        **shown("value", record.value, reading),
        "headers": headers,
    }


def _says_schema(message: Any) -> bool:
    return isinstance(message, Mapping) and not _FIELDS.isdisjoint(message)


def of_registry(refused: RegistryError) -> Problem:
    return Problem(refused.status, refused.message, error_code=int(refused.code))


def _check_choice(field: str, said: Any) -> Any:
    """Whether a message needs it or not: what nobody could mean is no wish."""
    if said is None or said == LATEST or (isinstance(said, int) and not isinstance(said, bool)):
        return said
    if not isinstance(said, Mapping) or not said.keys() <= _CHOSEN_BY.keys():
        fields = ", ".join(sorted(_CHOSEN_BY))
        raise Problem(400, f"{field} is an id, latest, or an object of {fields}")
    for name, value in said.items():
        if not isinstance(value, _CHOSEN_BY[name]) or isinstance(value, bool):
            kinds = " or ".join(one.__name__ for one in _CHOSEN_BY[name])
            raise Problem(400, f"{field}: {name} is no {kinds}")
    if said.get("schemaType", SchemaType.AVRO) not in list(SchemaType):
        raise Problem(400, f"{field}: schemaType is one of {', '.join(SchemaType)}")
    if not all(isinstance(one, Mapping) for one in said.get("references", ())):
        raise Problem(400, f"{field}: references are objects")
    return said


def _framed(at: int, part: str, record: Record) -> _Framed | None:
    data = record.key if part == "key" else record.value
    if data is None:
        return None
    for name, value in record.headers:
        if name == f"__{part}_schema_id" and value is not None and len(value) == _GUID_SIZE:
            return _Framed(at, part, value[1:], data) if value[:1] == _GUID_HEAD else None
    if len(data) < _HEAD or data[0] != 0:
        return None
    schema_id = int.from_bytes(data[1:_HEAD])
    return _Framed(at, part, schema_id, data[_HEAD:]) if schema_id <= HIGHEST else None


def _slices(sized: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Places, so many together as one question may have."""
    found: list[list[int]] = []
    letters = _MOST_LETTERS
    for at, size in sized:
        letters += size
        if not found or letters >= _MOST_LETTERS or len(found[-1]) >= _MOST_ASKED:
            found.append([])
            letters = size
        found[-1].append(at)
    return found
