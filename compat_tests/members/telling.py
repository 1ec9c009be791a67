"""What the member programs in Python share: their order, their lines, their end."""

import json
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any

Partition = tuple[str, int]


def order() -> dict[str, Any]:
    """What this member is to do: the one argument."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    return asked


def tell(event: str, **facts: Any) -> None:
    print(json.dumps({"e": event, **facts}), flush=True)


def tell_partitions(event: str, partitions: Iterable[Partition]) -> None:
    tell(event, partitions=sorted([topic, number] for topic, number in partitions))


def tell_committed(offsets: Mapping[Partition, int]) -> None:
    listed = [[topic, number, offset] for (topic, number), offset in offsets.items()]
    tell("committed", offsets=sorted(listed))


class Asked:
    """True once somebody wants this process to close."""

    def __init__(self) -> None:
        self._is_set = False
        signal.signal(signal.SIGTERM, self._set)

    def __bool__(self) -> bool:
        return self._is_set

    def _set(self, *_: object) -> None:
        self._is_set = True
