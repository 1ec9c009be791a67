"""`kafkapy dead-letters`: what nobody could do, by reason; shown, replayed to its origin, dropped.

    list      how many of each reason and origin, and since when
    show      each one: where it is, where it came from, why, what it says
    replay    back to the topic (and partition) it came from, or --to another; then it is over
    drop      it is over

What a letter says, and how one is over: kafkapy/relays/letters.py. Replaying writes first and says
so then: broken off, it may replay some again. What is over up to the first that is not is deleted.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Final

from kafkapy.cli.arguments import INT64_MAX, asking, number
from kafkapy.cli.client import Client, check
from kafkapy.cli.main import Failed
from kafkapy.cli.output import Progress, show
from kafkapy.cli.topics.consume import as_json, as_time, consumed
from kafkapy.cli.topics.produce import send
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord
from kafkapy.relays.letters import NOT_FORGOTTEN, UNKNOWN, Letter, Over, are_over, letter_of

_AT_ONCE: Final = 500
_TIMEOUT_MS: Final = 30_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = asking()
    chosen = argparse.ArgumentParser(add_help=False, parents=[common])
    chosen.add_argument("topic", help="the topic of dead letters")
    chosen.add_argument("--reason", help="only those whose reason contains this")
    chosen.add_argument("--origin", help="only those that came from this topic")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="count them by reason and origin", parents=[chosen])
    listed.set_defaults(run=_list)
    shown = actions.add_parser("show", help="print each of them", parents=[chosen])
    shown.add_argument("--max", type=number(1, INT64_MAX), help="stop after this many")
    shown.set_defaults(run=_show)
    replay = actions.add_parser(
        "replay", help="write them to the topics they came from, then remove them", parents=[chosen]
    )
    replay.add_argument("--to", help="write them to this topic instead")
    replay.set_defaults(run=_replay)
    drop = actions.add_parser("drop", help="remove them", parents=[chosen])
    drop.add_argument("--dry-run", action="store_true", help="say how many, remove none")
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
                index = letter.index_in(topic, counts[topic])
                waiting.setdefault(topic, {}).setdefault(index, []).append(record)
                over.append(letter)
            for topic, records in waiting.items():
                send(client, _to(topic), records)
            _say_over(client, options.topic, over)
            progress.step(len(over))
        _forget(client, options)
    progress.done()
    print(f"{progress.count} replayed")
    if lost:
        raise Failed(f"of {lost} the content is gone with the origin's records; they stay")
    return 0


def _drop(options: argparse.Namespace) -> int:
    count = unmarked = 0
    with Client(options.server) as client:
        for letters in _some_at_a_time(_letters(client, options)):
            dropped = [one for one in letters if one.may_be_dropped(options.reason)]
            unmarked += len(letters) - len(dropped)
            count += len(dropped)
            if not options.dry_run:
                _say_over(client, options.topic, dropped)
        if not options.dry_run:
            _forget(client, options)
    print(f"{count} would be dropped" if options.dry_run else f"{count} dropped")
    if unmarked:
        raise Failed(
            f"{unmarked} records have no header that makes them dead letters, and stay: "
            f"--reason {UNKNOWN} drops such records"
        )
    return 0


# What there is


def _letters(client: Client, options: argparse.Namespace) -> Iterator[Letter]:
    """Those that are not over, as they are now, and wanted."""
    for letter in _open(client, options.topic):
        if letter.is_wanted(options.reason, options.origin):
            yield letter


def _open(client: Client, topic: str) -> Iterator[Letter]:
    indexes = client.partitions(topic)
    starts = client.offsets(topic, dict.fromkeys(indexes, -2))
    ends = client.offsets(topic, dict.fromkeys(indexes, -1), committed=True)
    over = {index: Over() for index in indexes}
    for index, record in consumed(client, _to(topic), dict(starts), ends):
        over[index].hear(record)
    for index, record in consumed(client, _to(topic), dict(starts), ends):
        if record.offset not in over[index]:
            yield letter_of(index, record)


# What becomes of them


def _content(client: Client, letter: Letter) -> NewRecord | None:
    """None if only its origin had it, and has no more."""
    record, (topic, partition, offset) = letter.record, letter.origin
    if letter.is_elsewhere and topic is not None:
        start = client.offsets(topic, {partition: -2})[partition]
        if offset < start:
            return None
        reading = consumed(client, _to(topic), {partition: offset}, {partition: offset + 1})
        found = next((one for _, one in reading if one.offset == offset), None)
        if found is None:
            return None
        record = found
    return letter.anew(record, time.time_ns() // 1_000_000)


def _say_over(client: Client, topic: str, letters: list[Letter]) -> None:
    offsets: dict[int, list[int]] = {}
    for one in letters:
        offsets.setdefault(one.partition, []).append(one.record.offset)
    now = time.time_ns() // 1_000_000
    words = {index: [are_over(theirs, now)] for index, theirs in offsets.items()}
    if words:
        send(client, _to(topic), words)


def _forget(client: Client, options: argparse.Namespace) -> None:
    """Up to the first that is not over."""
    topic = options.topic
    indexes = client.partitions(topic)
    upto = client.offsets(topic, dict.fromkeys(indexes, -1), committed=True)
    for letter in _open(client, topic):
        upto[letter.partition] = min(upto[letter.partition], letter.record.offset)
    for leader, led in client.leaders(topic, indexes):
        rows = [{"partition_index": index, "offset": upto[index]} for index in led]
        body = {"topics": [{"name": topic, "partitions": rows}], "timeout": _TIMEOUT_MS}
        for row in leader.ask(ApiKey.DELETE_RECORDS, body).topics[0].partitions:
            if row.error_code not in NOT_FORGOTTEN:
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
