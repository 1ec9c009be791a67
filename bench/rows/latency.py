"""Acknowledgement and end-to-end latency at fixed rates, from the intended time of each record.

The load is open: a record is due when its time has come, whatever the broker does, and what
a stall holds up counts in full (no coordinated omission). At 67,000 records a second a batch
is 15 records, the 16 KiB that librdkafka's and Java's producers send at most by default, and
the time that a record waits for its batch to fill (0.1 ms on average) is part of its latency.
"""

import itertools
from dataclasses import dataclass

from bench.load import kload
from bench.row import PERCENTILES, WITH_LIMIT, Figures, Row
from bench.run import Run

# A JVM needs a while until it is as fast as it gets; a quick run has less than a row's length.
_WARM_S = 5.0


@dataclass(frozen=True, slots=True)
class AtRate:
    """Records of 1 KiB at a rate, over connections with a partition each."""

    rate: int
    partitions: int
    batch: int = 1
    record_bytes: int = 1024
    topics: int = 1
    acks: int = -1
    # What is compared: "ack", or "e2e" with a consumer on each partition.
    kind: str = "ack"
    full_seconds: float = 15

    def __call__(self, run: Run) -> Figures:
        topics = [run.topic(self.partitions) for _ in range(self.topics)]
        into = list(itertools.product(topics, range(self.partitions)))
        frames = kload.Frames.of_produce(
            into, records=self.batch, record_bytes=self.record_bytes, acks=self.acks
        )
        with run.costs() as costs:
            found = kload.open_loop(
                run.bootstrap,
                frames,
                connections=len(into),
                rate=self.rate,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=max(_WARM_S, run.seconds(2 * _WARM_S)),
                reads=into if self.kind == "e2e" else (),
            )
        spent = costs.figures(found["total"], found["total_seconds"])
        rate = found["records"] / found["seconds"]
        return {**spent, "rate": rate, **kload.latency(found, self.kind)}


ROWS = (
    Row(
        "ack-1k",
        "acknowledgement at 1,000/s",
        AtRate(1000, 1),
        PERCENTILES,
        WITH_LIMIT,
        is_quick=True,
    ),
    Row(
        "ack-10k",
        "acknowledgement at 10,000/s, one record each",
        AtRate(10_000, 8),
        PERCENTILES,
        WITH_LIMIT,
    ),
    Row(
        "ack-67k",
        "acknowledgement at 67,000/s, 16 KiB batches",
        AtRate(67_000, 8, 15),
        PERCENTILES,
        WITH_LIMIT,
        is_quick=True,
    ),
    Row("e2e-1k", "end to end at 1,000/s", AtRate(1000, 1, kind="e2e"), PERCENTILES),
    Row(
        "e2e-10k",
        "end to end at 10,000/s, one record each",
        AtRate(10_000, 8, kind="e2e"),
        PERCENTILES,
    ),
    Row(
        "e2e-67k",
        "end to end at 67,000/s, 16 KiB batches",
        AtRate(67_000, 8, 15, kind="e2e"),
        PERCENTILES,
    ),
)
