"""Calls that let go of the GIL (fsync, ftruncate, cold reads) run here, off the loop.

A pool of our own rather than `trio.to_thread`: work is asked for from plain callbacks,
where there is no task to await it, and the answer comes back as a callback too.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import trio

from kafkapy.core.seams import Callback

# fsyncs of different files go to the device side by side; more than this gains nothing.
_MAX_THREADS: Final = 8


class Threads:
    """`run_soon` brings an answer to the loop, or raises trio.RunFinishedError."""

    def __init__(self, run_soon: Callable[[Callback], None]) -> None:
        self._run_soon = run_soon
        self._pool = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="kafkapy-disk")

    def run(self, work: Callback, then: Callback) -> None:
        """Do `work` on a thread (it must not raise), then call `then` on the loop."""

        def work_and_tell() -> None:
            work()
            # A loop that is gone took whoever wanted to know with it.
            with suppress(trio.RunFinishedError):
                self._run_soon(then)

        self._pool.submit(work_and_tell)

    def close(self) -> None:
        """Wait for what is under way: a flush that was asked for is done."""
        self._pool.shutdown(wait=True)
