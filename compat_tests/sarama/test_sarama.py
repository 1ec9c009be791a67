"""What main.go shows, one process a test."""

from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable

TESTS: programs.Tests = {
    "codecs": ("produce-codecs",),
    "headers": (
        "headers",
        "null-key-value",
    ),
    "acks": (
        "acks",
        "idempotence",
    ),
    "too-large": ("too-large-refused",),
    "seek": (
        "seek",
        "out-of-range",
    ),
    "by-time": (
        "offsets-by-time",
        "create-time",
    ),
    "topics": (
        "create-topic",
        "create-errors",
        "create-partitions",
        "delete-topic",
        "list-topics",
    ),
    "configs": (
        "alter-configs",
        "describe-configs",
    ),
    "delete-records": ("delete-records",),
    "cluster": (
        "describe-cluster",
        "describe-log-dirs",
    ),
    "group": (
        "subscribe",
        "commit",
    ),
    "group-admin": (
        "list-groups",
        "describe-group",
        "delete-group",
        "list-group-offsets",
    ),
    "transactions": (
        "txn-commit",
        "txn-abort",
        "txn-isolation",
    ),
    "ordering": ("ordering",),
    "partitioning": ("partitioning",),
    "large": ("large-records", "fetch-limits"),
    "append-time": ("append-time",),
    "mid-batch": ("mid-batch",),
    "refusals": ("keyless-compacted", "invalid-timestamp"),
    "long-poll": ("long-poll",),
    "retention": ("retention",),
    "compaction": ("compaction", "tombstones"),
    "recompression": ("recompression",),
    "recreate": ("recreate-topic",),
    "validate-only": ("create-validate",),
}


@pytest.fixture(scope="module")
def program() -> list[str]:
    try:
        return programs.go_program(Path(__file__).parent)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_sarama(program: list[str], broker: str, topic: str, test: str) -> None:
    programs.check(program, broker, test, topic)
