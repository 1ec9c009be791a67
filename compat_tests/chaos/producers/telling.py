"""What the programs in Python share: their order (argv), their pace, their lines."""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from compat_tests.members.telling import Asked

_PAUSE_S = 0.002


class Order(NamedTuple):
    broker: str
    topic: str
    partitions: int
    per_second: int


def order() -> Order:
    broker, topic, partitions, per_second = sys.argv[1:]
    return Order(broker, topic, int(partitions), int(per_second))


def due(asked: Order) -> "Iterator[tuple[int, int] | None]":
    """(partition, number there) of each record when it is due; None: not yet. Ends on SIGTERM."""
    is_asked_to_end = Asked()
    began, count = time.monotonic(), 0
    while not is_asked_to_end:
        if count < (time.monotonic() - began) * asked.per_second:
            yield count % asked.partitions, count // asked.partitions
            count += 1
        else:
            yield None


def pause() -> None:
    time.sleep(_PAUSE_S)


def sent(partition: int, number: int) -> None:
    _say(f"sent {partition} {number}")


def acknowledged(partition: int, number: int, offset: int) -> None:
    _say(f"acked {partition} {number} {offset} {int(1000 * time.time())}")


def failed(partition: int, number: int, why: object) -> None:
    _say(f"failed {partition} {number} {' '.join(repr(why).split())}")


def closed() -> None:
    _say("closed")


def _say(line: str) -> None:
    # One write: several threads speak.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
