"""What a tenant that is loud costs a quiet one beside it, without a quota and with one.

The same quiet producer three times: alone, beside one who writes as fast as it goes, and beside
the same who may write a megabyte a second. Load and broker share a machine: what the loud one's
own processor time costs the quiet one is in the second row, too.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from bench.row import APACHE, KAFKAPY, P50, P99, Figures, Row
from bench.rows.quotas import produce_quota
from bench.run import Run

_LOUD = "loud"
_LOUD_BYTES_PER_S = 1_000_000
# More than it will come to.
_WITHOUT_END = 1_000_000_000
_BOTH = (KAFKAPY, APACHE)


@dataclass(frozen=True, slots=True)
class Quiet:
    """Acknowledgements of a thousand records a second."""

    is_beside_loud: bool = False
    has_quota: bool = False
    rate: int = 1000
    full_seconds: float = 15

    def __call__(self, run: Run) -> Figures:
        seconds = run.seconds(self.full_seconds)
        topic, other = run.topic(), run.topic()
        with ExitStack() as stack:
            if self.has_quota:
                stack.enter_context(produce_quota(run, _LOUD_BYTES_PER_S, _LOUD))
            if self.is_beside_loud:
                stack.enter_context(
                    run.beside(
                        "librdkafka_produce",
                        topic=other,
                        records=_WITHOUT_END,
                        record_bytes=1024,
                        batch_bytes=100_000,
                        acks=1,
                        compression="none",
                        linger_ms=5,
                        security={"client.id": _LOUD},
                    )
                )
            costs = stack.enter_context(run.costs())
            found = run.client(
                "librdkafka_paced",
                topic=topic,
                rate=self.rate,
                seconds=seconds,
                record_bytes=1024,
                acks=-1,
                security={"client.id": "quiet"},
            )
        return {**costs.figures(self.rate * seconds), **found}


ROWS = (
    Row("quiet-alone", "1,000 records a second by a tenant alone", Quiet(), (P50, P99), _BOTH),
    Row(
        "quiet-beside-loud",
        "the same beside one that writes as fast as it goes",
        Quiet(is_beside_loud=True),
        (P50, P99),
        _BOTH,
    ),
    Row(
        "quiet-by-quota",
        "the same beside one that may write a megabyte a second, and tries to write more",
        Quiet(is_beside_loud=True, has_quota=True),
        (P50, P99),
        _BOTH,
        note="What the quota is worth is the ratio to quiet-beside-loud.",
    ),
)
