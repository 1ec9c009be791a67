"""A view of one record in a hundred, beside a consumer that takes all and throws the rest away.

Both answer the same question; the rate is that of the source's records that were gone through.
`received_mb` is what went over the wire to the consumer.
"""

from dataclasses import dataclass

from bench.row import KAFKAPY, RATE, Figure, Figures, Row
from bench.rows.throughput import Produce
from bench.run import Run

_ONE_IN = 100
RECEIVED = Figure("received_mb", "MB received")


@dataclass(frozen=True, slots=True)
class Read:
    """What `records` produced before: by the view, or all of it. `readers`: one after the other,
    of which the last is measured."""

    records: Produce
    by_view: bool = True
    readers: int = 1

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.records.partitions)
        self.records.into(run, topic)
        count = run.records(self.records.records)
        read, wanted = topic, count
        if self.by_view:
            where = f"offset % {_ONE_IN} is 0"
            settings = {"kafkapy.view.of": topic, "kafkapy.view.where": where}
            read = run.topic(self.records.partitions, settings)
            wanted = count // _ONE_IN
        for _ in range(self.readers - 1):
            self._read(run, read, wanted)
        with run.costs() as costs:
            answer = self._read(run, read, wanted)
        return {
            **costs.figures(count, answer["whole_seconds"]),
            "received_mb": answer["received_bytes"] / 1e6,
        }

    def _read(self, run: Run, topic: str, records: int) -> dict[str, float]:
        partitions = self.records.partitions
        return run.client(
            "librdkafka_consume",
            topic=topic,
            records=records,
            partitions=partitions,
            counts_bytes=True,
        )


_KIB = Produce(500_000)
_FIGURES = (RATE, RECEIVED)

ROWS = (
    Row(
        "view-1",
        "a view of 1 %, its first reader",
        Read(_KIB),
        figures=_FIGURES,
        targets=(KAFKAPY,),
        note="Only kafkapy has views; view-1-all is the same question without one.",
    ),
    Row(
        "view-1-again",
        "a view of 1 %, its second reader",
        Read(_KIB, readers=2),
        figures=_FIGURES,
        targets=(KAFKAPY,),
        note="What the first one was shown is remembered.",
    ),
    Row(
        "view-1-all",
        "1 % wanted, all consumed",
        Read(_KIB, by_view=False),
        figures=_FIGURES,
        note="Beside view-1.",
    ),
)
