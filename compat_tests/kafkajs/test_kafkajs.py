"""What main.js shows, one process a test."""

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
    "by-time": (
        "offsets-by-time",
        "create-time",
        "special-timestamps",
    ),
    "topics": (
        "create-topic",
        "create-errors",
        "create-partitions",
        "delete-topic",
        "list-topics",
        "describe-cluster",
        "topic-names",
    ),
    "configs": (
        "alter-configs-legacy",
        "describe-configs",
    ),
    "group": (
        "subscribe",
        "commit",
        "list-groups",
        "describe-group",
        "delete-group",
    ),
    "transactions": (
        "txn-commit",
        "txn-abort",
        "txn-isolation",
    ),
    "ordering": ("ordering",),
    "partitioning": ("partitioning",),
    "large": ("large-records",),
    "refusals": ("keyless-compacted", "invalid-timestamp"),
    "append-time": ("append-time",),
    "recompression": ("recompression",),
    "retention": ("retention",),
    "recreate": ("recreate-topic",),
    "offsets-of-group": ("alter-offsets", "list-group-offsets"),
}


@pytest.fixture(scope="module")
def program() -> list[str]:
    try:
        return programs.node_program(Path(__file__).parent)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_kafkajs(program: list[str], broker: str, topic: str, test: str) -> None:
    programs.check(program, broker, test, topic)
