"""One record a request, over 1, 32 and 500 connections that each wait for their answer."""

from dataclasses import dataclass

from bench.load import kload
from bench.row import APACHE, KAFKAPY, P50, P99, REQUESTS, WITH_LIMIT, Figures, Row
from bench.run import Run

_RECORD_BYTES = 100


@dataclass(frozen=True, slots=True)
class OneRecord:
    connections: int
    acks: int = 1
    depth: int = 1
    full_seconds: float = 8

    def __call__(self, run: Run) -> Figures:
        topic = run.topic()
        frames = kload.Frames.of_produce(
            [(topic, 0)], records=1, record_bytes=_RECORD_BYTES, acks=self.acks
        )
        with run.costs() as costs:
            found = kload.closed(
                run.bootstrap,
                frames,
                connections=self.connections,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=run.seconds(3),
                depth=self.depth,
            )
        spent = costs.figures(found["total"], found["total_seconds"])
        rate = found["records"] / found["seconds"]
        return {**spent, "rate": rate, **kload.latency(found)}


_FIGURES = (REQUESTS, P99)

ROWS = (
    Row(
        "one-1",
        "one record a request, 1 connection",
        OneRecord(1),
        (REQUESTS, P50, P99),
        WITH_LIMIT,
    ),
    Row(
        "one-32",
        "one record a request, 32 connections",
        OneRecord(32),
        _FIGURES,
        WITH_LIMIT,
        is_quick=True,
    ),
    Row("one-500", "one record a request, 500 connections", OneRecord(500), _FIGURES, WITH_LIMIT),
    Row(
        "one-32-deep",
        "one record a request, 32 connections with 5 on their way",
        OneRecord(32, depth=5),
        (REQUESTS,),
        WITH_LIMIT,
    ),
    Row(
        "fsync-32",
        "one record a request, fsync before each acknowledgement, 32 connections",
        OneRecord(32),
        _FIGURES,
        (KAFKAPY, APACHE),
        {"log.flush.interval.messages": "1"},
        note="kfake has no such setting that keeps to this meaning.",
    ),
)
