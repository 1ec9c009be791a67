"""`kafkapy dead-letters`: what nobody could do, by reason; shown, replayed to its origin, dropped.

    list      how many of each reason and origin, and since when
    show      each one: where it is, where it came from, why, what it says
    replay    back to the topic (and partition) it came from, or --to another; then it is over
    drop      it is over

A topic is a log: nothing is taken out of its middle. That letters are over, a record behind them
in their partition says (header `kafkapy.letters.over`, as `3-7,9`), and what is over up to the
first that is not is deleted. Replaying writes first and says so then: broken off, it may replay
some again.

Headers of kafkapy's retry topics, share groups (KIP-1191), Kafka Connect and Spring are understood.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkapy.cli.arguments import INT64_MAX, asking, number, utf8
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import Progress, show
from kafkapy.cli.topics.consume import as_json, as_time, consumed
from kafkapy.cli.topics.produce import send
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batch import NewRecord, Record
from kafkapy.protocol.partitioner import partition_for_key
from kafkapy.protocol.records import Headers

OVER: Final = "kafkapy.letters.over"
_UNKNOWN: Final = "unknown"
_AT_ONCE: Final = 500
_TIMEOUT_MS: Final = 30_000
# DeleteRecords is refused where the topic is to keep everything; what is said is enough then.
_KEPT: Final = (ErrorCode.NONE, ErrorCode.POLICY_VIOLATION)


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    chosen = argparse.ArgumentParser(add_help=False, parents=[common])
    chosen.add_argument("topic", type=utf8, help="the topic of dead letters")
    chosen.add_argument("--reason", type=utf8, help="only those whose reason contains this")
    chosen.add_argument("--origin", type=utf8, help="only those that came from this topic")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="how many, by reason and origin", parents=[chosen])
    listed.set_defaults(run=_list)
    shown = actions.add_parser("show", help="each of them", parents=[chosen])
    shown.add_argument("--max", type=number(1, INT64_MAX), help="stop after so many")
    shown.set_defaults(run=_show)
    replay = actions.add_parser("replay", help="back to where they came from", parents=[chosen])
    replay.add_argument("--to", type=utf8, help="another topic than the origin's")
    replay.set_defaults(run=_replay)
    drop = actions.add_parser("drop", help="they are over", parents=[chosen])
    drop.set_defaults(run=_drop)


def _list(options: argparse.Namespace) -> int:
    counts: dict[tuple[str, str | None], list[int]] = {}
    with Client(options.server) as client:
        for letter in _letters(client, options):
            counts.setdefault((letter.reason, letter.origin[0]), []).append(letter.record.timestamp)
    rows = [
        {
            "count": len(times),
            "origin": origin,
            "oldest": as_time(min(times)),
            "newest": as_time(max(times)),
            "reason": reason,
        }
        for (reason, origin), times in sorted(counts.items(), key=lambda one: -len(one[1]))
    ]
    show(rows, as_json=options.json, empty="no dead letters")
    return 0


def _show(options: argparse.Namespace) -> int:
    rows = []
    with Client(options.server) as client:
        for letter in _letters(client, options):
            record, (topic, partition, offset) = letter.record, letter.origin
            rows.append(
                {
                    "partition": letter.partition,
                    "offset": record.offset,
                    "time": as_time(record.timestamp),
                    "origin": None if topic is None else f"{topic}-{partition}@{offset}",
                    "reason": letter.reason,
                    "key": _shown(record.key, options),
                    "value": _shown(record.value, options),
                }
            )
            if len(rows) == options.max:
                break
    show(rows, as_json=options.json, empty="no dead letters")
    return 0


def _replay(options: argparse.Namespace) -> int:
    progress = Progress("letters")
    lost = 0
    with Client(options.server) as client:
        counts = {topic: client.partitions(topic) for topic in (options.to,) if topic}
        for letters in _some_at_a_time(_letters(client, options)):
            waiting: dict[str, dict[int, list[NewRecord]]] = {}
            over = []
            for letter in letters:
                topic = options.to or letter.origin[0]
                if topic is None:
                    raise Failed(f"{_place(letter)} does not say where it came from: use --to")
                record = _content(client, letter)
                if record is None:
                    lost += 1  # it stays
                    continue
                if topic not in counts:
                    counts[topic] = client.partitions(topic)
                index = _index(letter, topic, counts[topic])
                waiting.setdefault(topic, {}).setdefault(index, []).append(record)
                over.append(letter)
            for topic, records in waiting.items():
                send(client, _to(topic), records)
            _are_over(client, options.topic, over)
            progress.step(len(over))
        _forget(client, options)
    progress.done()
    print(f"{progress.count} replayed")
    if lost:
        raise Failed(f"of {lost} the content is gone with the origin's records; they stay")
    return 0


def _drop(options: argparse.Namespace) -> int:
    count = 0
    with Client(options.server) as client:
        for letters in _some_at_a_time(_letters(client, options)):
            _are_over(client, options.topic, letters)
            count += len(letters)
        _forget(client, options)
    print(f"{count} dropped")
    return 0


# What there is


def _letters(client: Client, options: argparse.Namespace) -> Iterator[Letter]:
    """Those that are not over, as they are now, and wanted."""
    for letter in _open(client, options.topic):
        if options.reason is not None and options.reason not in letter.reason:
            continue
        if options.origin is not None and options.origin != letter.origin[0]:
            continue
        yield letter


def _open(client: Client, topic: str) -> Iterator[Letter]:
    indexes = client.partitions(topic)
    starts = client.offsets(topic, dict.fromkeys(indexes, -2))
    ends = client.offsets(topic, dict.fromkeys(indexes, -1))
    over: dict[int, set[int]] = {index: set() for index in indexes}
    for index, record in consumed(client, _to(topic), dict(starts), ends):
        over[index].update(_said_over(record))
    for index, record in consumed(client, _to(topic), dict(starts), ends):
        if record.offset not in over[index] and not _is_word(record):
            yield _letter(index, record)


def _letter(index: int, record: Record) -> Letter:
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
            return Letter(index, record, origin, told or _UNKNOWN, names.own)
    reason = _text(headers.get("kafkapy.error"))
    return Letter(index, record, (None, -1, -1), reason or _UNKNOWN, "kafkapy.")


def _is_word(record: Record) -> bool:
    return any(name == OVER for name, _ in record.headers)


def _said_over(record: Record) -> Iterator[int]:
    for name, value in record.headers:
        if name == OVER:
            for span in (value or b"").decode().split(","):
                first, _, last = span.partition("-")
                yield from range(int(first), int(last or first) + 1)


# What becomes of them


def _content(client: Client, letter: Letter) -> NewRecord | None:
    """As it was when it came for the first time; None if only its origin had it, and has no
    more (share groups copy what a letter says only if they are told to)."""
    key, value, headers = letter.record.key, letter.record.value, letter.record.headers
    topic, partition, offset = letter.origin
    if key is None and value is None and topic is not None and offset >= 0:
        start = client.offsets(topic, {partition: -2})[partition]
        if offset < start:
            return None
        reading = consumed(client, _to(topic), {partition: offset}, {partition: offset + 1})
        found = next((one for _, one in reading if one.offset == offset), None)
        if found is None:
            return None
        key, value, headers = found.key, found.value, found.headers
    kept: Headers = tuple(one for one in headers if not one[0].startswith(letter.own))
    return NewRecord(key, value, time.time_ns() // 1_000_000, kept)


def _index(letter: Letter, topic: str, indexes: list[int]) -> int:
    origin, partition, _ = letter.origin
    if origin == topic and partition in indexes:
        return partition
    key = letter.record.key
    if key is not None:
        return indexes[partition_for_key(key, len(indexes))]
    return indexes[letter.record.offset % len(indexes)]


def _are_over(client: Client, topic: str, letters: list[Letter]) -> None:
    offsets: dict[int, list[int]] = {}
    for letter in letters:
        offsets.setdefault(letter.partition, []).append(letter.record.offset)
    now = time.time_ns() // 1_000_000
    words = {
        index: [NewRecord(None, None, now, ((OVER, _spans(theirs).encode()),))]
        for index, theirs in offsets.items()
    }
    if words:
        send(client, _to(topic), words)


def _spans(offsets: list[int]) -> str:
    spans: list[list[int]] = []
    for offset in sorted(offsets):
        if spans and spans[-1][1] == offset - 1:
            spans[-1][1] = offset
        else:
            spans.append([offset, offset])
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in spans)


def _forget(client: Client, options: argparse.Namespace) -> None:
    """Up to the first that is not over."""
    topic = options.topic
    indexes = client.partitions(topic)
    upto = client.offsets(topic, dict.fromkeys(indexes, -1))
    for letter in _open(client, topic):
        upto[letter.partition] = min(upto[letter.partition], letter.record.offset)
    for leader, led in client.leaders(topic, indexes):
        rows = [{"partition_index": index, "offset": upto[index]} for index in led]
        body = {"topics": [{"name": topic, "partitions": rows}], "timeout": _TIMEOUT_MS}
        for row in leader.ask(ApiKey.DELETE_RECORDS, body).topics[0].partitions:
            if row.error_code not in _KEPT:
                check(row.error_code, f"{topic}-{row.partition_index}")


def _some_at_a_time(letters: Iterator[Letter]) -> Iterator[list[Letter]]:
    some: list[Letter] = []
    for letter in letters:
        some.append(letter)
        if len(some) == _AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _to(topic: str) -> argparse.Namespace:
    """What reading and writing records are told."""
    return argparse.Namespace(topic=topic, committed=True, acks="all", compression="none")


def _place(letter: Letter) -> str:
    return f"partition {letter.partition}, offset {letter.record.offset}"


def _shown(data: bytes | None, options: argparse.Namespace) -> object:
    found = as_json(data)
    return found if options.json or found is None or isinstance(found, str) else json.dumps(found)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _number(value: bytes | None) -> int:
    """As text, or (Spring's) as four or eight bytes."""
    if value is None:
        return -1
    if value.isdigit():
        return int(value)
    return int.from_bytes(value, "big", signed=True) if len(value) in (4, 8) else -1
