"""What a row of the bench is: what is sent, how it is measured, on whom, what is compared.

A row is data. How it is measured is a callable with its arguments in it, usually a frozen
dataclass of the row's own module with `__call__(run) -> figures`:

    Row("fetch-1m", "fetch 1 MiB at a time", Fetch(max_bytes=1 << 20), figures=(RATE,))

`Run` (bench/run.py) gives it a running server, topics, load and what the broker spent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.run import Run

# All that a measurement found, by name. Every figure named in Row.figures must be there;
# what is not named there is kept in the results and not compared.
Figures = dict[str, float]

KAFKAPY = "kafkapy"
APACHE = "apache"
KFAKE = "kfake"
# What the machine could do: bench/peers/limit.
LIMIT = "limit"
BROKERS = (KAFKAPY, APACHE, KFAKE)
# For rows that only send records: it can't be read from.
WITH_LIMIT = (*BROKERS, LIMIT)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that is compared, and which way is better."""

    name: str
    unit: str
    more_is_better: bool = False

    def ahead(self, ours: float, theirs: float) -> float:
        """How many times ours is as good as theirs."""
        if self.more_is_better:
            ours, theirs = theirs, ours
        return theirs / ours if ours else float("inf")


RATE = Figure("rate", "records/s", more_is_better=True)
REQUESTS = Figure("rate", "requests/s", more_is_better=True)
SECONDS = Figure("seconds", "s")
RESIDENT = Figure("resident_mb", "MB resident")
P50 = Figure("p50", "ms p50")
P99 = Figure("p99", "ms p99")
P999 = Figure("p99.9", "ms p99.9")
P9999 = Figure("p99.99", "ms p99.99")
PERCENTILES = (P50, P99, P999, P9999)


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    title: str
    measure: "Callable[[Run], Figures]"
    figures: tuple[Figure, ...] = (RATE,)
    targets: tuple[str, ...] = BROKERS
    # Of the server; rows of one family with the same properties share one.
    properties: Mapping[str, str] = field(default_factory=dict)
    # Of the server: so many, which replicate; `run.topic` spreads leaders over all of them.
    nodes: int = 1
    # The measurement starts its own servers (`run.start`), for start-up, crashes and memory.
    starts_own: bool = False
    is_quick: bool = False
    # What stands between kafkapy and the others here, or why a target is left out.
    note: str = ""
