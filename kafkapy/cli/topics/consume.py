"""`kafkapy consume`: print the records of a topic, from an offset or a time on.

    --format value      the value, a line each
    --format full       partition, offset, time, key, headers and value in columns
    --format json       one object a line; bytes that are no text as base64

Ends at what was the end when it began; with --follow it goes on. With --committed the end is
before the first transaction that was open then: what comes behind it nobody may read yet.
"""

import argparse
import base64
import json
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from kafkapy.cli.arguments import INT32, INT64_MAX, add_bootstrap_server, number
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import Progress
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import BatchHeader, Record, batches, records

_WAIT_MS: Final = 500
_ATTEMPTS: Final = 100
_PAUSE_SECONDS: Final = 0.05
_LED_ELSEWHERE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_MAX_BYTES: Final = 16 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    add_bootstrap_server(parser)
    parser.add_argument(
        "--partition",
        type=INT32,
        action="append",
        help="only this one; may be repeated (default: all)",
    )
    parser.add_argument(
        "--from",
        dest="start",
        default="start",
        metavar="WHERE",
        help="start, end, an offset, or a time as 2026-11-18T12:00:00Z (default start)",
    )
    parser.add_argument("--max", type=number(1, INT64_MAX), help="stop after this many records")
    parser.add_argument("--follow", action="store_true", help="wait for more, until Ctrl-C")
    parser.add_argument(
        "--committed",
        action="store_true",
        help="only committed records, up to the first open transaction",
    )
    parser.add_argument("--format", choices=("value", "full", "json"), default="value")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    printer = {"value": _print_value, "full": _print_full, "json": _print_json}[options.format]
    progress = Progress("records")
    with Client(options.server) as client:
        partitions = client.partitions(options.topic)
        for index in options.partition or ():
            if index not in partitions:
                raise Failed(f"topic {options.topic} has no partition {index}")
        wanted = options.partition or partitions
        starts = _starts(client, options, wanted)
        ends = client.offsets(options.topic, dict.fromkeys(wanted, -1), committed=options.committed)
        for index, record in consumed(client, options, starts, None if options.follow else ends):
            printer(index, record)
            progress.step()
            if progress.count == options.max:
                break
    progress.done()
    return 0


def _starts(client: Client, options: argparse.Namespace, wanted: list[int]) -> dict[int, int]:
    where = options.start
    if where.isascii() and where.isdigit():
        return dict.fromkeys(wanted, int(where))
    if where in ("start", "end"):
        return client.offsets(options.topic, dict.fromkeys(wanted, -2 if where == "start" else -1))
    try:
        # Without a zone it is local time, which not every year has.
        timestamp = int(datetime.fromisoformat(where).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise Failed(
            f"--from {where}: expected start, end, an offset or a time as 2026-11-18T12:00:00Z"
        ) from None
    # Below 0 are ListOffsets' names for ends; every record is younger than 1970.
    found = client.offsets(options.topic, dict.fromkeys(wanted, max(0, timestamp)))
    ends = client.offsets(options.topic, dict.fromkeys(wanted, -1))
    return {index: ends[index] if at < 0 else at for index, at in found.items()}


def consumed(
    client: Client,
    options: argparse.Namespace,
    positions: dict[int, int],
    ends: dict[int, int] | None,
) -> Iterator[tuple[int, Record]]:
    """Records from `positions` on, up to `ends` (None: for ever)."""
    while True:
        if ends is not None:
            positions = {at: one for at, one in positions.items() if one < ends[at]}
            if not positions:
                return
        for row in _fetch(client, options, positions):
            check(row.error_code, f"{options.topic}-{row.partition_index}")
            aborted = Aborted(row.aborted_transactions or ())
            data = bytes(row.records or b"")
            for at, header in batches(data):
                start = positions[row.partition_index]
                positions[row.partition_index] = max(start, header.next_offset)
                if aborted.has(header) or header.is_control:
                    continue
                for record in records(memoryview(data)[at : at + header.size]):
                    if record.offset >= start:
                        yield row.partition_index, record


class Aborted:
    """Which batches of one answer belong to aborted transactions. A producer may have aborted
    several there, with committed ones between: each begins at its first offset and ends at its
    marker, so the batches are told in their order, the markers too."""

    def __init__(self, transactions: Iterable[Any]) -> None:
        begins = sorted((one.first_offset, one.producer_id) for one in transactions)
        self._begins = deque(begins)
        self._open: set[int] = set()

    def has(self, header: BatchHeader) -> bool:
        while self._begins and self._begins[0][0] <= header.last_offset:
            self._open.add(self._begins.popleft()[1])
        if header.is_control:
            self._open.discard(header.producer_id)
        return header.is_transactional and header.producer_id in self._open


def _fetch(client: Client, options: argparse.Namespace, positions: dict[int, int]) -> list[Any]:
    """What the leaders have; of those that lead no more nothing, until the next are known."""
    for _ in range(_ATTEMPTS):
        rows = []
        leaders = client.leaders(options.topic, positions)
        for leader, indexes in leaders:
            at = {index: positions[index] for index in indexes}
            rows += _fetched(leader, options, at, _WAIT_MS // len(leaders))
        moved = [row for row in rows if row.error_code in _LED_ELSEWHERE]
        if len(moved) < len(rows):
            if moved:
                client.forget_leaders(options.topic)
            return [row for row in rows if row.error_code not in _LED_ELSEWHERE]
        client.forget_leaders(options.topic)
        time.sleep(_PAUSE_SECONDS)
    return rows


def _fetched(
    leader: Client, options: argparse.Namespace, positions: dict[int, int], wait_ms: int
) -> list[Any]:
    answer = leader.ask(
        ApiKey.FETCH,
        {
            "replica_id": -1,
            "max_wait": wait_ms,
            "min_bytes": 1,
            "max_bytes": _MAX_BYTES,
            "isolation_level": 1 if options.committed else 0,
            "topics": [
                {
                    "topic": options.topic,
                    "partitions": [
                        {
                            "partition": index,
                            "fetch_offset": offset,
                            "partition_max_bytes": _MAX_BYTES,
                        }
                        for index, offset in positions.items()
                    ],
                }
            ],
            "forgotten_topics_data": [],
        },
    )
    check(answer.error_code, options.topic)
    return [row for topic in answer.responses for row in topic.partitions]


def _print_value(_: int, record: Record) -> None:
    sys.stdout.buffer.write((record.value or b"") + b"\n")
    sys.stdout.flush()


def _print_full(index: int, record: Record) -> None:
    headers = ",".join(f"{name}={_text(value)}" for name, value in record.headers)
    print(
        f"{index}  {record.offset}  {as_time(record.timestamp)}  "
        f"{_text(record.key)}  {headers or '-'}  {_text(record.value)}",
        flush=True,
    )


def _print_json(index: int, record: Record) -> None:
    row = {
        "partition": index,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": as_json(record.key),
        "value": as_json(record.value),
        "headers": [[name, as_json(value)] for name, value in record.headers],
    }
    print(json.dumps(row), flush=True)


def as_time(timestamp: int) -> str:
    if timestamp < 0:
        return "-"
    return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")


def _text(value: bytes | None) -> str:
    return "null" if value is None else value.decode("utf-8", "backslashreplace")


def as_json(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
