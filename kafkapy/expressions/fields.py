"""A record as an expression sees it. Texts and JSON are decoded when first asked for, and kept.

Bytes that are no UTF-8 become U+FFFD: a value of another kind is a text without use, not null,
which only a tombstone is. Of a header that is there twice the last counts, as in Kafka's clients.
"""

from typing import Any, Final

from kafkapy.expressions.values import Value, json_of
from kafkapy.protocol.records import Record

_NOT_YET: Final[Any] = object()
#: Characters that the operators and functions of one evaluation look at, all together. The
#: slowest take 30 ns for one (searching a text, reading JSON).
MOST_WORK: Final = 2**22
# Looking at a member of an array or object, which takes two characters at least.
_A_MEMBER: Final = 4


class Fields:
    """One for each record."""

    __slots__ = (
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
        self._headers: dict[str, str | None] = _NOT_YET
        self._key: str | None = _NOT_YET
        self._value: str | None = _NOT_YET
        self._key_json = self._value_json = _NOT_YET
        self._work_left = MOST_WORK

    def may_look_at(self, *values: Value) -> bool:
        """Whether there may be another operation, which looks at these. Whoever is told no says
        null: so the last one that may be is the only one that looks at more than is left."""
        work = self._work_left
        if work <= 0:
            return False
        for value in values:
            kind = type(value)
            if kind is str:
                work -= len(value)
            elif kind is list or kind is dict:
                work -= _A_MEMBER * self._most_members()
        self._work_left = work
        return True

    @property
    def work(self) -> int:
        """What was looked at."""
        return MOST_WORK - self._work_left

    def _most_members(self) -> int:
        """Of what was read as JSON: no array has more members than its text has characters."""
        record = self.record
        size = len(record.key or b"") + len(record.value or b"")
        return size + sum(len(value or b"") for _, value in record.headers)

    def key(self) -> str | None:
        if self._key is _NOT_YET:
            self._key = _text(self.record.key)
        return self._key

    def value(self) -> str | None:
        if self._value is _NOT_YET:
            self._value = _text(self.record.value)
        return self._value

    def key_json(self) -> Value:
        if self._key_json is _NOT_YET:
            text = self.key()
            self._key_json = None if text is None else json_of(text)
        return self._key_json

    def value_json(self) -> Value:
        if self._value_json is _NOT_YET:
            text = self.value()
            self._value_json = None if text is None else json_of(text)
        return self._value_json

    def headers(self) -> dict[str, str | None]:
        if self._headers is _NOT_YET:
            self._headers = {name: _text(value) for name, value in self.record.headers}
        return self._headers

    def header(self, name: str) -> str | None:
        """Without decoding the others."""
        for one, value in reversed(self.record.headers):
            if one == name:
                return _text(value)
        return None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
