"""Where `kafkapy groups reset-offsets` goes: one way of six, and what it comes to."""

import argparse
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kafkapy.cli.arguments import INT64
from kafkapy.cli.main import Failed

Where = tuple[str, int]


class Target(NamedTuple):
    """Exactly one of them is set."""

    is_earliest: bool = False
    is_latest: bool = False
    is_current: bool = False
    offset: int | None = None
    shift_by: int | None = None
    timestamp: int | None = None


def add_targets(parser: argparse.ArgumentParser) -> None:
    ways = parser.add_mutually_exclusive_group(required=True)
    ways.add_argument("--to-earliest", action="store_true")
    ways.add_argument("--to-latest", action="store_true")
    ways.add_argument(
        "--to-current",
        action="store_true",
        help="keep the offsets, but move those outside the log into it",
    )
    ways.add_argument("--to-offset", type=INT64, metavar="N")
    ways.add_argument(
        "--shift-by",
        type=INT64,
        metavar="N",
        help="forward, or backward if negative (--shift-by=-5)",
    )
    ways.add_argument("--to-datetime", metavar="ISO", help="for example 2026-11-18T12:00:00+01:00")
    ways.add_argument(
        "--by-duration",
        type=float,
        metavar="SECONDS",
        help="to what was written since that long ago",
    )


def target_of(options: argparse.Namespace) -> Target:
    timestamp = None
    if options.to_datetime is not None:
        timestamp = _timestamp(options.to_datetime)
    elif options.by_duration is not None:
        timestamp = _ago(options.by_duration)
    return Target(
        options.to_earliest,
        options.to_latest,
        options.to_current,
        options.to_offset,
        options.shift_by,
        timestamp,
    )


def new_offsets(
    target: Target,
    wanted: Iterable[Where],
    committed: Mapping[Where, int],
    starts: Mapping[Where, int],
    ends: Mapping[Where, int],
    at_time: Mapping[Where, int],
) -> dict[Where, int]:
    """Held within what the log has; partitions that are gone are left out."""
    chosen = {}
    for where in wanted:
        if where not in starts or where not in ends:
            continue
        start, end = starts[where], ends[where]
        current = committed.get(where, start)
        if target.is_earliest:
            offset = start
        elif target.is_latest:
            offset = end
        elif target.offset is not None:
            offset = target.offset
        elif target.shift_by is not None:
            offset = current + target.shift_by
        elif target.timestamp is not None:
            # No record is that young: go on with what comes next.
            offset = at_time[where] if at_time.get(where, -1) >= 0 else end
        else:
            offset = current
        chosen[where] = max(start, min(offset, end))
    return chosen


def _timestamp(text: str) -> int:
    try:
        # Without a zone it is local time, which not every year has.
        timestamp = round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise Failed(f"--to-datetime {text}: expected ISO 8601, from 1970 on") from None
    if timestamp < 0:
        raise Failed(f"--to-datetime {text}: expected ISO 8601, from 1970 on")
    return timestamp


def _ago(seconds: float) -> int:
    try:
        past = datetime.now(UTC) - timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        past = None
    if past is None or past.timestamp() < 0:
        raise Failed(f"--by-duration {seconds:g}: expected seconds, and not from before 1970")
    return round(past.timestamp() * 1000)
