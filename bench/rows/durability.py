"""Coming back after a crash, and reading what has long left memory while others write."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.load import kload
from bench.row import APACHE, KAFKAPY, P50, P99, RATE, SECONDS, Figures, Row
from bench.rows.throughput import Produce
from bench.run import Run
from bench.wire import Wire

_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """kill -9 after so much was written, then: from the command until a record is
    acknowledged again in that partition."""

    mib: int

    def __call__(self, run: Run) -> Figures:
        with run.start() as server:
            topic = run.topic()
            # All of it, however short the run: the size is what the row is about.
            Produce(round(self.mib * 1024 / run.length)).into(run, topic)
            server.stop(how=signal.SIGKILL)
            began = time.perf_counter()
            server.start()
            answers = time.perf_counter() - began
            while not _acknowledges(server.bootstrap, topic):
                if time.perf_counter() - began > _PATIENCE_S:
                    raise RuntimeError("it does not lead again")
                time.sleep(0.02)
            seconds = time.perf_counter() - began
        return {"seconds": seconds, "answers_s": answers}


@dataclass(frozen=True, slots=True)
class CatchUp:
    """A consumer reads a backlog that is on disk only, while eight connections write 10,000
    records a second to another topic. What is compared: its rate, and their latency."""

    backlog: Produce
    rate: int = 10_000
    full_seconds: float = 8

    def __call__(self, run: Run) -> Figures:
        old = run.topic()
        self.backlog.into(run, old)
        _forget_pages(run.server.data)
        new = run.topic(8)
        into = [(new, each) for each in range(8)]
        frames = kload.Frames.of_produce(into, records=1, record_bytes=1024, acks=-1)
        count = run.records(self.backlog.records)
        with ThreadPoolExecutor(1) as pool, run.costs() as costs:
            writing = pool.submit(
                kload.open_loop,
                run.bootstrap,
                frames,
                connections=len(into),
                rate=self.rate,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=1,
            )
            read = run.client("librdkafka_consume", topic=old, records=count, partitions=1)
            found = writing.result()
        return {**costs.figures(count, read["seconds"]), **kload.latency(found)}


def _acknowledges(bootstrap: str, topic: str) -> bool:
    try:
        with Wire(bootstrap) as wire:
            return wire.produce(topic) == 0
    except OSError:
        return False


def _forget_pages(data: Path) -> None:
    """Write all to disk and drop it from the page cache."""
    os.sync()
    for path in data.rglob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


ROWS = (
    *(
        Row(
            f"recovery-{mib}m",
            f"leading again after kill -9, {mib:,} MiB written",
            Recovery(mib),
            (SECONDS,),
            (KAFKAPY, APACHE),
            starts_own=True,
        )
        for mib in (64, 512, 4096)
    ),
    Row(
        "catch-up",
        "a backlog read from disk while 10,000/s are written",
        CatchUp(Produce(2_000_000)),
        (RATE, P50, P99),
        (KAFKAPY, APACHE),
    ),
)
