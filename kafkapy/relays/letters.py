"""Dead letters: what one says of where it came from, and which of a topic's are over.

A topic is a log: nothing is taken out of its middle. That letters are over, a record behind them
in their partition says (header `kafkapy.letters.over`, as `3-7,9`), and what is over up to the
first that is not may be deleted.

Headers of kafkapy's retry topics, share groups (KIP-1191), Kafka Connect and Spring are understood.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.batches.records import Headers, NewRecord, Record
from kafkapy.protocol.partitioner import partition_for_key

OVER: Final = "kafkapy.letters.over"
UNKNOWN: Final = "unknown"
# Of an offset at most; Python takes no number of thousands.
_DIGITS: Final = 19
# What DeleteRecords may answer: the topic is to keep everything, or this user may only write. What
# was said is enough then.
NOT_FORGOTTEN: Final = (ErrorCode.POLICY_VIOLATION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


class _Names(NamedTuple):
    """Headers of one convention; `own`: what all of its headers begin with."""

    topic: str
    partition: str
    offset: str
    reasons: tuple[str, ...]
    own: str


_CONVENTIONS: Final = (
    _Names(
        "kafkapy.origin.topic",
        "kafkapy.origin.partition",
        "kafkapy.origin.offset",
        ("kafkapy.error",),
        "kafkapy.",
    ),
    _Names(
        "__dlq.errors.topic",
        "__dlq.errors.partition",
        "__dlq.errors.offset",
        ("__dlq.errors.message",),
        "__dlq.errors.",
    ),
    _Names(
        "__connect.errors.topic",
        "__connect.errors.partition",
        "__connect.errors.offset",
        ("__connect.errors.exception.class.name", "__connect.errors.exception.message"),
        "__connect.errors.",
    ),
    _Names(
        "kafka_dlt-original-topic",
        "kafka_dlt-original-partition",
        "kafka_dlt-original-offset",
        ("kafka_dlt-exception-fqcn", "kafka_dlt-exception-message"),
        "kafka_dlt-",
    ),
)


class Letter(NamedTuple):
    """`origin`: topic, partition, offset, as far as it says; -1 for a number that it does not."""

    partition: int
    record: Record
    origin: tuple[str | None, int, int]
    reason: str
    own: str

    @property
    def is_elsewhere(self) -> bool:
        """Its content: share groups copy what a letter says only if they are told to."""
        topic, _, offset = self.origin
        record = self.record
        return record.key is None and record.value is None and topic is not None and offset >= 0

    def is_wanted(self, reason: str | None, origin: str | None) -> bool:
        return (reason is None or reason in self.reason) and origin in (None, self.origin[0])

    @property
    def is_marked(self) -> bool:
        """Whether it says at all that it is a dead letter: any topic may be named by mistake."""
        return self.origin[0] is not None or self.reason != UNKNOWN

    def may_be_dropped(self, reason: str | None) -> bool:
        return self.is_marked or reason is not None

    def anew(self, content: Record, timestamp: int) -> NewRecord:
        """As it was when it came for the first time."""
        kept: Headers = tuple(one for one in content.headers if not one[0].startswith(self.own))
        return NewRecord(content.key, content.value, timestamp, kept)

    def index_in(self, topic: str, indexes: Sequence[int]) -> int:
        """The partition that it came from, or else its key's."""
        origin, partition, _ = self.origin
        if origin == topic and partition in indexes:
            return partition
        key = self.record.key
        if key is not None:
            return indexes[partition_for_key(key, len(indexes))]
        return indexes[self.record.offset % len(indexes)]


def letter_of(index: int, record: Record) -> Letter:
    headers = dict(record.headers)
    for names in _CONVENTIONS:
        if names.topic in headers:
            reasons = [_text(headers.get(one)) or "" for one in names.reasons]
            origin = (
                _text(headers[names.topic]),
                _number(headers.get(names.partition)),
                _number(headers.get(names.offset)),
            )
            told = ": ".join(one for one in reasons if one)
            return Letter(index, record, origin, told or UNKNOWN, names.own)
    reason = _text(headers.get("kafkapy.error"))
    return Letter(index, record, (None, -1, -1), reason or UNKNOWN, "kafkapy.")


def are_over(offsets: Iterable[int], now: int) -> NewRecord:
    """The word that says so."""
    return NewRecord(None, None, now, ((OVER, _spans(offsets).encode()),))


class Over:
    """What of one partition is over, by what its words say: spans, in order, that do not touch."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def hear(self, record: Record) -> None:
        """A word says what is over, and is over itself."""
        for name, value in record.headers:
            if name == OVER:
                self._add(record.offset, record.offset)
                for first, last in _read(value):
                    # Before the word: so a strange one is no more than its offset.
                    self._add(first, min(last, record.offset))

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset <= self._lasts[at]

    def _add(self, first: int, last: int) -> None:
        if first > last:
            return
        at, end = bisect_left(self._lasts, first - 1), bisect_right(self._firsts, last + 1)
        if at < end:
            first, last = min(first, self._firsts[at]), max(last, self._lasts[end - 1])
        self._firsts[at:end], self._lasts[at:end] = [first], [last]


def _read(value: bytes | None) -> Iterator[tuple[int, int]]:
    for span in (value or b"").split(b","):
        first, _, last = span.partition(b"-")
        if len(span) <= 2 * _DIGITS and first.isdigit() and (not last or last.isdigit()):
            yield int(first), int(last or first)


def _spans(offsets: Iterable[int]) -> str:
    spans: list[list[int]] = []
    for offset in sorted(offsets):
        if spans and spans[-1][1] == offset - 1:
            spans[-1][1] = offset
        else:
            spans.append([offset, offset])
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in spans)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _number(value: bytes | None) -> int:
    """As text, or (Spring's) as four or eight bytes."""
    if value is None:
        return -1
    if value.isdigit() and len(value) <= _DIGITS:
        return int(value)
    return int.from_bytes(value, "big", signed=True) if len(value) in (4, 8) else -1
