"""What transactions.go shows, one process a test."""

from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable

TESTS: programs.Tests = {
    "txn-fencing": ("txn-fencing",),
    "txn-timeout": ("txn-timeout",),
    "txn-fifty": ("txn-commit", "txn-abort", "txn-isolation", "many-partitions"),
    "txn-copy": ("txn-offsets", "txn-exactly-once"),
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
