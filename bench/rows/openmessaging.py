"""Workloads of the OpenMessaging benchmark (github.com/openmessaging/benchmark, workloads/),
by their names: those that two cores can carry, for seconds instead of minutes.

Rate, topics, partitions and sizes are theirs, with the producer settings of their
driver-kafka/kafka-latency.yaml: acks=all, and a batch is what one producer has to send in a
millisecond. Latency is end to end from the intended time.
"""

from bench.row import P50, P99, P999, P9999, RATE, Row
from bench.rows.latency import AtRate

# The rate is given: it only shows that it was kept.
_FIGURES = (P50, P99, P999, P9999, RATE)


def _workload(
    name: str, rate: int, partitions: int, *, topics: int = 1, record_bytes: int = 1024
) -> Row:
    a_millisecond = rate // topics // 1000
    load = AtRate(rate, partitions, a_millisecond, record_bytes, topics, kind="e2e")
    return Row(f"omb-{name}", name, load, _FIGURES)


ROWS = (
    _workload("simple-workload", 10_000, 10),
    _workload("1-topic-1-partition-100b", 50_000, 1, record_bytes=100),
    _workload("1-topic-1-partition-1kb", 50_000, 1),
    _workload("1-topic-16-partitions-1kb", 50_000, 16),
    _workload("100k-10-topics-3-partitions-1k", 100_000, 3, topics=10),
)
