"""Closing thousands of logs with a bounded number of open files."""

from typing import Any

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Flushed
from kafkapy.log.directories.log_directory import CLOSING_AT_ONCE, close_some_at_a_time


class Flushing:
    """Logs whose flushes take until they are let go on, and how many flushed side by side."""

    def __init__(self) -> None:
        self.waiting: list[Flushed] = []
        self.most = 0
        self.heard: list[DiskFailed | None] = []

    def close(self, then: Flushed) -> None:
        self.waiting.append(then)
        self.most = max(self.most, len(self.waiting))


def test_logs_are_closed_some_at_a_time() -> None:
    """At once they held four descriptors each: 10,000 partitions did not close at all."""
    flushing = Flushing()
    logs: Any = [flushing] * 1000
    close_some_at_a_time(logs, flushing.heard.append)
    flushed = 0
    while flushing.waiting:
        assert not flushing.heard
        flushing.waiting.pop(0)(None)
        flushed += 1
    assert (flushed, flushing.heard, flushing.most) == (1000, [None], CLOSING_AT_ONCE)


def test_logs_that_have_nothing_to_flush_are_closed_in_one_go() -> None:
    class AtOnce:
        def close(self, then: Flushed) -> None:
            then(None)

    heard: list[DiskFailed | None] = []
    logs: Any = [AtOnce() for _ in range(5000)]
    close_some_at_a_time(logs, heard.append)
    assert heard == [None]
    close_some_at_a_time([], heard.append)
    assert heard == [None, None]


def test_one_that_fails_keeps_no_other_from_being_closed() -> None:
    class Failing:
        closed = 0

        def close(self, then: Flushed) -> None:
            Failing.closed += 1
            if Failing.closed == 1:
                raise FileNotFoundError(2, "No such file", "/d/t-0/0.index")
            if Failing.closed == 2:
                raise DiskFailed("/d/t-1", "is broken")
            then(None)

    heard: list[DiskFailed | None] = []
    logs: Any = [Failing() for _ in range(4)]
    close_some_at_a_time(logs, heard.append)
    assert Failing.closed == 4
    (failed,) = heard
    assert failed is not None
    assert failed.path == "/d/t-0/0.index"
