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
    "acks": ("acks",),
    "too-large": ("too-large-refused",),
    "seek": (
        "seek",
        "assignment",
        "mid-batch",
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
    "ordering": ("ordering",),
    "large": ("large-records",),
    "refusals": ("keyless-compacted", "invalid-timestamp"),
    "retention": ("retention",),
    "recompression": ("recompression",),
    "recreate": ("recreate-topic",),
}


@pytest.fixture(scope="module")
def program() -> list[str]:
    try:
        return programs.go_program(Path(__file__).parent)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_kafka_go(program: list[str], broker: str, topic: str, test: str) -> None:
    programs.check(program, broker, test, topic)
