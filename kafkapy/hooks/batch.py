"""One produced batch through a hook.

    every record stays as it is     the same bytes
    some are others now             written anew, with the codec, producer, epoch, sequence and
                                    number of records it came with: none can be left out, or
                                    the sequence of an idempotent producer would have a gap
    one is refused                  RecordsRefused(INVALID_RECORD), as Kafka refuses a batch for
                                    some of its records
    the hook has no answer          RecordsRefused(POLICY_VIOLATION)

A generator that yields what it cost in microseconds: what the hook took by the node's clock, and
by count what is done around it. What is no batch, or a broken one, stays as it is: whoever appends
it says what is wrong (log/validation.py).
"""

from collections.abc import Generator, Sequence
from typing import Final

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.hooks.api import Place, Record, Refuse
from kafkapy.hooks.checked import LATEST_MS, checked
from kafkapy.hooks.guarded import Guarded, HookFailed, words_of
from kafkapy.log.append import RecordsRefused
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    crc_is_valid,
    pack_batch,
    payload,
    read_header,
)
from kafkapy.protocol.batches.records import encode_record, walk
from kafkapy.protocol.compression.codecs import Codec, compress_in_steps

# Walking a record and calling a hook that does nothing.
_RECORD_COST_US: Final = 2
# Of as many refused records as this the sentence is told; of all others that they are.
_MOST_SENTENCES: Final = 100
# Walking a header.
_HEADER_COST_US: Final = 1
_ENCODE_COST_US: Final = 3
_GIVE_WAY_US: Final = 250
_BYTES_A_US: Final = 200
_COMPRESSED_BYTES_A_US: Final = 30

Work = Generator[int, None, bytes]


def hooked(batch: bytes, hook: Guarded, place: Place) -> Work:
    """What is to be appended instead of `batch`."""
    try:
        header = read_header(batch)
        is_readable = header.size <= len(batch) and crc_is_valid(batch, 0, header)
        if not is_readable or header.is_control or header.codec not in Codec:
            return batch
    except Corrupt:
        return batch
    try:
        unpacked = payload(batch[: header.size], header)
        yield len(unpacked) // _BYTES_A_US
        changed = yield from _called(unpacked, header, hook, place)
    except Corrupt as corrupt:
        # Nobody but its own readers would suffer from it, but they would see what no hook saw.
        raise _refused(ErrorCode.INVALID_RECORD, str(corrupt), ()) from None
    if changed is None:
        return batch
    return (yield from _packed(header, changed)) + batch[header.size :]


def _called(
    unpacked: bytes, header: BatchHeader, hook: Guarded, place: Place
) -> Generator[int, None, list[Record] | None]:
    """The records as the hook gives them; None: as they were."""
    new: list[Record] = []
    refused: list[tuple[int, str]] = []
    is_changed = False
    cost, spent = 0, hook.spent_us
    records = walk(unpacked, header.record_count, 0, header.base_timestamp)
    for index, record in enumerate(records):
        try:
            given = hook(record, place)
            if given is not record:
                given = checked(given, record, hook)
                is_changed = True
            new.append(given)
        except Refuse as refusal:
            refused.append((index, words_of(refusal) if len(refused) < _MOST_SENTENCES else ""))
        except HookFailed as failed:
            raise _refused(
                ErrorCode.POLICY_VIOLATION, str(failed), ((index, str(failed)),)
            ) from None
        cost += _RECORD_COST_US + _HEADER_COST_US * len(record.headers) + hook.spent_us - spent
        spent = hook.spent_us
        if cost >= _GIVE_WAY_US:
            yield cost
            cost = 0
    yield cost
    if refused:
        sentence = f"hook {hook.name} refuses {len(refused)} records: {refused[0][1]}"
        raise _refused(ErrorCode.INVALID_RECORD, sentence, refused)
    return new if is_changed else None


def _refused(code: ErrorCode, sentence: str, errors: Sequence[tuple[int, str]]) -> RecordsRefused:
    return RecordsRefused(code, sentence, errors)


def _packed(header: BatchHeader, records: Sequence[Record]) -> Work:
    base_timestamp = records[0].timestamp
    newest = max(record.timestamp for record in records)
    if newest > LATEST_MS or min(record.timestamp for record in records) < -1:
        raise _refused(ErrorCode.INVALID_TIMESTAMP, "timestamps that are none", ())
    parts: list[bytes] = []
    cost = 0
    for delta, record in enumerate(records):
        since = record.timestamp - base_timestamp
        parts += encode_record(delta, since, record.key, record.value, record.headers)
        cost += _ENCODE_COST_US
        if cost >= _GIVE_WAY_US:
            yield cost
            cost = 0
    yield cost
    steps = compress_in_steps(header.codec, b"".join(parts))
    while True:
        try:
            yield next(steps) // _COMPRESSED_BYTES_A_US
        except StopIteration as done:
            packed: bytes = done.value
            break
    return pack_batch(
        packed,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=header.attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=newest,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=header.record_count,
    )
