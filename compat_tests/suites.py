"""What clients' own test suites said of both servers, as docs/CLIENT_SUITES.md tells to run them.

Their sources are no part of this project: a person runs them and writes the counts here.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Counts(NamedTuple):
    """Tests of a suite by outcome."""

    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        kinds = zip(self._fields, self, strict=True)
        return ", ".join(f"{count} {kind}" for kind, count in kinds if count)


class Suite(NamedTuple):
    """One suite, run the same way against both servers."""

    title: str
    version: str
    apache: Counts
    kafkapy: Counts
    difference: str


RAN_ON = "2026-11-18"

SUITES = (
    Suite(
        "franz-go: kgo's tests",
        "adb3a18",
        apache=Counts(333, 0, 2),
        kafkapy=Counts(329, 0, 6),
        difference="4 tests of share groups, which kafkapy has served only since",
    ),
    Suite(
        "librdkafka: test runner, 115 test numbers",
        "2.15.0",
        apache=Counts(106, 5, 11),
        kafkapy=Counts(106, 5, 11),
        difference="none in the counts; within 0081 one of 22 subtests: SCRAM users, "
        "which kafkapy has served only since",
    ),
    Suite(
        "the same with `group.protocol=consumer` (KIP-848)",
        "2.15.0",
        apache=Counts(106, 5, 11),
        kafkapy=Counts(106, 5, 11),
        difference="none in the counts",
    ),
    Suite(
        "confluent-kafka-python: integration tests",
        "2.15.0",
        apache=Counts(21, 2, 1),
        kafkapy=Counts(20, 3, 1),
        difference="SCRAM users, which kafkapy has served only since",
    ),
)


def table() -> Iterator[str]:
    yield "## The clients' own test suites"
    yield ""
    yield f"Last run on {RAN_ON}, one node each, replication factor 1; commands and what each"
    yield "failure and skip is: [CLIENT_SUITES.md](CLIENT_SUITES.md)."
    yield ""
    yield "| suite | version | Apache Kafka 4.3.1 | kafkapy | what makes the difference |"
    yield "|---|---|---|---|---|"
    for suite in SUITES:
        cells = [suite.title, suite.version, suite.apache, suite.kafkapy, suite.difference]
        yield f"| {' | '.join(map(str, cells))} |"
