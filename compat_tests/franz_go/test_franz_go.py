"""What main.go shows, one process a test."""

from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable

TESTS: programs.Tests = {
    "codecs": ("produce-codecs",),
    "headers": ("headers", "null-key-value"),
    "ordering": ("ordering", "idempotence"),
    "too-large": ("too-large-refused",),
    "acks": ("acks",),
    "seek": ("seek", "assignment", "out-of-range"),
    "by-time": ("offsets-by-time", "special-timestamps", "create-time"),
    "compacted": ("keyless-compacted",),
    "topics": ("create-topic", "create-errors", "topic-names", "create-partitions"),
    "configs": ("alter-configs", "describe-configs", "bad-configs"),
    "delete-records": ("delete-records", "list-offsets"),
    "cluster": ("describe-cluster", "describe-log-dirs", "api-versions"),
    "recreate": ("recreate-topic", "delete-topic", "topic-ids"),
    "group": ("subscribe", "commit", "offset-reset"),
    "consumer-group": ("consumer-protocol",),
    "rebalance": ("rebalance-join", "rebalance-leave", "assignors"),
    "group-admin": ("simple-commits", "list-groups", "describe-group", "delete-group"),
    "transactions": ("txn-commit", "txn-abort", "txn-isolation"),
    "share": ("share-groups",),
    "share-again": ("share-groups",),
    "share-two": ("share-groups",),
    "exactly-once": ("txn-offsets", "txn-exactly-once"),
}


@pytest.fixture(scope="module")
def program() -> list[str]:
    try:
        return programs.go_program(Path(__file__).parent)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_franz_go(program: list[str], broker: str, topic: str, test: str) -> None:
    programs.check(program, broker, test, topic)
