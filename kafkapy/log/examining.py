"""A client's batch looked into in slices: one that unpacks to more than may hold the loop.

    batch ──> unpacked piece by piece ──> whole records ──> checked ──> the batch as it may be
              (protocol/compression/                    └─> packed      appended: EXAMINED
               unpacking.py)                                anew

The verdict is the same as `validation`'s, which does all of this in one step, and which has the
last word: what comes out is appended as `Origin.EXAMINED`. Memory is needed for a piece, for the
longest record, and for what may be the result: no more than max.message.bytes.

A generator that yields what it cost in microseconds, by count (core/jobs.py).
"""

from collections.abc import Generator
from typing import Final

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.limits import MAX_DECOMPRESSED_BATCH_BYTES
from kafkapy.core.time import Instant
from kafkapy.log.append import NO_TIMESTAMP, Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.validation import Check, append_time_of
from kafkapy.log.validation_records import MOST_ERRORS, Faults, misnumbered, refuse_records
from kafkapy.protocol.batches.batch import HEADER_SIZE, BatchHeader, read_header
from kafkapy.protocol.batches.records import (
    Record,
    encode_record,
    has_keyless,
    in_64_bits,
    read_varint,
    walk,
    write_varint,
)
from kafkapy.protocol.batches.windows import LARGE_BYTES, Large, More, Whole, windows
from kafkapy.protocol.compression.codecs import Codec
from kafkapy.protocol.compression.packing import Packing
from kafkapy.protocol.compression.unpacking import unpack

# Of each piece, and of its bytes: unpacked, and once more looked at.
_PIECE_COST_US: Final = 10
_UNPACKED_BYTES_A_US: Final = 60
# Of each record: found and looked at for its key only (two in a microsecond), walked and checked,
# written anew.
_KEYS_A_US: Final = 2
_WALK_COST_US: Final = 2
_REWRITE_COST_US: Final = 4
_COMPRESSED_BYTES_A_US: Final = 30
_GIVE_WAY_US: Final = 250
_TIMESTAMP_BYTES: Final = 10

Work = Generator[int, None, bytes]


def to_be_examined(batch: bytes, config: LogConfig, now: Instant) -> "Examining | None":
    """None: nobody has to look into it; it may be appended as it is. So may what is no batch, or
    a broken one: whoever appends it says what is wrong. Refused: it need not be looked into."""
    check = Check(config, Origin.EXAMINED, now, -1)
    view = memoryview(batch)
    try:
        header = read_header(view)
    except Corrupt:
        return None
    if header.size > len(view):
        return None
    codec = check.header(view[: header.size], header)
    asks = check.asks_about_records(view, header, codec)
    if asks or config.is_compacted or config.record_check is not None:
        return Examining(check, header, view, asks)
    return None


class Examining:
    """One batch, and perhaps something behind it. `asks`: about more than its keys."""

    def __init__(self, check: Check, header: BatchHeader, batch: memoryview, asks: bool) -> None:
        config = check.config
        self._check = check
        self._header = header
        self._batch = batch[: header.size]
        self._behind = batch[header.size :]
        self._asks = asks
        self._faults = Faults(header, config, check.now)
        self._count = 0
        self._max_timestamp = NO_TIMESTAMP
        self._first_timestamp = NO_TIMESTAMP
        self._misnumbered: Refused | None = None
        self._record_check = config.record_check
        self._record_errors: list[tuple[int, str]] = []
        codec = header.codec
        target = check.target_codec(header, codec)
        self._packing: Packing | None = None
        if target is not codec:
            most_bytes = config.max_message_bytes - HEADER_SIZE
            self._packing = Packing(target, check.level(target), most_bytes)

    def work(self) -> Work:
        """What is to be appended instead; Refused."""
        try:
            yield from self._look_through()
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error
        self._faults.refuse()
        return self._result()

    def _look_through(self) -> Generator[int, None, None]:
        header = self._header
        looks_at_keys_only = not self._asks and self._record_check is None
        # A schema may be asked for of what stands anywhere in a record.
        large_bytes = LARGE_BYTES if self._record_check is None else MAX_DECOMPRESSED_BATCH_BYTES
        pieces = unpack(header.codec, self._batch[HEADER_SIZE:])
        for window in windows(pieces, large_bytes=large_bytes):
            yield _PIECE_COST_US + len(window.data) // _UNPACKED_BYTES_A_US
            match window:
                case Whole(data, count):
                    if self._count + count > header.record_count:
                        raise Corrupt(f"more records than {header.record_count}")
                    if looks_at_keys_only and not has_keyless(data, count):
                        yield count // _KEYS_A_US
                        self._count += count
                    else:
                        yield from self._walk(data, count)
                case Large():
                    self._begin_large(window)
                case More(data):
                    if self._packing is not None and data:
                        self._packing.add(data)
                        yield len(data) // _COMPRESSED_BYTES_A_US
        if self._count != header.record_count:
            raise Corrupt(f"{self._count} records instead of {header.record_count}")

    def _walk(self, window: bytes, count: int) -> Generator[int, None, None]:
        header, packing = self._header, self._packing
        cost = 0 if packing is None else len(window) // _COMPRESSED_BYTES_A_US
        for record in walk(
            window, count, header.base_offset, header.base_timestamp, append_time_of(header)
        ):
            self._look_at(record)
            cost += _WALK_COST_US
            if packing is not None:
                self._rewrite(packing, record)
                cost += _REWRITE_COST_US
            self._count += 1
            if cost >= _GIVE_WAY_US:
                yield cost
                cost = 0
        yield cost

    def _look_at(self, record: Record) -> None:
        index = self._count
        self._faults.look_at(index, record)
        if record.timestamp > self._max_timestamp:
            self._max_timestamp = record.timestamp
        if record.offset != self._header.base_offset + index and self._misnumbered is None:
            self._misnumbered = misnumbered(record, self._header.base_offset + index)
        if self._record_check is not None and len(self._record_errors) < MOST_ERRORS:
            why = self._record_check(record)
            if why is not None:
                self._record_errors.append((index, why))

    def _begin_large(self, large: Large) -> None:
        """What is asked of a record is asked of its beginning. The rest is not kept, and is as
        it is: it is passed on, or passed over."""
        header, data = self._header, large.data
        delta, at = read_varint(data, 1, _TIMESTAMP_BYTES)
        offset_delta, at = read_varint(data, at)
        key_size, _ = read_varint(data, at)
        append_time = append_time_of(header)
        timestamp = append_time
        if timestamp is None:
            timestamp = in_64_bits(header.base_timestamp + delta)
        key = None if key_size < 0 else b""
        self._look_at(Record(header.base_offset + offset_delta, timestamp, key, b""))
        if self._packing is not None:
            head = self._head_of(timestamp)
            self._packing.add(write_varint(large.length - at + len(head)) + head)
            self._packing.add(data[at:])
        self._count += 1

    def _rewrite(self, packing: Packing, record: Record) -> None:
        _, timestamp, key, value, headers, _ = record
        since = timestamp - self._base_timestamp(timestamp)
        packing.add(b"".join(encode_record(self._count, since, key, value, headers)))

    def _head_of(self, timestamp: int) -> bytes:
        """The beginning of a record that is written anew: numbered anew, too."""
        since = timestamp - self._base_timestamp(timestamp)
        return b"\0" + write_varint(since) + write_varint(self._count)

    def _base_timestamp(self, timestamp: int) -> int:
        """Of what is written anew: the first record's."""
        if not self._count:
            self._first_timestamp = timestamp
        return self._first_timestamp

    def _result(self) -> bytes:
        check, header = self._check, self._header
        if self._packing is not None:
            body = self._packing.finish()
            if body is None:
                raise check.too_large(HEADER_SIZE + self._packing.size)
            _, head, rest = check.stamp_rewritten(
                body, header, 0, self._first_timestamp, self._max_timestamp
            )
        elif self._asks:
            if self._misnumbered is not None and header.codec is not Codec.NONE:
                raise self._misnumbered
            _, head, rest = check.stamp_walked(self._batch, header, 0, self._max_timestamp)
        else:
            head, rest = b"", self._batch
        refuse_records(self._record_errors)
        return b"".join((head, rest, self._behind))
