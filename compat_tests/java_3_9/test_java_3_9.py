"""Kafka's Java clients 3.9.1, older than the broker: what java_clients/src shows."""

from collections.abc import Iterator

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable
from compat_tests.java_clients.program import Program, running
from compat_tests.java_clients.rows import TESTS


@pytest.fixture(scope="module")
def program(broker: str) -> Iterator[Program]:
    try:
        with running("3.9.1", broker) as started:
            yield started
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_java_3_9(program: Program, topic: str, test: str) -> None:
    assert program.ask(test, topic) == "ok"
