"""The .txnindex of a segment: transactions that were aborted by a marker in it.

    i16 version 0 | i64 producer id | i64 first offset | i64 last offset (the marker)
    | i64 last stable offset once this transaction was done

Entries ascend by last offset. A read_committed consumer gets those that overlap what it
fetched and drops their records itself. formats/log 9.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from struct import Struct
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes

_ENTRY: Final = Struct(">hqqqq")
_VERSION: Final = 0
ENTRY_SIZE: Final = _ENTRY.size
_last_offset: Final = attrgetter("last_offset")


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode_entry(entry: AbortedTransaction) -> bytes:
    return _ENTRY.pack(_VERSION, *entry)


def decode_entries(data: Bytes, base_offset: int) -> list[AbortedTransaction]:
    """All entries of a segment's index; Corrupt means: rebuild it from the segment."""
    if len(data) % ENTRY_SIZE:
        raise Corrupt(f"a transaction index of {len(data)} bytes")
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise Corrupt(f"a transaction index entry of version {version}")
        entry = AbortedTransaction(*fields)
        if entry.last_offset < base_offset:
            raise Corrupt(f"{entry} in the index of the segment at {base_offset}")
        entries.append(entry)
    return entries


def count_below(entries: Sequence[AbortedTransaction], offset: int) -> int:
    """How many entries stay when the log is truncated to `offset`."""
    for index, entry in enumerate(entries):
        if entry.last_offset >= offset:
            return index
    return len(entries)


def collect_aborted(
    segments: Iterable[Sequence[AbortedTransaction]], first_offset: int, upper: int
) -> list[AbortedTransaction]:
    """The transactions to report with a read of [first_offset, upper).

    `segments` are the entries of each segment from the one that holds `first_offset` on.
    Once an entry's last stable offset is not below `upper`, no later transaction can have
    begun below it.
    """
    found: list[AbortedTransaction] = []
    for entries in segments:
        begin = bisect_left(entries, first_offset, key=_last_offset)
        for entry in islice(entries, begin, None):
            if entry.first_offset < upper:
                found.append(entry)
            if entry.last_stable_offset >= upper:
                return found
    return found
