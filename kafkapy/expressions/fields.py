"""A record as an expression sees it. Texts and JSON are decoded when first asked for, and kept.

Bytes that are no UTF-8 become U+FFFD: a value of another kind is a text without use, not null,
which only a tombstone is. Of a header that is there twice the last counts, as in Kafka's clients.

What an evaluation looks at is counted (work.py says in what), and once it would be too much
there is no further look.
"""

from typing import Any, Final

from kafkapy.expressions import work
from kafkapy.expressions.values import Value, json_of
from kafkapy.protocol.batches.records import Record

_NOT_YET: Final[Any] = object()
# Bytes whose decoding costs nothing beside asking for them.
_SHORT: Final = 512


class Fields:
    """One for each record."""

    __slots__ = (
        "_by_name",
        "_decoded",
        "_headers",
        "_key",
        "_key_json",
        "_value",
        "_value_json",
        "_work_left",
        "partition",
        "record",
        "topic",
    )

    def __init__(self, record: Record, partition: int, topic: str) -> None:
        self.record = record
        self.partition = partition
        self.topic = topic
        self._by_name: dict[str, bytes | None] = _NOT_YET
        self._decoded: dict[str, str | None] = _NOT_YET
        self._headers: dict[str, str | None] = _NOT_YET
        self._key: str | None = _NOT_YET
        self._value: str | None = _NOT_YET
        self._key_json = self._value_json = _NOT_YET
        self._work_left = work.MOST

    def may(self, cost: int) -> bool:
        """Whether there may be an operation of this cost. Whoever is told no says null, and so
        does everybody after him."""
        left = self._work_left - cost
        if left < 0:
            self._work_left = min(self._work_left, 0)
            return False
        self._work_left = left
        return True

    def may_walk(self, value: Value, member_cost: int) -> bool:
        """Whether there may be an operation on all that is in an array or object."""
        members = work.members(value, max(self._work_left, 0) // member_cost)
        return self.may(members * member_cost)

    @property
    def work(self) -> int:
        """What was looked at."""
        return work.MOST - self._work_left

    def json(self, text: str) -> Value:
        return json_of(text) if self.may(work.of_json(text)) else None

    def key(self) -> str | None:
        if self._key is _NOT_YET:
            self._key = self._text(self.record.key)
        return self._key

    def value(self) -> str | None:
        if self._value is _NOT_YET:
            self._value = self._text(self.record.value)
        return self._value

    def key_json(self) -> Value:
        if self._key_json is _NOT_YET:
            text = self.key()
            self._key_json = None if text is None else self.json(text)
        return self._key_json

    def value_json(self) -> Value:
        if self._value_json is _NOT_YET:
            text = self.value()
            self._value_json = None if text is None else self.json(text)
        return self._value_json

    def headers(self) -> dict[str, str | None]:
        if self._headers is _NOT_YET:
            by_name = self._raw_headers() if self._by_name is _NOT_YET else self._by_name
            self._headers = {name: self.header(name) for name in by_name}
            self._work_left -= work.A_HEADER * len(self.record.headers)
        return self._headers

    def header(self, name: str) -> str | None:
        """Without decoding the others."""
        by_name = self._raw_headers() if self._by_name is _NOT_YET else self._by_name
        if name not in by_name:
            return None
        decoded = self._decoded
        if name not in decoded:
            decoded[name] = self._text(by_name[name])
        return decoded[name]

    def _raw_headers(self) -> dict[str, bytes | None]:
        headers = self.record.headers
        self._by_name, self._decoded = dict(headers), {}
        self._work_left -= work.A_HEADER * len(headers)
        return self._by_name

    def _text(self, data: bytes | None) -> str | None:
        """Never refused: it is once for each byte of the record, and null says something else."""
        if data is None:
            return None
        if len(data) > _SHORT:
            self._work_left -= work.of_decoding(data)
        return data.decode(errors="replace")
