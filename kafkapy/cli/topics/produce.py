"""`kafkapy produce`: lines of standard input become records.

    --format value          the line is the value
    --format key:value      split at the first --separator
    --format json           {"key": ..., "value": ..., "headers": {...}, "partition": 0}
                            or what `consume --format json` printed

Records with a key go where Kafka's clients would send them (murmur2); others in turn. Lines are
written together while more of them come, and at once when none does for a moment. Where one cannot
be written, those before it are, and the message says how many.
"""

import argparse
import base64
import binascii
import json
import select
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkapy.cli.arguments import INT32, INT64_MAX, add_bootstrap_server
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import Progress
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, NewRecord, build_batch
from kafkapy.protocol.partitioner import partition_for_key

_NO_TIMESTAMP: Final = -1
_BATCH_RECORDS: Final = 1000
_BATCH_BYTES: Final = 512 * 1024
_TIMEOUT_MS: Final = 30_000
_READ_BYTES: Final = 64 * 1024
# Longer than a program that prints its lines one by one takes to the next.
_LINGER_SECONDS: Final = 0.1
_LED_ELSEWHERE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
# A topic that this made the broker create is answered for once its leaders serve.
_BEING_MADE: Final = {
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
}
_ATTEMPTS: Final = 100
_PAUSE_SECONDS: Final = 0.05


class Line(NamedTuple):
    record: NewRecord
    partition: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    add_bootstrap_server(parser)
    parser.add_argument("--format", choices=("value", "key:value", "json"), default="value")
    parser.add_argument("--separator", default=":", help="between key and value (default ':')")
    parser.add_argument("--partition", type=INT32, help="write all records to this partition")
    parser.add_argument("--acks", choices=("1", "all"), default="all")
    parser.add_argument(
        "--compression", choices=[codec.name.lower() for codec in Codec], default="none"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not options.separator:
        raise Failed("--separator: expected at least one character")
    progress = Progress("records")
    with Client(options.server) as client:
        writer = _Writer(client, options, progress)
        for raw in _lines():
            if raw is None:
                writer.flush()
            else:
                writer.add(raw)
        writer.flush()
    progress.done()
    return 0


class _Writer:
    """Gathers lines into batches; after a refusal it holds nothing."""

    def __init__(self, client: Client, options: argparse.Namespace, progress: Progress) -> None:
        self._client = client
        self._options = options
        self._progress = progress
        self._partitions, self._led = _partitions(client, options.topic)
        self._waiting: dict[int, list[NewRecord]] = {}
        self._count = self._size = self._turn = self._written = 0

    def add(self, raw: bytes) -> None:
        number = self._written + self._count + 1
        try:
            line = _line(raw, number, self._options)
            index = self._index(line)
        except Failed as failed:
            self.flush()
            raise Failed(f"{failed}{self._so_far()}") from None
        size = len(line.record.key or b"") + len(line.record.value or b"")
        # One that is too large is refused alone.
        if self._size + size > _BATCH_BYTES:
            self.flush()
        self._waiting.setdefault(index, []).append(line.record)
        self._size += size
        self._count += 1
        if self._count >= _BATCH_RECORDS:
            self.flush()

    def flush(self) -> None:
        waiting, count = self._waiting, self._count
        self._waiting, self._count, self._size = {}, 0, 0
        if not waiting:
            return
        try:
            send(self._client, self._options, waiting)
        except Failed as failed:
            raise Failed(f"{failed}{self._so_far(perhaps=count)}") from None
        self._written += count
        self._progress.step(count)

    def _index(self, line: Line) -> int:
        index = line.partition if line.partition is not None else self._options.partition
        if index is not None and index not in self._partitions:
            raise Failed(f"topic {self._options.topic} has no partition {index}")
        if index is None and line.record.key is not None:
            index = self._partitions[partition_for_key(line.record.key, len(self._partitions))]
        elif index is None:
            index, self._turn = self._led[self._turn % len(self._led)], self._turn + 1
        return int(index)

    def _so_far(self, perhaps: int = 0) -> str:
        """Of a batch that failed, partitions that took theirs may be a part."""
        if not self._written and perhaps < 2:
            return ""
        more = f", and perhaps some of the next {perhaps}" if perhaps > 1 else ""
        return f" (lines written: {self._written}{more})"


def _partitions(client: Client, topic: str) -> tuple[list[int], list[int]]:
    """Of the topic, which the broker may create now if it does not exist: all of them, and
    those that have a leader."""
    for _ in range(_ATTEMPTS):
        row = client.metadata([topic], create=True).topics[0]
        led = sorted(one.partition_index for one in row.partitions if one.leader_id >= 0)
        if not row.error_code and led:
            return sorted(one.partition_index for one in row.partitions), led
        if row.error_code not in _BEING_MADE:
            break
        time.sleep(_PAUSE_SECONDS)
    check(row.error_code, f"topic {topic}")
    raise Failed(f"topic {topic}: no partition has a leader")


def _lines() -> Iterator[bytes | None]:
    """Lines of standard input; None when there is none right now."""
    if sys.stdin is None:
        raise Failed("standard input is closed: there is nothing to produce")
    # Not line by line: nobody could say whether another line waits in the reader's buffer.
    read = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer).read
    pieces: list[bytes] = []
    while True:
        if not _has_more(_LINGER_SECONDS):
            yield None
            _has_more(None)
        data = read(_READ_BYTES)
        if data is None:  # not there after all, in a pipe that does not block
            continue
        if not data:
            break
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield b"".join((*pieces, line)).rstrip(b"\r")
            pieces.clear()
        if rest:
            pieces.append(rest)
    if pieces:
        yield b"".join(pieces).rstrip(b"\r")


def _has_more(seconds: float | None) -> bool:
    """Whether a read would return at once; a file's always does."""
    try:
        return bool(select.select([sys.stdin.buffer], [], [], seconds)[0])
    except (OSError, ValueError):  # nothing that select knows, in a test for one
        return True


def _line(raw: bytes, number: int, options: argparse.Namespace) -> Line:
    if options.format == "value":
        return Line(NewRecord(None, raw, _now_ms()), None)
    if options.format == "json":
        return _from_json(raw, number)
    key, found, value = raw.partition(options.separator.encode())
    if not found:
        raise Failed(f"line {number} has no separator {options.separator!r}")
    return Line(NewRecord(key, value, _now_ms()), None)


def _from_json(line: bytes, number: int) -> Line:
    try:
        given = json.loads(line)
        if not isinstance(given, dict) or "value" not in given:
            raise ValueError('expected an object with a "value"')
        partition = given.get("partition")
        if partition is not None and type(partition) is not int:
            raise ValueError(f"partition {partition!r} is not a whole number")
        timestamp = given.get("timestamp", _now_ms())
        if type(timestamp) is not int or not _NO_TIMESTAMP <= timestamp <= INT64_MAX:
            raise ValueError(f"timestamp {timestamp!r} is not in milliseconds since 1970")
        headers = tuple(_headers(given.get("headers") or {}))
        record = NewRecord(_bytes(given.get("key")), _bytes(given["value"]), timestamp, headers)
        return Line(record, partition)
    except (ValueError, RecursionError) as bad:
        raise Failed(f"line {number} is not a JSON record with a value: {bad}") from None


def _headers(given: Any) -> Iterator[tuple[str, bytes | None]]:
    """An object, or pairs where the order matters or a name comes twice."""
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, list):
        raise ValueError("headers: expected an object, or [name, value] pairs")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError("headers: expected an object, or [name, value] pairs")
        header, value = pair
        header.encode()
        yield header, _bytes(value)


def _bytes(value: Any) -> bytes | None:
    """Text as it is; null stays null (a tombstone); {"base64": ...} is the bytes that
    `consume` could not show as text; anything else as JSON."""
    if value is None:
        return None
    if isinstance(value, dict) and list(value) == ["base64"] and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except binascii.Error as bad:
            raise ValueError(f"base64: {bad}") from None
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def send(client: Client, options: argparse.Namespace, waiting: dict[int, list[NewRecord]]) -> None:
    """To those who lead; whoever does not any more has taken nothing, and the next is asked."""
    for attempt in range(_ATTEMPTS):
        moved: dict[int, list[NewRecord]] = {}
        for leader, indexes in client.leaders(options.topic, waiting):
            for one in _sent(leader, options, {index: waiting[index] for index in indexes}):
                if one.error_code in _LED_ELSEWHERE and attempt < _ATTEMPTS - 1:
                    moved[one.index] = waiting[one.index]
                else:
                    check(one.error_code, f"{options.topic}-{one.index}", one.error_message)
        if not moved:
            return
        waiting = moved
        client.forget_leaders(options.topic)
        time.sleep(_PAUSE_SECONDS)


def _sent(
    leader: Client, options: argparse.Namespace, waiting: dict[int, list[NewRecord]]
) -> list[Any]:
    codec = Codec[options.compression.upper()]
    answer = leader.ask(
        ApiKey.PRODUCE,
        {
            "transactional_id": None,
            "acks": -1 if options.acks == "all" else 1,
            "timeout": _TIMEOUT_MS,
            "topic_data": [
                {
                    "name": options.topic,
                    "partition_data": [
                        {"index": index, "records": build_batch(records, codec=codec)}
                        for index, records in waiting.items()
                    ],
                }
            ],
        },
    )
    return list(answer.responses[0].partition_responses)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
