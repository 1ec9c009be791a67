"""Who waits for a partition to have more: fetches of consumers, sessions of followers."""

from typing import Protocol


class Watcher(Protocol):
    """Something parked until this partition has more to read. `mark` is its own, one for each
    partition that it watches."""

    def on_more(self, mark: int, count_bytes: int) -> None: ...


class EndWatcher(Watcher, Protocol):
    """It waits for the log's end, and hears of the other offsets without being woken."""

    def on_offsets(self, mark: int) -> None: ...
