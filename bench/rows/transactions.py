"""What exactly once costs, and how many transactions a broker commits in a second."""

from dataclasses import dataclass

from bench.row import APACHE, KAFKAPY, RATE, Figure, Figures, Row
from bench.run import Run

COMMITS = Figure("rate", "commits/s", more_is_better=True)
SHARE = Figure("share", "of at-least-once", more_is_better=True)
BOTH = (KAFKAPY, APACHE)


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """The same idempotent producer with a transaction every `commit_ms` and without any: its
    rate in transactions, and the share that it is of the other.

    First memory that nobody has touched for long is written full, without being measured: the
    page cache costs the machine more once it has to fetch more of it. Then the two take turns
    in an order in which what gets slower gets slower for both: with, without, without, with.
    """

    batch_bytes: int
    commit_ms: int = 100
    record_bytes: int = 1024
    full_seconds: float = 3

    def __call__(self, run: Run) -> Figures:
        self._run(run, 0)
        first = self._in_transactions(run)
        plain = [self._run(run, 0) for _ in range(2)]
        last = self._in_transactions(run)
        figures = {name: (first[name] + last[name]) / 2 for name in first}
        at_least_once = sum(sent["records"] / sent["seconds"] for sent in plain) / len(plain)
        return {
            **figures,
            "at_least_once_rate": at_least_once,
            "share": figures["rate"] / at_least_once,
        }

    def _in_transactions(self, run: Run) -> Figures:
        with run.costs() as costs:
            sent = self._run(run, self.commit_ms)
        return {**costs.figures(sent["records"], sent["seconds"]), "commits": sent["commits"]}

    def _run(self, run: Run, commit_ms: int) -> dict[str, float]:
        return run.client(
            "librdkafka_transactions",
            topic=run.topic(),
            seconds=run.seconds(self.full_seconds),
            commit_ms=commit_ms,
            record_bytes=self.record_bytes,
            batch_bytes=self.batch_bytes,
        )


@dataclass(frozen=True, slots=True)
class Commits:
    """Transactions one after the other, of so many producers at once."""

    producers: int
    partitions: int = 1
    records: int = 1
    full_seconds: float = 5

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.partitions)
        with run.costs() as costs:
            done = run.client(
                "librdkafka_transactions",
                topic=topic,
                seconds=run.seconds(self.full_seconds),
                producers=self.producers,
                records=self.records,
                record_bytes=100,
                linger_ms=0,
            )
        return costs.figures(done["commits"], done["seconds"])


ROWS = (
    Row(
        "eos-1m",
        "exactly once, 1 KiB records, 1 MB batches, a commit every 100 ms",
        ExactlyOnce(1_000_000),
        (SHARE, RATE),
        BOTH,
    ),
    Row(
        "eos-16k",
        "exactly once, 1 KiB records, 16 KiB batches, a commit every 100 ms",
        ExactlyOnce(16_384),
        (SHARE, RATE),
        BOTH,
        is_quick=True,
    ),
    Row("commits-1", "transactions of one record, one producer", Commits(1), (COMMITS,), BOTH),
    Row("commits-16", "transactions of one record, 16 producers", Commits(16), (COMMITS,), BOTH),
    Row(
        "commits-50p",
        "transactions over 50 partitions, 4 producers",
        Commits(4, partitions=50, records=200),
        (COMMITS,),
        BOTH,
    ),
)
