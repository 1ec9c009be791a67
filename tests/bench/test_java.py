"""What the bench reads out of what Kafka's tools print."""

import pytest

from bench.rows.java import producer_figures

SAID = """\
Warmup first 250000 records. Steady state results will print after the complete test summary.
66508 records sent, 66508.0 records/sec (64.95 MB/sec), 11.0 ms avg latency, 211.0 ms max latency.
In steady state.
67219 records sent, 67219.0 records/sec (65.64 MB/sec), 0.5 ms avg latency, 4.0 ms max latency.
1000000 records sent, 66938.884798 records/sec (65.37 MB/sec), 1.25 ms avg latency, 211.00 ms max \
latency, 1 ms 50th, 3 ms 95th, 23 ms 99th, 35 ms 99.9th.
750000 steady state records sent, 66862.797539 records/sec (65.30 MB/sec), 0.49 ms avg latency, \
6.00 ms max latency, 0 ms 50th, 1 ms 95th, 3 ms 99th, 4 ms 99.9th.
"""


def test_what_a_producer_found_before_its_warm_up_ended_does_not_count() -> None:
    figures = producer_figures(SAID)
    assert figures == {"rate": 66862.797539, "p50": 0, "p99": 3, "p99.9": 4}


def test_a_run_that_never_got_warm_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="max latency"):
        producer_figures(SAID[: SAID.index("750000 steady")])
