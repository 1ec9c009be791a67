"""From the command to the first answer, and what a node costs that has nothing to do."""

import time
from dataclasses import dataclass

from bench.processes import usage
from bench.row import RESIDENT, SECONDS, Figure, Figures, Row
from bench.run import Run

IDLE_CPU = Figure("cpu_ms_a_second", "ms CPU a second")
_SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Start:
    """An empty directory is formatted and a node started in it; or, `again`, started on what
    a clean stop left."""

    again: bool = False

    def __call__(self, run: Run) -> Figures:
        began = time.perf_counter()
        with run.start() as server:
            seconds = time.perf_counter() - began
            if self.again:
                server.stop()
                began = time.perf_counter()
                server.start()
                seconds = time.perf_counter() - began
            spent = usage(server.pid)
        return {"seconds": seconds, "cpu_s": spent.cpu_seconds, "resident_mb": spent.resident_mb}


@dataclass(frozen=True, slots=True)
class Idle:
    full_seconds: float = 15

    def __call__(self, run: Run) -> Figures:
        with run.start() as server:
            time.sleep(_SETTLE_S)
            before, seconds = usage(server.pid), run.seconds(self.full_seconds)
            time.sleep(seconds)
            after = usage(server.pid)
        spent = after.cpu_seconds - before.cpu_seconds
        return {"resident_mb": after.resident_mb, "cpu_ms_a_second": spent / seconds * 1000}


ROWS = (
    Row(
        "start",
        "from the command to the first answer, empty directory",
        Start(),
        (SECONDS,),
        starts_own=True,
        is_quick=True,
        note="kfake has nothing to format and nothing on disk.",
    ),
    Row(
        "start-again", "the same after a clean stop", Start(again=True), (SECONDS,), starts_own=True
    ),
    Row("idle", "idle", Idle(), (RESIDENT, IDLE_CPU), starts_own=True),
)
