"""Topics that take only records whose schema is registered (Confluent's schema validation).

    confluent.value.schema.validation=true      and the same of keys
    confluent.value.subject.name.strategy       under which subject it must be registered

Ids are where serializers put them: 0x00 and four bytes before the data, or 0x01 and a guid in the
header `__value_schema_id`. What is registered, the registry beside this node knows (kafkapy/http).
It follows its topic, so it may not have heard of an id yet: then the batch is refused with what
every producer sends again (NOT_ENOUGH_REPLICAS: nothing was written), the registry reads on, and
the next time it is known. Only the record that was sent again is refused for good: what was read
after it had come first cannot be too old for it, though it may be for another with the same id. A
node without a registry refuses: what nobody looks at is no promise.

Only the slow path of validation comes here: other topics pay nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from kafkapy.broker.config.table.keys.schemas import RECORD_NAME, TOPIC_NAME, SchemaKeys
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.log.config import RecordCheck
from kafkapy.protocol.batches.records import Record

SCHEMA_KEYS: Final = frozenset(SchemaKeys.table)
_SETTINGS: Final = (
    ("key", "confluent.key.schema.validation", "confluent.key.subject.name.strategy"),
    ("value", "confluent.value.schema.validation", "confluent.value.subject.name.strategy"),
)
_MAGIC: Final = b"\0"
_ID_SIZE: Final = 4
_GUID_MAGIC: Final = 1
_GUID_SIZE: Final = 16
#: Records whose ids were not known; more than that, and all are asked about anew.
_MOST_ASKED: Final = 10_000

# An id, or a guid.
SchemaId = int | bytes
# A topic's keys or values, an id, and which record has it: the same if it is sent again.
Asked = tuple[str, SchemaId, int]


class SchemaAuthority(Protocol):
    """Who knows what is registered. Called on the node's loop."""

    def subjects_of(self, schema_id: SchemaId) -> frozenset[str] | None:
        """The subjects that have it, as far as is known; None if there is no such id."""

    def catch_up(self, then: Callable[[bool], None]) -> None:
        """Read everything that is there now; `then` is told whether that was possible."""


class SchemaIds:
    """One per broker: its topics' questions, and what was answered."""

    def __init__(self) -> None:
        self.authority: SchemaAuthority | None = None
        # True: nobody knows it, and everything has been read. False: it is being read.
        self._asked: dict[Asked, bool] = {}

    def check_of(self, topic: str, setting: Callable[[str], Any]) -> RecordCheck | None:
        """By the topic's settings; None if it asks for nothing."""
        strategies = {
            kind: str(setting(strategy))
            for kind, validation, strategy in _SETTINGS
            if setting(validation)
        }
        return partial(self._check, topic, strategies) if strategies else None

    def _check(self, topic: str, strategies: dict[str, str], record: Record) -> str | None:
        for kind, strategy in strategies.items():
            data = record.key if kind == "key" else record.value
            # Nothing has no schema: a tombstone, a record without a key.
            if data is None:
                continue
            schema_id = _id_of(record, kind, data)
            if schema_id is None:
                return f"the {kind} has no schema id"
            which = hash((record.timestamp, record.key, record.value))
            asked = (f"{topic} {kind}", schema_id, which)
            if not self._is_registered(topic, kind, strategy, asked):
                shown = schema_id.hex() if isinstance(schema_id, bytes) else schema_id
                return f"schema {shown} of the {kind} is not registered for topic {topic}"
        return None

    def _is_registered(self, topic: str, kind: str, strategy: str, asked: Asked) -> bool:
        authority = self.authority
        if authority is None:
            raise Refused(ErrorCode.INVALID_RECORD, "no schema registry runs on this node")
        subjects = authority.subjects_of(asked[1])
        if subjects is not None and _fits(subjects, topic, kind, strategy):
            return True
        if self._asked.get(asked):
            del self._asked[asked]
            return False
        if asked not in self._asked:
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            self._asked[asked] = False
            authority.catch_up(partial(self._caught_up, asked))
        raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the schema registry is read first")

    def _caught_up(self, asked: Asked, has_read: bool) -> None:
        if not has_read:
            self._asked.pop(asked, None)
        elif asked in self._asked:
            self._asked[asked] = True


def _id_of(record: Record, kind: str, data: bytes) -> SchemaId | None:
    name = f"__{kind}_schema_id"
    for header, value in record.headers:
        if header == name and value is not None:
            if len(value) != 1 + _GUID_SIZE or value[0] != _GUID_MAGIC:
                return None
            return bytes(value[1:])
    if len(data) < 1 + _ID_SIZE or data[:1] != _MAGIC:
        return None
    return int.from_bytes(data[1 : 1 + _ID_SIZE], "big", signed=True)


def _fits(subjects: frozenset[str], topic: str, kind: str, strategy: str) -> bool:
    """Under the topic's subject; or under any (by the record's name), or any of the topic's."""
    if strategy == TOPIC_NAME:
        return f"{topic}-{kind}" in subjects
    if strategy == RECORD_NAME:
        return bool(subjects)
    return any(subject.startswith(f"{topic}-") for subject in subjects)
