"""One call in flight per node; what is asked for meanwhile goes together in the next.

    add a, b --> call [a]        answered --> call [b, c, d] ...
    add c, d     (in flight)

The busier the cluster, the larger the batches: nothing is delayed to collect them.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from kafkapy.core.errors import ErrorCode

Item = TypeVar("Item")
Done = Callable[[], None]


class BatchedCalls(Generic[Item]):
    def __init__(self, call: Callable[[int, list[Item], Done], None]) -> None:
        """`call(node, items, done)` must run `done` exactly once, whatever became of it."""
        self._call = call
        self._waiting: dict[int, list[Item]] = {}
        self._in_flight: set[int] = set()

    def add(self, node: int, item: Item) -> None:
        self._waiting.setdefault(node, []).append(item)
        self._next(node)

    def _next(self, node: int) -> None:
        if node in self._in_flight:
            return
        items = self._waiting.pop(node, None)
        if items is None:
            return
        self._in_flight.add(node)
        self._call(node, items, lambda: self._done(node))

    def _done(self, node: int) -> None:
        self._in_flight.discard(node)
        self._next(node)


def answered_code(code: int) -> ErrorCode:
    """What another node answered, which may be newer than this one."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
