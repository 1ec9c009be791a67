"""`kafkapy produce`: lines of standard input become records.

    --format value          the line is the value
    --format key:value      split at the first --separator
    --format json           {"key": ..., "value": ..., "headers": {...}, "partition": 0}
                            or what `consume --format json` printed

Records with a key go where Kafka's clients would send them (murmur2); others in turn.
"""

import argparse
import base64
import binascii
import json
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkapy.cli.arguments import INT32, INT64_MAX, add_bootstrap_server, utf8
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import Progress
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import Codec, NewRecord, build_batch
from kafkapy.protocol.partitioner import partition_for_key

_NO_TIMESTAMP: Final = -1
_BATCH_RECORDS: Final = 1000
_BATCH_BYTES: Final = 512 * 1024
_TIMEOUT_MS: Final = 30_000
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
    parser.add_argument("topic", type=utf8)
    add_bootstrap_server(parser)
    parser.add_argument("--format", choices=("value", "key:value", "json"), default="value")
    parser.add_argument("--separator", default=":", help="between key and value (default ':')")
    parser.add_argument("--partition", type=INT32, help="all records to this partition")
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
        partitions, led = _partitions(client, options.topic)
        waiting: dict[int, list[NewRecord]] = {}
        size = turn = 0
        for line in _lines(options):
            index = line.partition if line.partition is not None else options.partition
            if index is not None and index not in partitions:
                raise Failed(f"topic {options.topic} has no partition {index}")
            if index is None and line.record.key is not None:
                index = partitions[partition_for_key(line.record.key, len(partitions))]
            elif index is None:
                index, turn = led[turn % len(led)], turn + 1
            waiting.setdefault(index, []).append(line.record)
            size += len(line.record.key or b"") + len(line.record.value or b"")
            progress.step()
            if size >= _BATCH_BYTES or sum(map(len, waiting.values())) >= _BATCH_RECORDS:
                send(client, options, waiting)
                waiting, size = {}, 0
        if waiting:
            send(client, options, waiting)
    progress.done()
    return 0


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


def _lines(options: argparse.Namespace) -> Iterator[Line]:
    if sys.stdin is None:
        raise Failed("standard input is closed: there is nothing to produce")
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        line = raw.rstrip(b"\r\n")
        if options.format == "value":
            yield Line(NewRecord(None, line, _now_ms()), None)
        elif options.format == "json":
            yield _from_json(line, number)
        else:
            key, found, value = line.partition(options.separator.encode())
            if not found:
                raise Failed(f"line {number} has no separator {options.separator!r}")
            yield Line(NewRecord(key, value, _now_ms()), None)


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
