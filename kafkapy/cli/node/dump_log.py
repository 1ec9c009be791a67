"""`kafkapy dump-log`: what is in Kafka's files, ours or Apache Kafka's.

.log, .checkpoint   batches and records; metadata and coordinator records decoded
.index, .timeindex  entries
.txnindex           aborted transactions
.snapshot           producer states
"""

import argparse
import dataclasses
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final
from uuid import UUID

from kafkapy.cli.arguments import file_name
from kafkapy.cli.main import Failed
from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    Codec,
    Record,
    batches,
    crc_is_valid,
    records,
)
from kafkapy.protocol.batches.control_records import control_type

Decode = Callable[[Record], Any]
_INDEX: Final = struct.Struct(">ii")
_TIME_INDEX: Final = struct.Struct(">qi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=file_name, metavar="FILE")
    parser.add_argument("--records", action="store_true", help="the records too, not only batches")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    for path in options.files:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as failed:
            raise Failed(f"{path}: {failed.strerror}") from None
        if len(options.files) > 1 and not options.json:
            print(f"== {path}")
        for row in _rows(path, data, with_records=options.records):
            print(json.dumps(_plain(row)) if options.json else _line(row))
    return 0


def _rows(path: str, data: bytes, *, with_records: bool) -> Iterator[dict[str, Any]]:
    base = os.path.basename(path)
    if base.endswith((".log", ".checkpoint")):
        return _log_rows(path, data, with_records)
    if base.endswith(".index"):
        return _index_rows(data, _first_offset(path))
    if base.endswith(".timeindex"):
        return _time_index_rows(data, _first_offset(path))
    if base.endswith(".txnindex"):
        return _transaction_rows(data)
    if base.endswith(".snapshot"):
        return _snapshot_rows(path, data)
    raise Failed(
        f"{path}: expected a .log, .checkpoint, .index, .timeindex, .txnindex or .snapshot file"
    )


def _log_rows(path: str, data: bytes, with_records: bool) -> Iterator[dict[str, Any]]:
    decode = _decoder(path)
    view = memoryview(data)
    end = 0
    try:
        for at, header in batches(view):
            row = _batch_row(at, header, is_valid=crc_is_valid(view, at, header))
            end = at + header.size
            yield row
            if with_records:
                yield from _record_rows(view[at:end], header, decode)
    except Corrupt as bad:
        yield {"error": f"from position {end} on these are no batches: {bad}"}
        return
    if end < len(data):
        yield {"error": f"{len(data) - end} bytes at position {end} are no whole batch"}


def _batch_row(at: int, header: BatchHeader, *, is_valid: bool) -> dict[str, Any]:
    row = {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "position": at,
        "size": header.size,
        "leader_epoch": header.leader_epoch,
        "codec": Codec(header.codec).name.lower(),
        "max_timestamp": header.max_timestamp,
        "crc": "valid" if is_valid else "WRONG",
    }
    if header.producer_id >= 0:
        row["producer"] = f"{header.producer_id}/{header.producer_epoch}"
        row["base_sequence"] = header.base_sequence
    if header.is_transactional:
        row["transactional"] = True
    if header.is_control:
        row["control"] = True
    return row


def _record_rows(
    batch: memoryview, header: BatchHeader, decode: Decode
) -> Iterator[dict[str, Any]]:
    try:
        for record in records(batch):
            row: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
            if header.is_control:
                row["control"] = control_type(record.key).name
            else:
                row.update(_decoded(record, decode))
            if record.headers:
                row["headers"] = {name: _text(value) for name, value in record.headers}
            yield row
    except Corrupt as bad:
        yield {"error": str(bad)}


def _decoded(record: Record, decode: Decode) -> dict[str, Any]:
    try:
        meaning = decode(record)
    except Corrupt as bad:
        return {"key": _text(record.key), "value": _text(record.value), "error": str(bad)}
    if meaning is None:
        return {"key": _text(record.key), "value": _text(record.value)}
    if isinstance(meaning, tuple) and not hasattr(meaning, "_asdict"):
        key, value = meaning
        return {"type": type(key).__name__, "record": {"key": key, "value": value}}
    return {"type": type(meaning).__name__, "record": meaning}


def _decoder(path: str) -> Decode:
    """What the directory says the records are."""
    directory = os.path.basename(os.path.dirname(os.path.abspath(path)))
    topic = directory.rpartition("-")[0]
    if topic == "__cluster_metadata":
        from kafkapy.cli.node.hiding import without_secrets
        from kafkapy.kraft.records.codec import decode_record

        return lambda record: without_secrets(decode_record(record.value or b""))
    if topic == "__consumer_offsets":
        from kafkapy.coordinator.registry import Registry
        from kafkapy.group.records import KEY_CLASSES, written_version

        groups = Registry(KEY_CLASSES, written_version)
        return lambda record: groups.decode(record.key or b"", record.value)
    if topic == "__transaction_state":
        from kafkapy.txn.records import TransactionCodec

        transactions = TransactionCodec(lambda: 0)
        return lambda record: transactions.decode(record.key or b"", record.value)
    return lambda record: None


def _index_rows(data: bytes, first: int) -> Iterator[dict[str, Any]]:
    for at in range(0, len(data) // _INDEX.size * _INDEX.size, _INDEX.size):
        offset, position = _INDEX.unpack_from(data, at)
        if at and not offset and not position:
            return  # the zeros of a file that is still open
        yield {"offset": first + offset, "position": position}


def _time_index_rows(data: bytes, first: int) -> Iterator[dict[str, Any]]:
    for at in range(0, len(data) // _TIME_INDEX.size * _TIME_INDEX.size, _TIME_INDEX.size):
        timestamp, offset = _TIME_INDEX.unpack_from(data, at)
        if at and not timestamp and not offset:
            return
        yield {"timestamp": timestamp, "offset": first + offset}


def _transaction_rows(data: bytes) -> Iterator[dict[str, Any]]:
    entry = struct.Struct(">hqqqq")
    for at in range(0, len(data) // entry.size * entry.size, entry.size):
        _, producer_id, first, last, stable = entry.unpack_from(data, at)
        yield {
            "producer_id": producer_id,
            "first_offset": first,
            "last_offset": last,
            "last_stable_offset": stable,
        }


def _snapshot_rows(path: str, data: bytes) -> Iterator[dict[str, Any]]:
    from kafkapy.log.producers.snapshot_file import decode_snapshot

    try:
        for producer in decode_snapshot(data):
            yield _plain(producer)
    except Corrupt as bad:
        raise Failed(f"{path}: {bad}") from None


def _first_offset(path: str) -> int:
    name = os.path.basename(path).partition(".")[0]
    if not (name.isascii() and name.isdigit()):
        raise Failed(
            f"{path}: an index is named by its first offset, as 00000000000000000000.index"
        )
    return int(name)


def _line(row: dict[str, Any]) -> str:
    if "record" in row:
        told = json.dumps(_plain(row["record"]))
        return f"  {row['offset']}  {row['type']} {told}"
    if "offset" in row and "timestamp" in row and "base_offset" not in row:
        rest = {key: value for key, value in row.items() if key not in ("offset", "timestamp")}
        told = "  ".join(f"{key}={_shown(value)}" for key, value in rest.items())
        return f"  {row['offset']}  {row['timestamp']}  {told}".rstrip()
    return "  ".join(f"{key}={_shown(value)}" for key, value in row.items())


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


def _plain(value: Any) -> Any:
    """For JSON: records as objects with the names of their fields, ids as text, bytes as text
    where they are text."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | memoryview):
        return _text(bytes(value))
    if isinstance(value, UUID):
        from kafkapy.kraft.uuids import uuid_to_text

        return uuid_to_text(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return [_plain(one) for one in sorted(value)]
    if isinstance(value, Sequence):
        return [_plain(one) for one in value]
    return str(value)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")
