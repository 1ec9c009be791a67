"""Names are looked up on threads of their own, one each.

A name server that is gone keeps a lookup waiting for half a minute. On the few threads that flush
files a handful of those would keep every acknowledgement waiting as long; here they wait alone, and
a node that ends leaves them behind. There are no more of them than connections that begin.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import trio

from kafkapy.core.seams import Callback


class Lookups:
    """`run_soon` brings an answer to the loop, or raises trio.RunFinishedError."""

    def __init__(self, run_soon: Callable[[Callback], None]) -> None:
        self._run_soon = run_soon

    def run(self, work: Callback, then: Callback) -> None:
        """`work` on a thread (it must not raise), then `then` on the loop."""

        def work_and_tell() -> None:
            work()
            # A loop that is gone took whoever wanted to know with it.
            with suppress(trio.RunFinishedError):
                self._run_soon(then)

        try:
            Thread(target=work_and_tell, name="kafkapy-lookup", daemon=True).start()
        except RuntimeError:  # the system gives no more threads: nothing is found, for now
            self._run_soon(then)
