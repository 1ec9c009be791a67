"""Messages that somebody wants written, read out of a request's JSON, and where each goes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from kafkapy.http.api.parameters import bounded
from kafkapy.http.problems import Problem
from kafkapy.http.rest.shapes import MOST_PARTITION, MOST_TIMESTAMP
from kafkapy.http.rest.values import headers_to_bytes, to_bytes
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.protocol.partitioner import partition_for_key

MOST_MESSAGES: Final = 10_000
FIELDS: Final = frozenset(
    ("key", "keyBase64", "value", "valueBase64", "headers", "partition", "timestamp")
)
NO_TIMESTAMP: Final = -1


class Draft(NamedTuple):
    """A message; the partition is None and the timestamp -1 where it says nothing of them."""

    record: NewRecord
    partition: int | None


def drafts(messages: Sequence[Any]) -> list[Draft]:
    """Problem for the first that is none."""
    found = []
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not message.keys() <= FIELDS:
            raise Problem(400, f"message {at}: an object of {', '.join(sorted(FIELDS))}")
        found.append(_draft(message))
    return found


class Partitioner:
    """One per site: messages without a key take turns over the partitions."""

    def __init__(self) -> None:
        self._turns = count()

    def places(self, wanted: Sequence[Draft], partitions: int) -> list[int]:
        """A key's hash chooses, as in Kafka's clients."""
        return list(self._places(wanted, partitions))

    def _places(self, wanted: Sequence[Draft], partitions: int) -> Iterator[int]:
        for record, asked in wanted:
            if asked is not None:
                yield bounded(asked, "partition", 0, partitions - 1)
            elif record.key is not None:
                yield partition_for_key(record.key, partitions)
            else:
                yield next(self._turns) % partitions


def batches(wanted: Sequence[Draft], places: Sequence[int], now: int) -> dict[int, list[NewRecord]]:
    """One batch a partition, in the order of the messages."""
    found: dict[int, list[NewRecord]] = {}
    for (record, _), place in zip(wanted, places, strict=True):
        if record.timestamp == NO_TIMESTAMP:
            record = NewRecord(record.key, record.value, now, record.headers)
        found.setdefault(place, []).append(record)
    return found


def timestamp_of(message: Mapping[str, Any]) -> int:
    said = message.get("timestamp")
    return NO_TIMESTAMP if said is None else bounded(said, "timestamp", 0, MOST_TIMESTAMP)


def _draft(message: Mapping[str, Any]) -> Draft:
    # Most messages say none: ten thousand of them may be in one request.
    partition = message.get("partition")
    if partition is not None:
        partition = bounded(partition, "partition", 0, MOST_PARTITION)
    record = NewRecord(
        to_bytes(message, "key", "keyBase64"),
        to_bytes(message, "value", "valueBase64"),
        timestamp_of(message),
        headers_to_bytes(message),
    )
    return Draft(record, partition)
